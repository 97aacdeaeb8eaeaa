package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"portcullis"
)

type delegating struct {
	Tool string  `json:"tool"`
	Path *string `json:"path"`
	N    *string `json:"n" doc:"A number, or what the tool refuses."`
}

type passed struct {
	Path *string `json:"path,omitempty"`
	N    any     `json:"n,omitempty"`
}

func delegate(ctx context.Context, asked delegating) (string, error) {
	arguments := passed{Path: asked.Path}
	if asked.N != nil {
		if number, err := strconv.ParseInt(*asked.N, 10, 64); err == nil {
			arguments.N = number
		} else {
			arguments.N = *asked.N
		}
	}
	said, err := portcullis.CallTool[map[string]json.RawMessage](ctx, asked.Tool, arguments)
	orNull := func(value json.RawMessage) string {
		if value == nil {
			return "null"
		}
		return string(value)
	}
	return fmt.Sprintf("%s said %s and %s", asked.Tool, orNull(said["path"]), orNull(said["n"])), err
}

type keeping struct {
	Action string  `json:"action" enum:"set,get,remove,list,count"`
	Key    string  `json:"key"`
	Value  *string `json:"value"`
}

func keep(ctx context.Context, asked keeping) (string, error) {
	store := portcullis.State(ctx)
	switch asked.Action {
	case "set":
		return "kept", store.Set(asked.Key, []byte(or(asked.Value, "")))
	case "get":
		entry, err := store.Get(asked.Key)
		if entry == nil {
			return "nothing", err
		}
		return strings.ToValidUTF8(string(entry.Value), "\uFFFD"), nil
	case "remove":
		removed, err := store.Remove(asked.Key)
		if !removed {
			return "nothing", err
		}
		return "removed", nil
	case "list":
		keys, err := store.Keys(asked.Key)
		return strings.Join(keys, ", "), err
	}
	count, err := portcullis.Update(ctx, asked.Key, func(old *int64) int64 {
		if old == nil {
			return 1
		}
		return *old + 1
	})
	return strconv.FormatInt(count, 10), err
}

type fetching struct {
	Path string  `json:"path"`
	Body *string `json:"body"`
}

type fetched struct {
	Status    int     `json:"status"`
	Kind      *string `json:"kind"`
	Truncated bool    `json:"truncated"`
	Text      string  `json:"text"`
}

func fetch(ctx context.Context, asked fetching) (fetched, error) {
	request := portcullis.Request{
		URL:     "http://localhost:8444" + asked.Path,
		Headers: []portcullis.Header{{Name: "x-polyglot", Value: "yes"}},
		MaxBody: 20,
	}
	send := func() (*portcullis.Response, error) { return portcullis.Send(ctx, request) }
	if asked.Body != nil {
		send = func() (*portcullis.Response, error) {
			return portcullis.SendJSON(ctx, request, map[string]string{"body": *asked.Body})
		}
	}
	response, err := send()
	if err != nil {
		return fetched{}, err
	}
	if response.Status == 500 {
		return fetched{}, portcullis.CheckStatus(response)
	}
	found := fetched{Status: response.Status, Truncated: response.Truncated, Text: strings.ToValidUTF8(string(response.Body), "\uFFFD")}
	if kind, has := portcullis.HeaderOf(response, "content-type"); has {
		found.Kind = &kind
	}
	return found, nil
}
