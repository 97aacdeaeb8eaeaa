package main

import (
	"context"
	"fmt"

	"portcullis"
)

type ordered struct {
	Name   string  `json:"name" title:"Name" doc:"For whom." min:"1" max:"40"`
	Email  string  `json:"email" format:"email"`
	Pieces int     `json:"pieces" min:"1" max:"9" default:"1"`
	Size   string  `json:"size" enum:"small,large" default:"small"`
	Gift   bool    `json:"gift"`
	Note   *string `json:"note"`
}

func order(ctx context.Context, _ portcullis.Nothing) (string, error) {
	answer, err := portcullis.Ask[ordered](ctx, "order", "What do you want?")
	switch {
	case err != nil:
		return "", err
	case answer.Closed():
		return "closed", nil
	case !answer.Accepted():
		return "declined", nil
	}
	form := answer.Filled
	note := or(form.Note, "nothing")
	return fmt.Sprintf("%d %s for %s <%s>, gift: %t, note: %s", form.Pieces, form.Size, form.Name, form.Email, form.Gift, note), nil
}

func confirm(ctx context.Context, _ portcullis.Nothing) (string, error) {
	return "confirmed", portcullis.Confirm(ctx, "sure", "Really?")
}

type asking struct {
	Question string `json:"question"`
}

func complete(ctx context.Context, asked asking) (string, error) {
	temperature := 0.5
	answer, err := portcullis.Sample(ctx, portcullis.SampleRequest{
		Key:          "model",
		Message:      asked.Question,
		SystemPrompt: "Answer in one word.",
		MaxTokens:    50,
		Temperature:  &temperature,
		StopAt:       []string{"\n"},
		PreferModels: []string{"small"},
		Purpose:      "to know",
	})
	if answer.StopReason == "" {
		answer.StopReason = "nothing"
	}
	return fmt.Sprintf("%s by %s, %s", answer.Text, answer.Model, answer.StopReason), err
}
