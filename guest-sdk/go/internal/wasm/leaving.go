//go:build wasip1

package wasm

import (
	"strings"

	"portcullis/internal/abi"
	"portcullis/internal/bindings/portcullis_plugin_connections"
	"portcullis/internal/bindings/portcullis_plugin_events"
	"portcullis/internal/bindings/portcullis_plugin_publish"
	wit "portcullis/internal/bindings/portcullis_plugin_types"

	witTypes "portcullis/internal/wit/types"
)

func connectionError(err portcullis_plugin_connections.ConnectionError) error {
	switch err.Tag() {
	case portcullis_plugin_connections.ConnectionErrorDenied:
		return refused(err.Denied())
	case portcullis_plugin_connections.ConnectionErrorNotConnected:
		return abi.Fail(abi.ErrNotConnected, "%v", abi.ErrNotConnected)
	case portcullis_plugin_connections.ConnectionErrorInvalid:
		return unsent(err.Invalid())
	case portcullis_plugin_connections.ConnectionErrorExhausted:
		return exhausted(err.Exhausted())
	case portcullis_plugin_connections.ConnectionErrorTimeout:
		return abi.Fail(abi.ErrTimeout, "no answer within %d ms", err.Timeout())
	}
	return abi.Fail(nil, "the other server failed: %s", err.Failed())
}

func (host) Connected(connection string) (bool, error) {
	connected := portcullis_plugin_connections.Connected(connection)
	if connected.IsErr() {
		return false, connectionError(connected.Err())
	}
	return connected.Ok(), nil
}

func (host) SendAs(connection string, request abi.Request) (abi.Response, error) {
	request = withDefaults(request)
	sent := portcullis_plugin_connections.Request{Method: request.Method, Path: request.URL, Body: request.Body}
	for _, header := range request.Headers {
		sent.Headers = append(sent.Headers, witTypes.Tuple2[string, string]{F0: header.Name, F1: header.Value})
	}
	answered := portcullis_plugin_connections.Send(connection, sent)
	if answered.IsErr() {
		return abi.Response{}, connectionError(answered.Err())
	}
	answer := answered.Ok()
	response := abi.Response{Status: int(answer.Status), Body: answer.Body}
	for _, header := range answer.Headers {
		response.Headers = append(response.Headers, abi.Header{Name: header.F0, Value: header.F1})
	}
	if len(response.Body) > request.MaxBody {
		response.Body, response.Truncated = response.Body[:request.MaxBody], true
	}
	return response, nil
}

func publishError(err portcullis_plugin_publish.PublishError) error {
	switch err.Tag() {
	case portcullis_plugin_publish.PublishErrorDenied:
		return refused(err.Denied())
	case portcullis_plugin_publish.PublishErrorInvalid:
		return abi.Fail(nil, "cannot be published: %s", err.Invalid())
	case portcullis_plugin_publish.PublishErrorExhausted:
		return exhausted(err.Exhausted())
	}
	return abi.Fail(abi.ErrNotPublished, "%v", abi.ErrNotPublished)
}

func orPublishError[T any](result witTypes.Result[T, portcullis_plugin_publish.PublishError]) (T, error) {
	if result.IsErr() {
		var nothing T
		return nothing, publishError(result.Err())
	}
	return result.Ok(), nil
}

func bodyOf(publication abi.Publication) wit.ResourceBody {
	if publication.IsBytes {
		return wit.MakeResourceBodyBlob(publication.Data)
	}
	return wit.MakeResourceBodyText(publication.Text)
}

func (host) Publish(publication abi.Publication) (string, error) {
	return orPublishError(portcullis_plugin_publish.PutResource(publication.Path, bodyOf(publication), portcullis_plugin_publish.Attributes{
		Title:       Maybe(publication.Title),
		Description: Maybe(publication.Description),
		MimeType:    Maybe(publication.MimeType),
		Audience:    roles(publication.Audience),
		Priority:    Optional(publication.Priority),
		TtlMs:       unless(publication.TTLMS, 0),
	}))
}

func (host) Append(publication abi.Publication) (string, error) {
	return orPublishError(portcullis_plugin_publish.AppendResource(publication.Path, bodyOf(publication)))
}

func (host) Unpublish(path string) error {
	_, err := orPublishError(portcullis_plugin_publish.RemoveResource(path))
	return err
}

func (host) PublishPrompt(prompt abi.PublishedPrompt) error {
	made := portcullis_plugin_publish.PublishedPrompt{
		Name:        prompt.Name,
		Title:       Maybe(prompt.Title),
		Description: Maybe(prompt.Description),
		Arguments:   prompt.Arguments,
		TtlMs:       unless(prompt.TTLMS, 0),
	}
	for _, message := range prompt.Messages {
		text := strings.ToValidUTF8(message.Content.Text, "\uFFFD")
		made.Messages = append(made.Messages, portcullis_plugin_publish.PublishedMessage{Role: wit.Role(message.Role), Text: text})
	}
	_, err := orPublishError(portcullis_plugin_publish.PutPrompt(made))
	return err
}

func (host) UnpublishPrompt(name string) error {
	_, err := orPublishError(portcullis_plugin_publish.RemovePrompt(name))
	return err
}

func (host) SendEvent(name, payload, once string) (bool, error) {
	sent := portcullis_plugin_events.Emit(name, payload, Maybe(once))
	if sent.IsOk() {
		return sent.Ok(), nil
	}
	err := sent.Err()
	switch err.Tag() {
	case portcullis_plugin_events.EventErrorDenied:
		return false, refused(err.Denied())
	case portcullis_plugin_events.EventErrorExhausted:
		return false, exhausted(err.Exhausted())
	}
	return false, abi.Fail(nil, "the event cannot be sent: %s", err.Invalid())
}
