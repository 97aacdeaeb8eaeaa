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
	portcullis.Tool("gather", "Calls tools of the agent at once.", gather)
	portcullis.Tool("explain", "Explains a word, with a tool for the model.", explain)
	portcullis.Tool("interview", "Asks several questions at once.", interview)
	portcullis.Tool("visit", "Asks to open a page.", visit)
	portcullis.Tool("account", "Uses an account.", account)
	portcullis.Tool("leave", "Leaves something behind.", leave)
	portcullis.Tool("announce", "Announces an event.", announce)
	portcullis.Tool("budget", "Says whether anything is left.", budget)
	portcullis.Tool("files", "Uses files.", files)
	portcullis.Tool("variable", "Reads a variable.", variable)
	portcullis.Tool("reserve", "Reserves a place.", reserve, portcullis.Takes(portcullis.MayRunLong))
	portcullis.Reconcile(findOut)
	portcullis.Resource("polyglot://about", "about", "What this plugin is.", "text/plain", about)
	portcullis.Template("polyglot://word/{word}", "word", "A word.", "application/json", spell)
	portcullis.CompleteTemplate("polyglot://word/{word}", "word", portcullis.Words("alpha", "Alps", "beta"))
	portcullis.Prompt("review", "Review", "Reviews code.", review)
	portcullis.CompletePrompt("review", "language", portcullis.Words("go", "python", "ruby", "rust"))
	portcullis.CompletePrompt("review", "focus", focuses)
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

func focuses(_ context.Context, typed portcullis.Typed) ([]string, error) {
	if typed.Others["language"] == "rust" {
		return typed.Matching("borrowing", "speed"), nil
	}
	return typed.Matching("speed", "style"), nil
}

func or(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}
