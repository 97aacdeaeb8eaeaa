package portcullis

import (
	"context"
	"fmt"
	"strings"

	"portcullis/internal/abi"
)

// Typed is what a user has typed of an argument so far, and the other arguments that are filled in already.
type Typed struct {
	Value  string
	Others map[string]string
}

// Matching are those of the words that begin with what is typed, whatever the case.
func (t Typed) Matching(words ...string) []string {
	typed, found := strings.ToLower(t.Value), []string{}
	for _, word := range words {
		if strings.HasPrefix(strings.ToLower(word), typed) {
			found = append(found, word)
		}
	}
	return found
}

// Suggest suggests values. A client gets the first 100.
type Suggest func(ctx context.Context, typed Typed) ([]string, error)

// Words suggests those of the words that begin with what is typed.
func Words(words ...string) Suggest {
	return func(_ context.Context, typed Typed) ([]string, error) { return typed.Matching(words...), nil }
}

type completion struct {
	of       abi.Reference
	argument string
	suggest  Suggest
}

// CompletePrompt suggests values for an argument of a prompt.
func CompletePrompt(prompt, argument string, suggest Suggest) {
	registered.completions = append(registered.completions, completion{abi.Reference{Prompt: prompt}, argument, suggest})
}

// CompleteTemplate suggests values for a variable of a template, which has this pattern.
func CompleteTemplate(pattern, variable string, suggest Suggest) {
	registered.completions = append(registered.completions, completion{abi.Reference{Template: pattern}, variable, suggest})
}

// check panics if there is nothing of this name, so that the mistake comes out when the plugin is built.
func (c completion) check(plugin *plugin) {
	for _, prompt := range plugin.prompts {
		for _, argument := range prompt.definition.Arguments {
			if prompt.definition.Name == c.of.Prompt && argument.Name == c.argument {
				return
			}
		}
	}
	for _, resource := range plugin.resources {
		if resource.definition.URI == c.of.Template && strings.Contains(c.of.Template, "{"+c.argument+"}") {
			return
		}
	}
	panic(fmt.Sprintf("portcullis: there is no argument `%s` of `%s%s` to complete", c.argument, c.of.Prompt, c.of.Template))
}

// Complete suggests values of an argument; none if nothing was registered for it.
func (p *plugin) Complete(call abi.Call, of abi.Reference, argument, value string, others map[string]string) ([]string, error) {
	return p.complete(context.Background(), call, of, argument, Typed{value, others})
}

func (p *plugin) complete(ctx context.Context, call abi.Call, of abi.Reference, argument string, typed Typed) ([]string, error) {
	ctx, cancel := during(ctx, call)
	defer cancel()
	for _, completion := range p.completions {
		if completion.of == of && completion.argument == argument {
			return completion.suggest(ctx, typed)
		}
	}
	return nil, nil
}
