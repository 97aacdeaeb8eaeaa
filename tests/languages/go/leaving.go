package main

import (
	"context"

	"portcullis"
)

type leaving struct {
	Action string  `json:"action" enum:"put,append,remove,prompt,forget"`
	Path   string  `json:"path"`
	Text   *string `json:"text"`
}

const minute = 60_000

func leave(ctx context.Context, asked leaving) (string, error) {
	half, text := 0.5, or(asked.Text, "")
	switch asked.Action {
	case "put":
		return portcullis.Publish(ctx, portcullis.Publication{
			Path:        asked.Path,
			Text:        text,
			Title:       "Left",
			Description: "What was left.",
			MimeType:    "text/markdown",
			Audience:    []portcullis.Role{portcullis.User},
			Priority:    &half,
			TTLMS:       minute,
		})
	case "append":
		return portcullis.Append(ctx, portcullis.Publication{Path: asked.Path, Text: text})
	case "remove":
		return "removed", portcullis.Unpublish(ctx, asked.Path)
	case "prompt":
		return "left", portcullis.PublishPrompt(ctx, portcullis.Published{
			Name:        asked.Path,
			Title:       "Left",
			Description: "What was left.",
			Arguments:   []string{"line"},
			Messages:    []portcullis.Message{portcullis.UserSays(text), portcullis.AssistantSays("Yes.")},
			TTLMS:       minute,
		})
	}
	return "forgotten", portcullis.UnpublishPrompt(ctx, asked.Path)
}

type announcing struct {
	Name string  `json:"name"`
	Text string  `json:"text"`
	Key  *string `json:"key" doc:"Announced only once."`
}

func announce(ctx context.Context, asked announcing) (string, error) {
	added, err := portcullis.SendEvent(ctx, asked.Name, map[string]string{"text": asked.Text}, or(asked.Key, ""))
	if !added {
		return "announced before", err
	}
	return "announced", err
}
