package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"portcullis"
)

type greeting struct {
	Name  string  `json:"name" doc:"Whom to greet." min:"1" max:"40"`
	Times int     `json:"times" doc:"How often." min:"1" max:"3" default:"1"`
	Style string  `json:"style" doc:"How it sounds." enum:"plain,loud" default:"plain"`
	Title *string `json:"title" doc:"What comes before the name."`
}

func greet(_ context.Context, greeting greeting) (string, error) {
	name := greeting.Name
	if greeting.Title != nil {
		name = *greeting.Title + " " + name
	}
	line := fmt.Sprintf("Hello, %s!", name)
	if greeting.Style == "loud" {
		line = strings.ToUpper(line)
	}
	return strings.TrimSuffix(strings.Repeat(line+"\n", greeting.Times), "\n"), nil
}

type point struct {
	X     int64   `json:"x"`
	Y     int64   `json:"y" doc:"Upwards."`
	Label *string `json:"label"`
}

type measuring struct {
	Points  []point          `json:"points" doc:"At least one." min:"1"`
	Weights map[string]int64 `json:"weights" doc:"Weights by name."`
	Scale   float64          `json:"scale" doc:"The unit." min:"0.25" default:"0.5"`
	Named   bool             `json:"named" doc:"Whether to name the first point." default:"false"`
}

type measured struct {
	Count  int      `json:"count" doc:"How many points."`
	Width  float64  `json:"width"`
	Weight int64    `json:"weight"`
	Labels []string `json:"labels"`
	First  *point   `json:"first"`
}

func measure(_ context.Context, asked measuring) (measured, error) {
	found := measured{Count: len(asked.Points), Labels: []string{}}
	least, greatest := asked.Points[0].X, asked.Points[0].X
	for _, point := range asked.Points {
		least, greatest = min(least, point.X), max(greatest, point.X)
		if point.Label != nil {
			found.Labels = append(found.Labels, *point.Label)
		}
	}
	found.Width = float64(greatest-least) * asked.Scale
	for _, weight := range asked.Weights {
		found.Weight += weight
	}
	if asked.Named {
		found.First = &asked.Points[0]
	}
	return found, nil
}

func contents(context.Context, portcullis.Nothing) ([]portcullis.Content, error) {
	link := portcullis.Link("polyglot://about", "about")
	link.Title, link.Description, link.MimeType, link.Size = "About", "What this is.", "text/plain", 27
	return []portcullis.Content{
		portcullis.Text("text"),
		portcullis.Image("image/png", []byte{1, 2, 3}),
		portcullis.Audio("audio/wav", []byte{4, 5, 6}),
		link,
		portcullis.ResourceText("polyglot://note", "text/plain", "a note"),
		portcullis.ResourceBytes("polyglot://bytes", "", []byte{7, 8}),
	}, nil
}

func told(ctx context.Context, _ portcullis.Nothing) (string, error) {
	call := portcullis.Call(ctx)
	orNothing := func(text string) string {
		if text == "" {
			return "nothing"
		}
		return text
	}
	return fmt.Sprintf("%s, %s, %s, %t", call.Principal, orNothing(call.CorrelationID), orNothing(call.IdempotencyKey), call.DeadlineMS > 0), nil
}

type counted struct {
	Count int `json:"count" doc:"How many." min:"1" max:"9"`
}

func stream(ctx context.Context, asked counted) (string, error) {
	var last uint64
	for part := 1; part <= asked.Count; part++ {
		portcullis.Log(ctx, portcullis.Info, "polyglot sends part %d", part)
		number, err := portcullis.Emit(ctx, fmt.Sprintf("part %d", part))
		if err != nil {
			return "", err
		}
		last = number
		portcullis.Progress(ctx, float64(part), float64(asked.Count), fmt.Sprintf("sent %d", part))
	}
	aside, half := portcullis.Text("for you alone"), 0.5
	aside.Audience, aside.Priority = []portcullis.Role{portcullis.User}, &half
	both, err := portcullis.EmitContent(ctx, aside, portcullis.Text("the end"))
	return fmt.Sprintf("%d %d", last, both), err
}

type failing struct {
	How string `json:"how" enum:"invalid,failed,unsupported,content,error"`
}

func fail(_ context.Context, asked failing) (portcullis.Result, error) {
	switch asked.How {
	case "invalid":
		return portcullis.Result{}, portcullis.Invalid("`how` was not wanted")
	case "failed":
		return portcullis.Result{}, fmt.Errorf("it did not work")
	case "unsupported":
		return portcullis.Result{}, portcullis.Unsupported("a printer")
	case "content":
		return portcullis.Failure(portcullis.Text("it went wrong"), portcullis.Text("twice")), nil
	}
	return portcullis.Result{}, errors.New("an ordinary error")
}
