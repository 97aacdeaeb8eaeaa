package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

const (
	// A file of patterns is read up to here: each name of the working tree is compared with all of them.
	mostIgnoring = 64 << 10
	mostPatterns = 1000
	// Longer than any path.
	longestPattern = 1024
)

// pattern is a line of `.gitignore`. It is a regular expression of Go, which takes no more time than the length of both: with
// backtracking, `*a*a*a*b` would never end.
type pattern struct {
	again, folders, whole bool
	plain                 string
	matches               *regexp.Regexp
}

// ignoring has the patterns of a folder. Those above it, which mean less, come before it.
type ignoring struct {
	above    *ignoring
	folder   string
	patterns []pattern
}

// ignored says whether a file or folder is ignored. Those in an ignored folder are not asked for.
func (i *ignoring) ignored(path string, isFolder bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for level := i; level != nil; level = level.above {
		below := strings.TrimPrefix(strings.TrimPrefix(path, level.folder), "/")
		for at := len(level.patterns) - 1; at >= 0; at-- {
			pattern := &level.patterns[at]
			if pattern.folders && !isFolder {
				continue
			}
			text := name
			if pattern.whole {
				text = below
			}
			if pattern.matches == nil && text == pattern.plain || pattern.matches != nil && pattern.matches.MatchString(text) {
				return !pattern.again
			}
		}
	}
	return false
}

// add reads the patterns in a file, if it is there and no link; Git does not follow links to them either.
func (i *ignoring) add(file, folder string) (*ignoring, error) {
	is, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !is.Mode().IsRegular() {
		return i, nil
	}
	if err != nil {
		return i, explain(file, err)
	}
	opened, err := os.Open(file)
	if err != nil {
		return i, explain(file, err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, mostIgnoring+1))
	if err != nil {
		return i, explain(file, err)
	}
	// Before they are parsed, which takes most of the time.
	if len(text) > mostIgnoring || bytes.Count(text, []byte("\n")) > mostPatterns {
		return i, errors.New("`" + file + "` has more than 1,000 patterns or 64 KiB")
	}
	return &ignoring{above: i, folder: folder, patterns: patterns(string(text))}, nil
}

func patterns(text string) []pattern {
	var found []pattern
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if made, is := parsePattern(line); is {
			found = append(found, made)
		}
	}
	return found
}

func parsePattern(line string) (pattern, bool) {
	if line == "" || line[0] == '#' || len(line) > longestPattern {
		return pattern{}, false
	}
	var made pattern
	line, made.again = strings.CutPrefix(line, "!")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	line, made.folders = strings.CutSuffix(line, "/")
	made.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return pattern{}, false
	}
	if !strings.ContainsAny(line, `*?[\`) {
		made.plain = line
		return made, true
	}
	text, valid := expression(line, made.whole)
	if !valid {
		return pattern{}, false
	}
	matches, err := regexp.Compile(`(?s)\A` + text + `\z`)
	made.matches = matches
	return made, err == nil
}

// expression is the regular expression of a pattern; false if it can match nothing.
func expression(line string, whole bool) (string, bool) {
	var to strings.Builder
	for at := 0; at < len(line); {
		rest := line[at:]
		isStart := at == 0 || line[at-1] == '/'
		switch {
		case whole && isStart && strings.HasPrefix(rest, "**/"):
			to.WriteString(`(?:.*/)?`)
			at += 3
		case whole && isStart && rest == "**":
			to.WriteString(`.+`)
			at += 2
		case rest[0] == '*':
			to.WriteString(`[^/]*`)
			for at < len(line) && line[at] == '*' {
				at++
			}
		case rest[0] == '?':
			to.WriteString(`[^/]`)
			at++
		case rest[0] == '[':
			class, length := classOf(rest)
			if length == 0 {
				return "", false
			}
			to.WriteString(class)
			at += length
		case rest[0] == '\\':
			if len(rest) == 1 {
				return "", false
			}
			to.WriteString(regexp.QuoteMeta(rest[1:2]))
			at += 2
		default:
			to.WriteString(regexp.QuoteMeta(rest[:1]))
			at++
		}
	}
	return to.String(), true
}

// classOf is `[a-z]` at the beginning of a text, and its length; zero if it does not end.
func classOf(text string) (string, int) {
	var to strings.Builder
	at := 1
	to.WriteByte('[')
	if at < len(text) && (text[at] == '!' || text[at] == '^') {
		to.WriteString(`^/`)
		at++
	}
	// One that stands first does not end it.
	for first := at; at < len(text); first = -1 {
		if text[at] == ']' && at != first {
			return to.String() + "]", at + 1
		}
		if name := posix.FindString(text[at:]); name != "" {
			to.WriteString(name)
			at += len(name)
			continue
		}
		if text[at] == '-' && at != first && at+1 < len(text) && text[at+1] != ']' {
			to.WriteByte('-')
			at++
		}
		if text[at] == '\\' {
			at++
		}
		if at == len(text) {
			break
		}
		if text[at] < 0x80 {
			fmt.Fprintf(&to, `\x%02x`, text[at])
		} else {
			to.WriteByte(text[at])
		}
		at++
	}
	return "", 0
}

var posix = regexp.MustCompile(`^\[:[a-z]+:\]`)
