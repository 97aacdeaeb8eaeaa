package portcullistest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"portcullis"
	"portcullis/portcullistest"
)

type city struct {
	Name string `json:"name" doc:"A city."`
}

func init() {
	portcullis.CompletePrompt("greet", "name", portcullis.Words("Ada", "alan", "Bob"))
	portcullis.CompletePrompt("greet", "tone", func(_ context.Context, typed portcullis.Typed) ([]string, error) {
		if typed.Others["name"] == "" {
			return nil, portcullis.Invalid("whose?")
		}
		return typed.Matching("soft", "loud"), nil
	})
	portcullis.Reconcile(func(ctx context.Context, doubt portcullis.Doubt) portcullis.Verdict {
		var asked city
		switch err := doubt.Read(&asked); {
		case err != nil:
			return portcullis.Unknown()
		case asked.Name == "none":
			return portcullis.NotDone()
		case doubt.AgentTool != nil:
			return portcullis.DoneWithResult(portcullis.Result{Structured: doubt.AgentTool.Arguments})
		}
		response, err := portcullis.Send(ctx, portcullis.Request{URL: doubt.Request.URL})
		if err != nil {
			return portcullis.Unknown()
		}
		return portcullis.DoneWith(*response)
	})
}

func TestSeveralAgentToolsAreCalledAtOnce(t *testing.T) {
	host := portcullistest.New()
	host.AgentTools = map[string]func(json.RawMessage) (any, error){
		"double": func(arguments json.RawMessage) (any, error) {
			return map[string]any{"twice": string(arguments) + string(arguments)}, nil
		},
		"break": func(json.RawMessage) (any, error) { return nil, errors.New("it broke") },
	}
	text, err := does(t, host, func(ctx context.Context) (string, error) {
		var lines []string
		for _, outcome := range portcullis.CallTools(ctx,
			portcullis.AgentCall{Name: "double", Arguments: 1},
			portcullis.AgentCall{Name: "break", Arguments: func() {}},
			portcullis.AgentCall{Name: "break", Arguments: 2},
			portcullis.AgentCall{Name: "double", Arguments: 3},
			portcullis.AgentCall{Name: "files.read"},
		) {
			if outcome.Err != nil {
				lines = append(lines, outcome.Err.Error())
				continue
			}
			read, err := portcullis.ReadResult[map[string]string](outcome.Result)
			lines = append(lines, fmt.Sprint(read["twice"], err))
		}
		for _, tool := range portcullis.AgentTools(ctx) {
			lines = append(lines, tool.Name)
		}
		return strings.Join(lines, "\n"), nil
	})
	same(t, err, nil)
	same(t, text, strings.Join([]string{
		"11<nil>",
		"invalid arguments: json: unsupported type: func()",
		"the agent tool failed: it broke",
		"33<nil>",
		"denied: agent-tools does not allow `files.read`",
		"break",
		"double",
	}, "\n"))
}

func TestSeveralQuestionsAreAskedAtOnce(t *testing.T) {
	host := portcullistest.New()
	all := func(ctx context.Context) (string, error) {
		where := portcullis.NewForm[city]("where", "Where?")
		sure := portcullis.NewConfirm("sure", "Sure?")
		page := portcullis.NewPage("page", "Look.", "https://example.com/")
		wish := portcullis.NewSample(portcullis.SampleRequest{Key: "wish", Message: "A wish."})
		roots := portcullis.NewRoots("roots")
		err := portcullis.AskMany(ctx, where, sure, page, wish, roots)
		return fmt.Sprint(where.Answer.Filled.Name, sure.Yes, page.Answer == portcullis.Declined, wish.Answer.Text, roots.Roots), err
	}
	host.Accept(map[string]any{"name": "Oslo"})
	host.Decline()
	host.Decline()
	host.Say("peace")
	_, err := does(t, host, all)
	fails(t, err, "roots")
	host.Accept(map[string]any{"name": "Oslo"})
	host.Accept(map[string]any{})
	host.Decline()
	host.Say("peace")
	host.Roots = []portcullis.Root{{URI: "file:///work", Name: "work"}}
	text, err := does(t, host, all)
	same(t, err, nil)
	same(t, text, "Oslotrue truepeace[{file:///work work}]")
	same(t, host.Asked[7].URL, "https://example.com/")
	host.Accept(1)
	if _, err = does(t, host, all); err == nil || err.Error() != "elicitation.form" {
		t.Error(err)
	}
	host.Accept(1)
	_, err = does(t, host, func(ctx context.Context) (string, error) {
		_, err := portcullis.Ask[city](ctx, "", "Where?")
		return "", err
	})
	if err == nil || !strings.HasPrefix(err.Error(), "the client's answer is not what was expected: ") {
		t.Error(err)
	}
}

