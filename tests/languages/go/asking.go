package main

import (
	"context"
	"fmt"
	"unicode/utf8"

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

type explaining struct {
	Word string `json:"word"`
}

type lookup struct {
	Word string `json:"word" doc:"Which word."`
}

func explain(ctx context.Context, asked explaining) (string, error) {
	request := portcullis.SampleRequest{
		Turns:      []portcullis.SampleTurn{portcullis.Says(portcullis.User, portcullis.Text("Explain "+asked.Word+"."))},
		MaxTokens:  50,
		Tools:      []portcullis.SampleTool{portcullis.ModelTool[lookup]("look_up", "Looks a word up.")},
		ToolChoice: portcullis.ToolsAuto,
	}
	for uses := 0; ; {
		request.Key = fmt.Sprintf("after %d", uses)
		answer, err := portcullis.Sample(ctx, request)
		if err != nil || len(answer.Uses) == 0 {
			return fmt.Sprintf("%s, after %d", answer.Text, uses), err
		}
		outcomes := portcullis.Says(portcullis.User)
		for _, use := range answer.Uses {
			wanted, err := portcullis.ArgumentsOf[lookup](use)
			if err != nil {
				return "", err
			}
			outcome := portcullis.Failed(use, "there is no such word")
			if wanted.Word != "missing" {
				letters := fmt.Sprintf("%s: %d letters", wanted.Word, utf8.RuneCountInString(wanted.Word))
				outcome = portcullis.Succeeded(use, portcullis.Text(letters))
			}
			outcomes.Parts = append(outcomes.Parts, outcome)
		}
		uses += len(answer.Uses)
		request.Turns = append(request.Turns, answer.Turn, outcomes)
	}
}

type person struct {
	Name string `json:"name"`
}

func interview(ctx context.Context, _ portcullis.Nothing) (string, error) {
	who := portcullis.NewForm[person]("who", "Who are you?")
	sure := portcullis.NewConfirm("sure", "Really?")
	wish := portcullis.NewSample(portcullis.SampleRequest{Key: "wish", Message: "Write a wish.", MaxTokens: 20})
	where := portcullis.NewRoots("where")
	if err := portcullis.AskMany(ctx, who, sure, wish, where); err != nil {
		return "", err
	}
	name := who.Answer.Filled.Name
	if who.Answer.Closed() {
		name = "closed"
	} else if !who.Answer.Accepted() {
		name = "declined"
	}
	root := "nowhere"
	if len(where.Roots) > 0 {
		root = where.Roots[0].URI
	}
	return fmt.Sprintf("%s, %t, %s, %s", name, sure.Yes, wish.Answer.Text, root), nil
}

func visit(ctx context.Context, _ portcullis.Nothing) (string, error) {
	consent, err := portcullis.OpenURL(ctx, "page", "Look at this.", "https://example.com/page")
	switch consent {
	case portcullis.Accepted:
		return "opened", err
	case portcullis.Declined:
		return "declined", err
	}
	return "closed", err
}
