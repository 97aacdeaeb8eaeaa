package portcullistest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"portcullis"
	"portcullis/portcullistest"
)

type trip struct {
	To     string  `json:"to" doc:"A city." min:"1"`
	Nights int     `json:"nights" default:"3" min:"1"`
	Class  string  `json:"class" enum:"economy,business" default:"economy"`
	Note   *string `json:"note"`
}

type booked struct {
	Trips []trip `json:"trips"`
	Cost  float64
}

func init() {
	portcullis.Tool("book", "Books a trip.", func(ctx context.Context, start trip) (booked, error) {
		answer, err := portcullis.Ask[trip](ctx, "trip", "To "+start.To+"?")
		if err != nil {
			return booked{}, err
		}
		filled, err := answer.OrStop()
		if err != nil {
			return booked{}, err
		}
		return booked{[]trip{start, filled}, 2.5}, portcullis.Confirm(ctx, "", "Sure?")
	})
	portcullis.Tool("run", "Runs what a test wants.", func(ctx context.Context, _ portcullis.Nothing) (string, error) { return run(ctx) })
	portcullis.Tool("nothing", "Returns nothing.", func(context.Context, portcullis.Nothing) (portcullis.Nothing, error) {
		return portcullis.Nothing{}, nil
	})
	portcullis.Resource("test://bytes", "bytes", "", "", func(context.Context) (any, error) { return []byte{1}, nil })
	portcullis.Template("test://{kind}/{name}-{number}", "named", "", "", func(_ context.Context, variables map[string]string) (any, error) {
		if variables["kind"] == "none" {
			return nil, portcullis.ErrNotFound
		}
		return variables, nil
	})
	portcullis.Prompt("greet", "", "Greets.", func(_ context.Context, arguments struct {
		Name string  `json:"name"`
		Tone *string `json:"tone"`
	}) ([]portcullis.Message, error) {
		return []portcullis.Message{portcullis.UserSays(fmt.Sprintf("%s %v", arguments.Name, arguments.Tone == nil))}, nil
	})
}

// run is what the tool of this name does.
var run func(ctx context.Context) (string, error)

func does(t *testing.T, host *portcullistest.Host, what func(ctx context.Context) (string, error)) (string, error) {
	t.Helper()
	run = what
	result, err := host.Call("run", nil)
	return portcullis.AllText(result.Content), err
}

func same[T any](t *testing.T, found, expected T) {
	t.Helper()
	if fmt.Sprintf("%#v", found) != fmt.Sprintf("%#v", expected) {
		t.Errorf("%#v\nexpected %#v", found, expected)
	}
}

func fails(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || err.Error() != text {
		t.Errorf("%v\nexpected %s", err, text)
	}
}

func TestFormsAreAskedAndRead(t *testing.T) {
	host := portcullistest.New()
	host.Accept(map[string]any{"to": "Oslo <&>", "class": "business", "note": nil})
	host.Accept(map[string]any{})
	result, err := host.Call("book", map[string]any{"to": "Bergen"})
	same(t, err, nil)
	text := `{"trips":[{"to":"Bergen","nights":3,"class":"economy","note":null},{"to":"Oslo <&>","nights":3,"class":"business","note":null}],"Cost":2.5}`
	same(t, result.Structured, text)
	same(t, portcullis.AllText(result.Content), text)
	same(t, host.Asked[0].Key, "trip")
	same(t, host.Asked[0].Message, "To Bergen?")
	same(t, host.Asked[0].Schema, `{"type":"object","properties":{"to":{"type":"string","description":"A city.","minLength":1},`+
		`"nights":{"type":"integer","minimum":1,"default":3},"class":{"type":"string","enum":["economy","business"],"default":"economy"},`+
		`"note":{"type":"string"}},"required":["to"]}`)
	same(t, host.Asked[1].Schema, `{"type":"object","properties":{}}`)
}

func TestOnlyAYesIsAYes(t *testing.T) {
	host := portcullistest.New()
	_, err := host.Call("book", map[string]any{"to": "Bergen"})
	fails(t, err, "elicitation.form")
	host.Decline()
	_, err = host.Call("book", map[string]any{"to": "Bergen"})
	fails(t, err, "the user declined")
	host.Close()
	_, err = host.Call("book", map[string]any{"to": "Bergen"})
	fails(t, err, "the user closed the question without an answer")
	host.Accept(map[string]any{"to": "Oslo"})
	host.Decline()
	_, err = host.Call("book", map[string]any{"to": "Bergen"})
	fails(t, err, "the user did not confirm")
	if !errors.Is(err, portcullis.ErrDeclined) {
		t.Error("it was declined")
	}
	host.Accept(map[string]any{"to": 1})
	if _, err = host.Call("book", map[string]any{"to": "Bergen"}); err == nil || !strings.HasPrefix(err.Error(), "the client's answer is not what was expected: ") {
		t.Error(err)
	}
}

