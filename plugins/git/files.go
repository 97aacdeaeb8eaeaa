package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"portcullis"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

const (
	mostEntries = 1000
	mostShown   = 256 << 10
	longestLine = 300
)

type filing struct {
	Repository string `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
	Path       string `json:"path" default:"" doc:"A file or folder; the topmost folder if it is left out."`
	Revision   string `json:"revision" default:"HEAD"`
	Start      int    `json:"start_line" min:"1" default:"1"`
	Lines      int    `json:"lines" min:"1" max:"5000" default:"2000"`
}

func file(ctx context.Context, asked filing) (string, error) {
	repository, commit, err := openAt(ctx, asked.Repository, asked.Revision)
	if err != nil {
		return "", err
	}
	tree, err := repository.tree(commit)
	if err != nil {
		return "", err
	}
	path := clean(asked.Path)
	if path == "" {
		return list(tree), nil
	}
	entry, err := tree.FindEntry(path)
	if err != nil {
		return "", missing(path, asked.Revision, err)
	}
	switch entry.Mode {
	case filemode.Dir:
		folder, err := object.GetTree(repository, entry.Hash)
		if err != nil {
			return "", damaged("`"+path+"`", err)
		}
		return list(folder), nil
	case filemode.Submodule:
		return "", fmt.Errorf("`%s` is a submodule at %s, which is another repository", path, entry.Hash)
	}
	text, why, err := repository.text(entry.Hash)
	if err != nil {
		return "", err
	}
	if why != "" {
		return "", fmt.Errorf("`%s` is not shown: %s", path, why)
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if asked.Start > len(lines) && asked.Start > 1 {
		return "", portcullis.Invalid(fmt.Sprintf("start_line: `%s` has only %d lines", path, len(lines)))
	}
	var shown strings.Builder
	at := asked.Start - 1
	for ; at < len(lines) && at < asked.Start-1+asked.Lines && shown.Len()+len(lines[at]) <= mostShown; at++ {
		shown.WriteString(lines[at])
	}
	if at < len(lines) {
		fmt.Fprintf(&shown, "[%d of %d lines; read on with start_line = %d]", at, len(lines), at+1)
	}
	return valid(shown.String()), nil
}

func missing(path, revision string, err error) error {
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) || errors.Is(err, object.ErrFileNotFound) {
		return fmt.Errorf("there is no `%s` in %s", path, revision)
	}
	return damaged("`"+path+"`", err)
}

func list(tree *object.Tree) string {
	var lines strings.Builder
	for i, entry := range tree.Entries {
		if i == mostEntries {
			fmt.Fprintf(&lines, "[%d more]\n", len(tree.Entries)-i)
			break
		}
		kind := map[filemode.FileMode]string{filemode.Dir: "/", filemode.Symlink: " (link)", filemode.Submodule: " (submodule)"}[entry.Mode]
		fmt.Fprintf(&lines, "%s%s\n", valid(entry.Name), kind)
	}
	return lines.String()
}

type searching struct {
	Repository string  `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
	Pattern    string  `json:"pattern" doc:"A regular expression in Go's syntax." min:"1" max:"1000"`
	Revision   string  `json:"revision" default:"HEAD"`
	Path       *string `json:"path" doc:"Only this file or folder."`
	IgnoreCase bool    `json:"ignore_case" default:"false"`
	Max        int     `json:"max" min:"1" max:"1000" default:"200"`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type matches struct {
	Matches  []match `json:"matches"`
	Searched int     `json:"files_searched"`
	Skipped  int     `json:"files_skipped" doc:"Binary, or larger than 1 MiB."`
	Stopped  *string `json:"stopped" doc:"Why it ended before the last file."`
}

func search(ctx context.Context, asked searching) (matches, error) {
	found := matches{Matches: []match{}}
	flags := "(?m)"
	if asked.IgnoreCase {
		flags = "(?mi)"
	}
	pattern, err := regexp.Compile(flags + asked.Pattern)
	if err != nil {
		return found, portcullis.Invalid("pattern: " + err.Error())
	}
	repository, commit, err := openAt(ctx, asked.Repository, asked.Revision)
	if err != nil {
		return found, err
	}
	tree, err := repository.tree(commit)
	if err != nil {
		return found, err
	}
	below := ""
	if asked.Path != nil {
		// Other folders are not read at all.
		if folder, err := tree.Tree(clean(*asked.Path)); err == nil && clean(*asked.Path) != "" {
			tree, below = folder, clean(*asked.Path)+"/"
		}
	}
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for {
		if found.Stopped = repository.reserve.touched(); found.Stopped != nil {
			return found, nil
		}
		name, entry, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, damaged("a folder", err)
		}
		name = below + name
		if !entry.Mode.IsFile() || entry.Mode == filemode.Symlink || asked.Path != nil && !under(name, clean(*asked.Path)) {
			continue
		}
		text, why, err := repository.text(entry.Hash)
		if err != nil {
			return found, err
		}
		if why != "" {
			found.Skipped++
			continue
		}
		found.Searched++
		before := len(found.Matches)
		line, from := 1, 0
		for _, at := range pattern.FindAllStringIndex(text, 2*asked.Max) {
			if at[0] < from || at[0] == len(text) && text != "" {
				continue
			}
			line += strings.Count(text[from:at[0]], "\n")
			start := strings.LastIndexByte(text[:at[0]], '\n') + 1
			end := len(text)
			if length := strings.IndexByte(text[at[0]:], '\n'); length >= 0 {
				end = at[0] + length
			}
			if len(found.Matches) == asked.Max {
				found.Stopped = reason("there are more matches than `max`")
				break
			}
			found.Matches = append(found.Matches, match{valid(name), line, valid(shorten(text[start:end], longestLine))})
			from, line = min(end+1, len(text)), line+1
		}
		for from := before; from < len(found.Matches); from += 50 {
			var lines []string
			for _, match := range found.Matches[from:min(from+50, len(found.Matches))] {
				lines = append(lines, fmt.Sprintf("%s:%d: %s", match.Path, match.Line, match.Text))
			}
			if _, err := portcullis.Emit(ctx, strings.Join(lines, "\n")); err != nil {
				return found, err
			}
		}
		if found.Stopped != nil {
			return found, nil
		}
	}
}