func TestAModelUsesTools(t *testing.T) {
	host := portcullistest.New()
	host.Use(portcullis.ToolUse{ID: "a", Name: "find", Input: `{"name":"Oslo"}`}, portcullis.ToolUse{ID: "b", Name: "find", Input: `[]`})
	host.Say("found")
	text, err := does(t, host, func(ctx context.Context) (string, error) {
		request := portcullis.SampleRequest{Message: "Find it.", Tools: []portcullis.SampleTool{portcullis.ModelTool[city]("find", "Finds.")}}
		answer, err := portcullis.Sample(ctx, request)
		if err != nil {
			return "", err
		}
		outcomes := portcullis.Says(portcullis.User)
		for _, use := range answer.Uses {
			asked, err := portcullis.ArgumentsOf[city](use)
			outcome := portcullis.Succeeded(use, portcullis.Text(asked.Name))
			if err != nil {
				outcome = portcullis.Failed(use, err.Error())
			}
			outcomes.Parts = append(outcomes.Parts, outcome)
		}
		request.Turns, request.Message = append(request.All(), answer.Turn, outcomes), ""
		answer, err = portcullis.Sample(ctx, request)
		return answer.Text, err
	})
	same(t, err, nil)
	same(t, text, "found")
	first, turns := host.Asked[0].Sample, host.Asked[1].Sample.All()
	same(t, first.Tools[0].InputSchema, `{"type":"object","properties":{"name":{"type":"string","description":"A city."}},"required":["name"]}`)
	same(t, len(turns), 3)
	same(t, turns[0].Parts[0].Content.Text, "Find it.")
	same(t, turns[2].Parts[0].Outcome.Content[0].Text, "Oslo")
	failed := turns[2].Parts[1].Outcome
	same(t, failed.IsError && failed.ID == "b" && strings.HasPrefix(failed.Content[0].Text, "the model's arguments of `find` are not what was expected: "), true)
}

func TestPagesAreOpenedAndAccountsConnected(t *testing.T) {
	host := portcullistest.New()
	use := func(ctx context.Context) (string, error) {
		connected, err := portcullis.Connected(ctx, "mail")
		if err != nil {
			return "", err
		}
		if !connected {
			return "", portcullis.Connect(ctx, "mail", "Connect it.", "mail")
		}
		response, err := portcullis.SendAsJSON(ctx, "mail", portcullis.Request{URL: "/inbox", MaxBody: 3}, 1)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %s %t", response.Status, response.Body, response.Truncated), nil
	}
	_, err := does(t, host, use)
	fails(t, err, "denied: connections does not allow `mail`")
	host.Connections = map[string]func(portcullis.Request) (portcullis.Response, error){"mail": nil}
	_, err = does(t, host, use)
	fails(t, err, "elicitation.url")
	host.Close()
	_, err = does(t, host, use)
	fails(t, err, "the user closed the question without an answer")
	same(t, host.Asked[1].Connection, "mail")
	host.Connections = map[string]func(portcullis.Request) (portcullis.Response, error){
		"mail": func(portcullis.Request) (portcullis.Response, error) {
			return portcullis.Response{Status: 200, Body: []byte("four")}, nil
		},
	}
	text, err := does(t, host, use)
	same(t, err, nil)
	same(t, text, "200 fou true")
	same(t, string(host.Sent[0].Body), "1")
	_, err = does(t, host, func(ctx context.Context) (string, error) {
		_, err := portcullis.SendAs(ctx, "bank", portcullis.Request{URL: "/"})
		return "", err
	})
	fails(t, err, "denied: connections does not allow `bank`")
	host.Connections["bank"] = nil
	_, err = does(t, host, func(ctx context.Context) (string, error) {
		_, err := portcullis.SendAs(ctx, "bank", portcullis.Request{URL: "/"})
		return "", err
	})
	same(t, errors.Is(err, portcullis.ErrNotConnected), true)
	host.Accept(nil)
	text, err = does(t, host, func(ctx context.Context) (string, error) {
		consent, err := portcullis.OpenURL(ctx, "page", "Look.", "https://example.com/")
		return fmt.Sprint(consent == portcullis.Accepted), err
	})
	same(t, err, nil)
	same(t, text, "true")
}

