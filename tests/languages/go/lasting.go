package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"portcullis"
)

type marching struct {
	Steps int `json:"steps" min:"1" max:"9"`
}

type marched struct {
	Said []string `json:"said"`
}

var garbage []byte

func march(ctx context.Context, asked marching) (string, error) {
	var march marched
	if _, err := portcullis.Restored(ctx, &march); err != nil {
		return "", err
	}
	for len(march.Said) < asked.Steps {
		// The collector works at other times when the task goes on in another process.
		garbage = make([]byte, 3<<20)
		if _, err := portcullis.Emit(ctx, fmt.Sprintf("at step %d", len(march.Said))); err != nil {
			return "", err
		}
		message, received := portcullis.Receive(ctx)
		if received != portcullis.GotMessage {
			break
		}
		if message == "halt" {
			return "halted after " + strings.Join(march.Said, ", "), nil
		}
		march.Said = append(march.Said, message)
		if err := portcullis.Save(ctx, march); err != nil {
			return "", err
		}
	}
	return strings.Join(march.Said, ", "), nil
}

func listen(ctx context.Context, _ portcullis.Nothing) (string, error) {
	first, has := portcullis.NextMessage(ctx)
	if !has {
		first = "nothing"
	}
	second, received := portcullis.ReceiveWithin(ctx, time.Millisecond)
	switch received {
	case portcullis.Ended:
		second = "ended"
	case portcullis.TimedOut:
		second = "timed out"
	}
	return first + ", " + second, nil
}

func budget(ctx context.Context, _ portcullis.Nothing) (string, error) {
	fuel, has := portcullis.FuelLeft(ctx)
	return fmt.Sprintf("%t, %t", has && fuel > 0, portcullis.TimeLeft(ctx) > 0), nil
}