func TestWhatIsSentIsRecorded(t *testing.T) {
	host := portcullistest.New()
	text, err := does(t, host, func(ctx context.Context) (string, error) {
		portcullis.Log(ctx, portcullis.Info, "part %d", 1)
		portcullis.Progress(ctx, 1, 2, "half")
		portcullis.Emit(ctx, "a")
		number, err := portcullis.EmitContent(ctx, portcullis.Text("b"), portcullis.Image("image/png", nil))
		return fmt.Sprint(number, portcullis.Call(ctx).Principal, portcullis.TimeLeft(ctx)), err
	})
	same(t, err, nil)
	same(t, text, "1local30s")
	same(t, host.Logged, []string{"part 1"})
	same(t, host.Reports, []portcullistest.Report{{Done: 1, Total: 2, Message: "half"}})
	same(t, host.ChunkTexts(), []string{"a", "b"})
	result, err := host.Call("nothing", nil)
	same(t, err, nil)
	same(t, len(result.Content), 0)
	_, err = host.Call("missing", nil)
	fails(t, err, "this plugin has no tool named `missing`")
}

func TestACancelledCallCancelsItsContext(t *testing.T) {
	host := portcullistest.New()
	host.Gone = true
	_, err := does(t, host, func(ctx context.Context) (string, error) {
		if ctx.Err() != nil {
			return "", errors.New("it is cancelled too soon")
		}
		portcullis.Emit(ctx, "a")
		return "", ctx.Err()
	})
	same(t, errors.Is(err, context.Canceled), true)
}

func TestAgentToolsAreCalledAndRead(t *testing.T) {
	host := portcullistest.New()
	host.AgentTools = map[string]func(json.RawMessage) (any, error){
		"notes.add": func(arguments json.RawMessage) (any, error) { return map[string]any{"got": arguments}, nil },
		"say":       func(json.RawMessage) (any, error) { return "plain words", nil },
		"break":     func(json.RawMessage) (any, error) { return nil, errors.New("it broke") },
	}
	call := func(name string) (string, error) {
		return does(t, host, func(ctx context.Context) (string, error) {
			return portcullis.CallTool[string](ctx, name, map[string]string{"a": "<"}, portcullis.CallOptions{Purpose: "to test"})
		})
	}
	text, err := call("say")
	same(t, err, nil)
	same(t, text, "plain words")
	same(t, host.Called[0].Arguments, `{"a":"<"}`)
	same(t, host.Called[0].Options.Purpose, "to test")
	_, err = call("break")
	fails(t, err, "the agent tool failed: it broke")
	same(t, errors.Is(err, portcullis.ErrToolFailed), true)
	_, err = call("files.read")
	fails(t, err, "denied: agent-tools does not allow `files.read`")
	if _, err = call("notes.add"); err == nil || !strings.HasPrefix(err.Error(), "the agent tool's answer is not what was expected: ") {
		t.Error(err)
	}
	text, err = does(t, host, func(ctx context.Context) (string, error) {
		answer, err := portcullis.CallTool[struct{ Got json.RawMessage }](ctx, "notes.add", portcullis.Nothing{})
		return string(answer.Got), err
	})
	same(t, err, nil)
	same(t, text, "{}")
}

func TestValuesAreKept(t *testing.T) {
	host := portcullistest.New()
	count := func(ctx context.Context) (string, error) {
		number, err := portcullis.Update(ctx, "count", func(old *int) int {
			if old == nil {
				return 1
			}
			if *old == 1 {
				// Another call is first, once.
				host.StateSet("count", []byte("7"))
			}
			return *old + 1
		})
		return fmt.Sprint(number), err
	}
	for _, expected := range []string{"1", "8"} {
		text, err := does(t, host, count)
		same(t, err, nil)
		same(t, text, expected)
	}
	host.Stored["count"] = []byte("x")
	if _, err := does(t, host, count); err == nil || !strings.HasPrefix(err.Error(), "it cannot be kept or read: what is kept is not what was expected: ") {
		t.Error(err)
	}
	for i := range 250 {
		host.Stored[fmt.Sprintf("many/%03d", i)] = nil
	}
	text, err := does(t, host, func(ctx context.Context) (string, error) {
		store := portcullis.State(ctx)
		keys, err := store.Keys("many/")
		if err != nil {
			return "", err
		}
		removed, err := store.Remove(keys[249])
		_, wrong := store.Get("bad key")
		return fmt.Sprint(len(keys), removed, wrong), err
	})
	same(t, err, nil)
	same(t, text, `250 true it cannot be kept or read: "bad key" is no key`)
}

