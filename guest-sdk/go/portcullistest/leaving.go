package portcullistest

import (
	"strings"

	"portcullis/internal/abi"
)

// Connected is for tools.
func (h *Host) Connected(connection string) (bool, error) {
	account, err := h.account(connection)
	return account != nil, err
}

// account is nil if it is not connected yet.
func (h *Host) account(connection string) (func(abi.Request) (abi.Response, error), error) {
	if err := h.refused("connections", connection); err != nil {
		return nil, err
	}
	account, granted := h.Connections[connection]
	if !granted {
		return nil, abi.Refuse("connections", connection, "")
	}
	return account, nil
}

// SendAs is for tools.
func (h *Host) SendAs(connection string, request abi.Request) (abi.Response, error) {
	h.Sent = append(h.Sent, request)
	account, err := h.account(connection)
	if err != nil {
		return abi.Response{}, err
	}
	if account == nil {
		return abi.Response{}, abi.Fail(abi.ErrNotConnected, "%v", abi.ErrNotConnected)
	}
	response, err := account(request)
	return cut(response, request.MaxBody), err
}

// mayPublish says whether publishing is granted, and the path or name valid.
func (h *Host) mayPublish(name string, proper bool) error {
	if err := h.refused("publish", "resources and prompts"); err != nil {
		return err
	}
	if !proper {
		return abi.Fail(nil, "cannot be published: `%s` has characters that it must not have", name)
	}
	return nil
}

func isPath(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." || !madeOf(segment, "._-") {
			return false
		}
	}
	return len(path) <= 128
}

func madeOf(text, besides string) bool {
	proper := func(c rune) bool {
		return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune(besides, c)
	}
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return !proper(c) })
}

// Publish is for tools.
func (h *Host) Publish(publication abi.Publication) (string, error) {
	if err := h.mayPublish(publication.Path, isPath(publication.Path)); err != nil {
		return "", err
	}
	if priority := publication.Priority; priority != nil && (*priority < 0 || *priority > 1) {
		return "", abi.Fail(nil, "cannot be published: priority is outside 0.0 to 1.0")
	}
	h.Published[publication.Path] = publication
	return "portcullis://published/test/" + publication.Path, nil
}

// Append is for tools.
func (h *Host) Append(publication abi.Publication) (string, error) {
	there, is := h.Published[publication.Path]
	if !is {
		return h.Publish(publication)
	}
	if there.IsBytes != publication.IsBytes {
		return "", abi.Fail(nil, "cannot be published: `%s` has a body of the other kind", publication.Path)
	}
	there.Text += publication.Text
	there.Data = append(there.Data, publication.Data...)
	return h.Publish(there)
}

// Unpublish is for tools.
func (h *Host) Unpublish(path string) error {
	if err := h.mayPublish(path, isPath(path)); err != nil {
		return err
	}
	return removed(h.Published, path)
}

// PublishPrompt is for tools.
func (h *Host) PublishPrompt(prompt abi.PublishedPrompt) error {
	if err := h.mayPublish(prompt.Name, madeOf(prompt.Name, "_-") && len(prompt.Name) <= 64); err != nil {
		return err
	}
	h.Prompts[prompt.Name] = prompt
	return nil
}

// UnpublishPrompt is for tools.
func (h *Host) UnpublishPrompt(name string) error {
	if err := h.mayPublish(name, madeOf(name, "_-")); err != nil {
		return err
	}
	return removed(h.Prompts, name)
}

func removed[T any](from map[string]T, name string) error {
	if _, is := from[name]; !is {
		return abi.Fail(abi.ErrNotPublished, "%v", abi.ErrNotPublished)
	}
	delete(from, name)
	return nil
}

// SendEvent is for tools.
func (h *Host) SendEvent(name, payload, once string) (bool, error) {
	if err := h.refused("events", name); err != nil {
		return false, err
	}
	for word := range strings.SplitSeq(name, ".") {
		if !madeOf(word, "_-") {
			return false, abi.Fail(nil, "the event cannot be sent: `%s` is not made of dotted words", name)
		}
	}
	if once != "" {
		if h.once[name+" "+once] {
			return false, nil
		}
		h.once[name+" "+once] = true
	}
	h.Events = append(h.Events, name+" "+payload)
	return true, nil
}