func TestResourcesPromptsAndEventsAreLeft(t *testing.T) {
	host := portcullistest.New()
	text, err := does(t, host, func(ctx context.Context) (string, error) {
		uri, err := portcullis.Publish(ctx, portcullis.Publication{Path: "a/b", Text: "one", Title: "One"})
		_, more := portcullis.Append(ctx, portcullis.Publication{Path: "a/b", Text: " two"})
		_, mixed := portcullis.Append(ctx, portcullis.Publication{Path: "a/b", Data: []byte{1}, IsBytes: true})
		first, sent := portcullis.SendEvent(ctx, "order.done", map[string]int{"n": 1}, "once")
		again, _ := portcullis.SendEvent(ctx, "order.done", 2, "once")
		_, bad := portcullis.SendEvent(ctx, "order.done", func() {}, "")
		return fmt.Sprint(uri, first, again, mixed, bad), errors.Join(err, more, sent)
	})
	same(t, err, nil)
	same(t, text, "portcullis://published/test/a/btrue false cannot be published: `a/b` has a body of the other kind "+
		"the event cannot be sent: it cannot be written as JSON: json: unsupported type: func()")
	same(t, host.Published["a/b"].Text, "one two")
	same(t, host.Published["a/b"].Title, "One")
	same(t, host.Events, []string{`order.done {"n":1}`})
	_, err = does(t, host, func(ctx context.Context) (string, error) {
		prompt := portcullis.Published{Name: "again", Messages: []portcullis.Message{portcullis.UserSays("Again.")}}
		err := portcullis.PublishPrompt(ctx, prompt)
		prompt.Messages[0].Content = portcullis.Image("image/png", nil)
		return "", errors.Join(err, portcullis.Unpublish(ctx, "a/b"), portcullis.UnpublishPrompt(ctx, "again"), portcullis.PublishPrompt(ctx, prompt))
	})
	fails(t, err, "cannot be published: the messages of a prompt are texts")
	for _, remove := range []func(context.Context, string) error{portcullis.Unpublish, portcullis.UnpublishPrompt} {
		_, err = does(t, host, func(ctx context.Context) (string, error) { return "", remove(ctx, "gone") })
		same(t, errors.Is(err, portcullis.ErrNotPublished), true)
	}
}

func TestValuesAreSuggested(t *testing.T) {
	host := portcullistest.New()
	values, err := host.Complete("greet", "name", "A", nil)
	same(t, err, nil)
	same(t, values, []string{"Ada", "alan"})
	_, err = host.Complete("greet", "tone", "s", nil)
	fails(t, err, "whose?")
	values, err = host.Complete("greet", "tone", "S", map[string]string{"name": "Ada"})
	same(t, err, nil)
	same(t, values, []string{"soft"})
	for _, none := range [][2]string{{"greet", "other"}, {"missing", "name"}} {
		values, err = host.Complete(none[0], none[1], "", nil)
		same(t, err, nil)
		same(t, len(values), 0)
	}
	values, _ = host.CompleteTemplate("test://{kind}/{name}-{number}", "kind", "")
	same(t, len(values), 0)
	same(t, portcullis.Offers(), "tools resources prompts completions reconcile")
}

