// The plugin `polyglot`, as ../README.md specifies it.
package main

import (
	"context"
	"fmt"
	"unicode/utf8"

	"portcullis"
)

func init() {
	portcullis.Tool("greet", "Greets somebody.", greet, portcullis.Title("Greet"), portcullis.ReadOnly, portcullis.Idempotent, portcullis.NotOpenWorld)
	portcullis.Tool("measure", "Measures points.", measure, portcullis.ReadOnly)
	portcullis.Tool("contents", "Returns content of every kind.", contents)
	portcullis.Tool("context", "Says what the call is told of itself.", told)
	portcullis.Tool("stream", "Sends parts while it runs.", stream)
	portcullis.Tool("fail", "Fails in the way that is asked for.", fail)
	portcullis.Tool("order", "Takes an order.", order)
	portcullis.Tool("confirm", "Asks for a yes.", confirm, portcullis.Destructive)
	portcullis.Tool("complete", "Asks the model.", complete)
	portcullis.Tool("delegate", "Calls a tool of the agent.", delegate)
	portcullis.Tool("keep", "Keeps values.", keep)
	portcullis.Tool("fetch", "Fetches a page.", fetch, portcullis.OpenWorld)
	portcullis.Tool("march", "Marches as it is told.", march, portcullis.Takes(portcullis.TaskOnly))
	portcullis.Tool("listen", "Listens for a moment.", listen)
	portcullis.Resource("polyglot://about", "about", "What this plugin is.", "text/plain", about)
	portcullis.Template("polyglot://word/{word}", "word", "A word.", "application/json", spell)
	portcullis.Prompt("review", "Review", "Reviews code.", review)
}

func main() {}

func about(context.Context) (any, error) { return "One plugin, many languages.", nil }

type word struct {
	Word   string `json:"word"`
	Length int    `json:"length"`
}

func spell(_ context.Context, variables map[string]string) (any, error) {
	switch text := variables["word"]; text {
	case "missing":
		return nil, portcullis.ErrNotFound
	case "broken":
		return nil, fmt.Errorf("this word is broken")
	default:
		return word{text, utf8.RuneCountInString(text)}, nil
	}
}

type reviewing struct {
	Language string  "json:\"language\" doc:\"Such as `rust`.\""
	Focus    *string `json:"focus"`
}

func review(_ context.Context, of reviewing) ([]portcullis.Message, error) {
	asked := fmt.Sprintf("Review this %s, above all %s.", of.Language, or(of.Focus, "everything"))
	return []portcullis.Message{portcullis.UserSays(asked), portcullis.AssistantSays("Show it to me.")}, nil
}

func or(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}
