package portcullis

import (
	"context"

	"portcullis/internal/abi"
)

// Publish creates or replaces a resource of the call's user, and returns its URI.
func Publish(ctx context.Context, publication Publication) (string, error) {
	return hostOf(ctx).Publish(publication)
}

// Append adds the body of a publication to what is there, or creates it. Only Publish sets a title and the like.
func Append(ctx context.Context, publication Publication) (string, error) {
	return hostOf(ctx).Append(publication)
}

// Unpublish removes a resource.
func Unpublish(ctx context.Context, path string) error { return hostOf(ctx).Unpublish(path) }

// PublishPrompt creates or replaces a prompt of the call's user, who sees it as `<plugin>__<name>`.
func PublishPrompt(ctx context.Context, prompt Published) error {
	for _, message := range prompt.Messages {
		if message.Content.Kind != abi.TextContent {
			return abi.Fail(nil, "cannot be published: the messages of a prompt are texts")
		}
	}
	return hostOf(ctx).PublishPrompt(prompt)
}

// UnpublishPrompt removes a prompt.
func UnpublishPrompt(ctx context.Context, name string) error {
	return hostOf(ctx).UnpublishPrompt(name)
}

// SendEvent adds an event to the user's inbox: a name of words with dots between them, and a value that is written as JSON. If one
// with the same name and `once`, which may be empty, came within a day, nothing is added, and the answer is false.
func SendEvent(ctx context.Context, name string, payload any, once string) (bool, error) {
	text, err := encode(payload)
	if err != nil {
		return false, abi.Fail(nil, "the event cannot be sent: it cannot be written as JSON: %v", err)
	}
	return hostOf(ctx).SendEvent(name, string(text), once)
}

// Connected says whether the user of the call has connected an account.
func Connected(ctx context.Context, connection string) (bool, error) {
	return hostOf(ctx).Connected(connection)
}

// SendAs sends a request with an account's credentials, which the host adds. The URL is path and query, below the address of the
// connection; it has no timeout of its own. ErrNotConnected calls for Connect.
func SendAs(ctx context.Context, connection string, request Request) (*Response, error) {
	response, err := hostOf(ctx).SendAs(connection, request)
	if err != nil {
		return nil, noticed(ctx, err)
	}
	return &response, nil
}

// SendAsJSON is as SendAs, with a value as the body.
func SendAsJSON(ctx context.Context, connection string, request Request, body any) (*Response, error) {
	request, err := withJSON(request, body)
	if err != nil {
		return nil, err
	}
	return SendAs(ctx, connection, request)
}