func TestADoubtIsResolved(t *testing.T) {
	host := portcullistest.New()
	in := func(arguments string, effect portcullis.Effect) portcullis.Verdict {
		return host.Reconcile(portcullis.Doubt{Effect: effect, Tool: "book", Arguments: arguments})
	}
	request := portcullis.Effect{Request: &portcullis.Request{Method: "POST", URL: "https://example.com/1"}}
	same(t, in(`{"name":"none"}`, request), portcullis.NotDone())
	same(t, in(`x`, request), portcullis.Unknown())
	// It is not granted.
	same(t, in(`{}`, request), portcullis.Unknown())
	host.Web = func(portcullis.Request) (portcullis.Response, error) { return portcullis.Response{Status: 201}, nil }
	same(t, in(`{}`, request).Response.Status, 201)
	called := portcullis.Effect{AgentTool: &portcullis.NamedCall{Name: "notes.add", Arguments: "{}"}}
	same(t, in(`{}`, called).Result.Structured, "{}")
}

func TestWhatIsRefusedStaysRefused(t *testing.T) {
	host := portcullistest.New()
	host.Refused = []string{"state", "publish", "events"}
	host.AgentTools = map[string]func(json.RawMessage) (any, error){
		"slow": func(json.RawMessage) (any, error) { return nil, portcullis.ErrTimeout },
		"deny": func(json.RawMessage) (any, error) { return nil, portcullis.Denied("http", "GET https://example.com/") },
	}
	tools := map[string]func(ctx context.Context) error{
		"denied: state does not allow `a`": func(ctx context.Context) error { return portcullis.State(ctx).Set("a", nil) },
		"denied: publish does not allow `resources and prompts`": func(ctx context.Context) error {
			_, err := portcullis.Publish(ctx, portcullis.Publication{Path: "a"})
			return err
		},
		"denied: events does not allow `a.b`": func(ctx context.Context) error {
			_, err := portcullis.SendEvent(ctx, "a.b", 1, "")
			return err
		},
		"denied: http does not allow `GET https://example.com/`": func(ctx context.Context) error {
			_, err := portcullis.CallToolRaw(ctx, "deny", nil)
			return err
		},
		"the question cannot be asked: each of several needs a key": func(ctx context.Context) error {
			return portcullis.AskMany(ctx, portcullis.NewConfirm("", "Sure?"))
		},
	}
	for expected, use := range tools {
		_, err := does(t, host, func(ctx context.Context) (string, error) { return "", use(ctx) })
		fails(t, err, expected)
	}
	_, err := does(t, host, func(ctx context.Context) (string, error) {
		_, err := portcullis.CallToolRaw(ctx, "slow", nil)
		return "", err
	})
	same(t, errors.Is(err, portcullis.ErrTimeout) && !errors.Is(err, portcullis.ErrToolFailed), true)
	host.Refused = nil
	for expected, use := range map[string]func(ctx context.Context) error{
		"cannot be published: `../a` has characters that it must not have": func(ctx context.Context) error {
			_, err := portcullis.Publish(ctx, portcullis.Publication{Path: "../a"})
			return err
		},
		"cannot be published: `a b` has characters that it must not have": func(ctx context.Context) error {
			return portcullis.PublishPrompt(ctx, portcullis.Published{Name: "a b"})
		},
		"the event cannot be sent: `a..b` is not made of dotted words": func(ctx context.Context) error {
			_, err := portcullis.SendEvent(ctx, "a..b", 1, "")
			return err
		},
	} {
		_, err := does(t, host, func(ctx context.Context) (string, error) { return "", use(ctx) })
		fails(t, err, expected)
	}
}

func TestACancelledCallIsAnsweredNothing(t *testing.T) {
	host := portcullistest.New()
	host.Gone = true
	host.Roots = []portcullis.Root{}
	for _, use := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := portcullis.Roots(ctx, ""); return err },
		func(ctx context.Context) error { return portcullis.AskMany(ctx, portcullis.NewRoots("a")) },
		func(ctx context.Context) error {
			return portcullis.CallTools(ctx, portcullis.AgentCall{Name: "a"})[0].Err
		},
		func(ctx context.Context) error {
			_, err := portcullis.SendAs(ctx, "a", portcullis.Request{URL: "/"})
			return err
		},
	} {
		_, err := does(t, host, func(ctx context.Context) (string, error) {
			err := use(ctx)
			same(t, errors.Is(ctx.Err(), context.Canceled), true)
			return "", err
		})
		fails(t, err, "the call was cancelled")
	}
}
