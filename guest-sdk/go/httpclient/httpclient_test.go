package httpclient_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"portcullis"
	"portcullis/httpclient"
	"portcullis/portcullistest"
)

func init() {
	portcullis.Tool("post", "Posts.", func(ctx context.Context, asked struct {
		Body string `json:"body"`
	}) (string, error) {
		request, err := http.NewRequestWithContext(ctx, "POST", "https://example.com/a?b", strings.NewReader(asked.Body))
		if err != nil {
			return "", err
		}
		request.Header.Set("x-mark", "yes")
		answer, err := httpclient.Client.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return answer.Status + " " + answer.Header.Get("content-type") + " " + string(body), err
	})
}

func init() {
	portcullis.Tool("get", "Gets, as packages do.", func(_ context.Context, _ portcullis.Nothing) (string, error) {
		answer, err := (&http.Client{Timeout: time.Minute}).Get("https://example.com/plain")
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	})
}

func TestPlainRequestsGoThroughTheHost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) { io.WriteString(to, "real") }))
	defer server.Close()
	host := portcullistest.New()
	host.Web = func(portcullis.Request) (portcullis.Response, error) {
		return portcullis.Response{Status: 200, Body: []byte("fake")}, nil
	}
	result, err := host.Call("get", nil)
	if err != nil || portcullis.AllText(result.Content) != "fake" {
		t.Fatal(result, err)
	}
	if sent := host.Sent[0]; sent.URL != "https://example.com/plain" || sent.TimeoutMS == 0 || sent.TimeoutMS > 60_000 {
		t.Fatal(sent)
	}
	host.Web = nil
	if _, err := host.Call("get", nil); err == nil || !strings.Contains(err.Error(), "denied: http does not allow") {
		t.Fatal(err)
	}
	// A request of the test itself, while no tool runs.
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "real" {
		t.Fatal(string(body), err)
	}
}

func TestRequestsGoThroughTheHost(t *testing.T) {
	host := portcullistest.New()
	answer := portcullis.Response{Status: 404, Headers: []portcullis.Header{{Name: "content-type", Value: "text/plain"}}, Body: []byte("gone")}
	host.Web = func(portcullis.Request) (portcullis.Response, error) { return answer, nil }
	result, err := host.Call("post", map[string]string{"body": "hello"})
	if err != nil || portcullis.AllText(result.Content) != "404 Not Found text/plain gone" {
		t.Fatal(result, err)
	}
	sent := host.Sent[0]
	if sent.Method != "POST" || sent.URL != "https://example.com/a?b" || string(sent.Body) != "hello" || sent.Headers[0].Value != "yes" {
		t.Fatal(sent)
	}
	answer.Body = make([]byte, 5<<20)
	if _, err := host.Call("post", map[string]string{"body": ""}); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Fatal(err)
	}
	if _, err := host.Call("post", map[string]string{"body": strings.Repeat("x", 5<<20)}); err == nil || !strings.Contains(err.Error(), "at most 4 MiB") {
		t.Fatal(err)
	}
	host.Web = nil
	if _, err := host.Call("post", map[string]string{"body": ""}); err == nil || !strings.Contains(err.Error(), "denied: http does not allow") {
		t.Fatal(err)
	}
}
