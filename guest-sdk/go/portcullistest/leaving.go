package portcullistest

import (
	"portcullis/internal/abi"
)

// Connected is for tools.
func (h *Host) Connected(connection string) (bool, error) {
	_, is := h.Connections[connection]
	return is, nil
}

// SendAs is for tools.
func (h *Host) SendAs(connection string, request abi.Request) (abi.Response, error) {
	h.Sent = append(h.Sent, request)
	account, is := h.Connections[connection]
	if !is {
		return abi.Response{}, abi.Fail(abi.ErrNotConnected, "%v", abi.ErrNotConnected)
	}
	response, err := account(request)
	return cut(response, request.MaxBody), err
}

// Publish is for tools.
func (h *Host) Publish(publication abi.Publication) (string, error) {
	h.Published[publication.Path] = publication
	return "portcullis://published/" + publication.Path, nil
}

// Append is for tools.
func (h *Host) Append(publication abi.Publication) (string, error) {
	there, is := h.Published[publication.Path]
	if !is {
		return h.Publish(publication)
	}
	if there.IsBytes != publication.IsBytes {
		return "", abi.Fail(nil, "cannot be published: text and bytes do not go together")
	}
	there.Text += publication.Text
	there.Data = append(there.Data, publication.Data...)
	return h.Publish(there)
}

// Unpublish is for tools.
func (h *Host) Unpublish(path string) error { return removed(h.Published, path) }

// PublishPrompt is for tools.
func (h *Host) PublishPrompt(prompt abi.PublishedPrompt) error {
	h.Prompts[prompt.Name] = prompt
	return nil
}

// UnpublishPrompt is for tools.
func (h *Host) UnpublishPrompt(name string) error { return removed(h.Prompts, name) }

func removed[T any](from map[string]T, name string) error {
	if _, is := from[name]; !is {
		return abi.Fail(abi.ErrNotPublished, "%v", abi.ErrNotPublished)
	}
	delete(from, name)
	return nil
}

// SendEvent is for tools.
func (h *Host) SendEvent(name, payload, once string) (bool, error) {
	if once != "" {
		if h.once[name+" "+once] {
			return false, nil
		}
		h.once[name+" "+once] = true
	}
	h.Events = append(h.Events, name+" "+payload)
	return true, nil
}