func TestALongCallGoesOn(t *testing.T) {
	host := portcullistest.New()
	march := func(ctx context.Context) (string, error) {
		var said []string
		if _, err := portcullis.Restored(ctx, &said); err != nil {
			return "", err
		}
		for {
			message, received := portcullis.Receive(ctx)
			if received != portcullis.GotMessage {
				return strings.Join(said, " "), nil
			}
			said = append(said, message)
			if err := portcullis.Save(ctx, said); err != nil {
				return "", err
			}
		}
	}
	host.Messages = []string{"a", "b"}
	text, err := does(t, host, march)
	same(t, err, nil)
	same(t, text, "a b")
	host.Messages = []string{"c"}
	text, _ = does(t, host, march)
	same(t, text, "a b c")
	_, err = does(t, portcullistest.New(), func(ctx context.Context) (string, error) { return "", portcullis.Save(ctx, 1) })
	fails(t, err, "a call must ask for what was saved before it saves")
	_, err = does(t, host, func(ctx context.Context) (string, error) {
		_, received := portcullis.ReceiveWithin(ctx, time.Millisecond)
		same(t, received, portcullis.TimedOut)
		var number int
		_, err := portcullis.Restored(ctx, &number)
		return "", err
	})
	if err == nil || !strings.HasPrefix(err.Error(), "what was saved is not what was expected: ") {
		t.Error(err)
	}
}

func TestModelsAndServersAreAsked(t *testing.T) {
	host := portcullistest.New()
	ask := func(ctx context.Context) (string, error) {
		answer, err := portcullis.Sample(ctx, portcullis.SampleRequest{Message: "Which city?"})
		return answer.Text, err
	}
	_, err := does(t, host, ask)
	fails(t, err, "sampling")
	host.Say("Paris")
	text, _ := does(t, host, ask)
	same(t, text, "Paris")
	send := func(ctx context.Context) (string, error) {
		response, err := portcullis.SendJSON(ctx, portcullis.Request{Method: "POST", URL: "https://example.com/", MaxBody: 2}, "<")
		if err != nil {
			return "", err
		}
		kind, _ := portcullis.HeaderOf(response, "CONTENT-type")
		return fmt.Sprintf("%s %s %t", kind, response.Body, response.Truncated), portcullis.CheckStatus(response)
	}
	_, err = does(t, host, send)
	fails(t, err, "denied: http does not allow `POST https://example.com/`")
	status := 204
	host.Web = func(portcullis.Request) (portcullis.Response, error) {
		return portcullis.Response{Status: status, Headers: []portcullis.Header{{Name: "content-type", Value: "text/plain"}}, Body: []byte("abc")}, nil
	}
	text, err = does(t, host, send)
	same(t, err, nil)
	same(t, text, "text/plain ab true")
	same(t, string(host.Sent[1].Body), `"<"`)
	same(t, host.Sent[1].Headers[0], portcullis.Header{Name: "content-type", Value: "application/json"})
	status = 500
	_, err = does(t, host, send)
	fails(t, err, "the other server answered with status 500")
	same(t, errors.Is(err, portcullis.ErrStatus), true)
}

func TestResourcesAndPrompts(t *testing.T) {
	host := portcullistest.New()
	found, err := host.Read("test://bytes")
	same(t, err, nil)
	same(t, found[0].Data, []byte{1})
	found, err = host.Read("test://a/b%C3%A4-c-d")
	same(t, err, nil)
	same(t, found[0].Text, `{"kind":"a","name":"bä","number":"c-d"}`)
	same(t, found[0].MimeType, "application/json")
	for _, none := range []string{"test://none/a-b", "test://a/b/c-d", "test://a/b", "other", "test://a/%zz-b", "test://a/%C3-b", "test://bytes2"} {
		if _, err := host.Read(none); !errors.Is(err, portcullis.ErrNotFound) {
			t.Errorf("%s: %v", none, err)
		}
	}
	said, err := host.Get("greet", map[string]string{"name": "Ada"})
	same(t, err, nil)
	same(t, said[0].Content.Text, "Ada true")
	_, err = host.Get("missing", nil)
	fails(t, err, "this plugin has no prompt named `missing`")
}
