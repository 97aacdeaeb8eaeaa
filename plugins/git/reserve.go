package main

import (
	"context"
	"time"

	"portcullis"
)

// reserve is what a call leaves of its budget, so that it ends with a result rather than being stopped without one: a tenth.
type reserve struct {
	ctx  context.Context
	fuel uint64
	time time.Duration
}

func newReserve(ctx context.Context) reserve {
	fuel, _ := portcullis.FuelLeft(ctx)
	return reserve{ctx, fuel / 10, portcullis.TimeLeft(ctx) / 10}
}

// touched says why a call must come to its end; nil if it need not.
func (r reserve) touched() *string {
	if left, metered := portcullis.FuelLeft(r.ctx); metered && left < r.fuel {
		return reason("the call's fuel is nearly used up; ask for less, or give the plugin more (limits.fuel)")
	}
	if portcullis.TimeLeft(r.ctx) < r.time {
		return reason("the call's time is nearly used up; ask for less")
	}
	return nil
}

func reason(text string) *string { return &text }

// shorten cuts a long text at a whole character.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + " ..."
}
