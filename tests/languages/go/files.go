package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"portcullis"
)

type filing struct {
	Action string  `json:"action" enum:"write,read,list"`
	Path   string  `json:"path"`
	Text   *string `json:"text"`
}

func files(_ context.Context, asked filing) (string, error) {
	switch asked.Action {
	case "write":
		return "written", os.WriteFile(asked.Path, []byte(or(asked.Text, "")), 0o644)
	case "read":
		text, err := os.ReadFile(asked.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return "nothing", nil
		}
		return string(text), err
	}
	// In order.
	entries, err := os.ReadDir(asked.Path)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, ", "), err
}

type named struct {
	Name string `json:"name"`
}

func variable(_ context.Context, asked named) (string, error) {
	if value, has := os.LookupEnv(asked.Name); has {
		return value, nil
	}
	return "nothing", nil
}

// A request of which nobody knows whether it happened, when the host has ended meanwhile.
func reserve(ctx context.Context, asked named) (string, error) {
	request := portcullis.Request{URL: "http://localhost:8444/v1/place/" + asked.Name}
	response, err := portcullis.SendJSON(ctx, request, asked)
	if err != nil {
		return "", err
	}
	return responded(response), nil
}

func findOut(ctx context.Context, doubt portcullis.Doubt) portcullis.Verdict {
	var asked named
	if err := doubt.Read(&asked); err != nil || doubt.Tool != "reserve" || asked.Name == "lost" {
		return portcullis.Unknown()
	}
	if doubt.Request == nil || doubt.Request.Method != "POST" {
		return portcullis.Unknown()
	}
	found, err := portcullis.Send(ctx, portcullis.Request{URL: doubt.Request.URL})
	switch {
	case err == nil && found.Status == 404:
		return portcullis.NotDone()
	case err == nil && found.Status == 200:
		kind := []portcullis.Header{{Name: "content-type", Value: "text/plain"}}
		return portcullis.DoneWith(portcullis.Response{Status: 201, Headers: kind, Body: found.Body})
	}
	return portcullis.Unknown()
}
