// Package httpclient sends the requests of net/http through the host. `portcullis build` uses it for all requests of net/http, so that no plugin
// needs to name it. net/http adds 7 MB to a component: use it for packages that want a client, and portcullis.Send otherwise.
package httpclient

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"portcullis"
)

// The most that is read of an answer, and that is sent.
const maxBody = 4 << 20

// Transport is a RoundTripper. A deadline of a request's context is its timeout, as the host has them: for the connection, the answer and each piece.
type Transport struct{}

// Client is a client with this transport. The host follows redirects, where they are granted.
var Client = &http.Client{Transport: Transport{}}

// RoundTrip sends a request and reads the whole answer.
func (Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := portcullis.Request{Method: request.Method, URL: request.URL.String(), MaxBody: maxBody}
	if deadline, has := request.Context().Deadline(); has {
		sent.TimeoutMS = uint64(max(time.Until(deadline).Milliseconds(), 1))
	}
	for name, values := range request.Header {
		for _, value := range values {
			sent.Headers = append(sent.Headers, portcullis.Header{Name: name, Value: value})
		}
	}
	if request.Body != nil {
		defer request.Body.Close()
		body, err := io.ReadAll(io.LimitReader(request.Body, maxBody+1))
		if err != nil {
			return nil, err
		}
		if len(body) > maxBody {
			return nil, portcullis.Invalid("a request has at most 4 MiB")
		}
		sent.Body = body
	}
	answer, err := portcullis.Send(request.Context(), sent)
	if err != nil {
		return nil, err
	}
	if answer.Truncated {
		return nil, portcullis.Unsupported("answers of more than 4 MiB")
	}
	header := http.Header{}
	for _, field := range answer.Headers {
		header.Add(field.Name, field.Value)
	}
	return &http.Response{
		Status:        strconv.Itoa(answer.Status) + " " + http.StatusText(answer.Status),
		StatusCode:    answer.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(answer.Body)),
		ContentLength: int64(len(answer.Body)),
		Request:       request,
	}, nil
}
