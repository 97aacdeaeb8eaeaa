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
	return fmt.Sprintf("%s said %s and %s", asked.Tool, orNull(said["path"]), orNull(said["n"])), err
}

func orNull(value json.RawMessage) string {
	if value == nil {
		return "null"
	}
	return string(value)
}

type gathering struct {
	Tools []string `json:"tools"`
}

type numbered struct {
	Path string `json:"path"`
	N    int    `json:"n"`
}

func gather(ctx context.Context, asked gathering) (string, error) {
	var calls []portcullis.AgentCall
	for i, tool := range asked.Tools {
		calls = append(calls, portcullis.AgentCall{Name: tool, Arguments: numbered{tool, i + 1}})
	}
	var lines []string
	for _, outcome := range portcullis.CallTools(ctx, calls...) {
		said, err := map[string]json.RawMessage{}, outcome.Err
		if err == nil {
			said, err = portcullis.ReadResult[map[string]json.RawMessage](outcome.Result)
		}
		if err != nil {
			lines = append(lines, err.Error())
		} else {
			lines = append(lines, orNull(said["path"])+" and "+orNull(said["n"]))
		}
	}
	return strings.Join(lines, "\n"), nil
}

func account(ctx context.Context, asked fetching) (string, error) {
	connected, err := portcullis.Connected(ctx, "service")
	if err != nil {
		return "", err
	}
	if !connected {
		if err := portcullis.Connect(ctx, "service", "Connect the service.", "service"); err != nil {
			return "", err
		}
	}
	request := portcullis.Request{URL: asked.Path, Headers: []portcullis.Header{{Name: "x-kind", Value: "person"}}}
	var response *portcullis.Response
	if asked.Body == nil {
		response, err = portcullis.SendAs(ctx, "service", request)
	} else {
		response, err = portcullis.SendAsJSON(ctx, "service", request, map[string]string{"body": *asked.Body})
	}
	if err == nil {
		err = portcullis.CheckStatus(response)
	}
	if err != nil {
		return "", err
	}
	return responded(response), nil
}

func responded(response *portcullis.Response) string {
	return fmt.Sprintf("%d %s", response.Status, strings.ToValidUTF8(string(response.Body), "\uFFFD"))
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
