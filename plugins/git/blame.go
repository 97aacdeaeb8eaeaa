package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"portcullis"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"
)

type blaming struct {
	Repository string `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
	Path       string `json:"path" min:"1"`
	Revision   string `json:"revision" default:"HEAD"`
	Start      int    `json:"start_line" min:"1" default:"1"`
	Lines      int    `json:"lines" min:"1" max:"2000" default:"500"`
}

type blamed struct {
	// Neighbours of the same commit are one part.
	Parts   []part  `json:"parts"`
	Stopped *string `json:"stopped" doc:"Why older commits were not looked at; their lines have no commit."`
}

type part struct {
	First  int    `json:"first" doc:"Line, counted from 1."`
	Last   int    `json:"last"`
	Commit *entry `json:"commit"`
	Text   string `json:"text"`
}

// version is a file in a commit, with the lines of the final file that are still the same in it: their numbers there, by those here.
type version struct {
	commit *object.Commit
	blob   plumbing.Hash
	lines  map[int]int
}

func blame(ctx context.Context, asked blaming) (blamed, error) {
	found := blamed{Parts: []part{}}
	repository, commit, err := openAt(ctx, asked.Repository, asked.Revision)
	if err != nil {
		return found, err
	}
	path := clean(asked.Path)
	blob, err := repository.at(commit, path)
	if err != nil {
		return found, err
	}
	if blob.IsZero() {
		return found, missing(path, asked.Revision, object.ErrEntryNotFound)
	}
	text, why, err := repository.text(blob)
	if err != nil {
		return found, fmt.Errorf("`%s` is no file: %w", path, err)
	}
	if why != "" {
		return found, fmt.Errorf("`%s` has no lines to blame: %s", path, why)
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if asked.Start > len(lines) {
		return found, portcullis.Invalid(fmt.Sprintf("start_line: `%s` has only %d lines", path, len(lines)))
	}
	last := min(asked.Start-1+asked.Lines, len(lines))
	wanted := map[int]int{}
	for line := asked.Start - 1; line < last; line++ {
		wanted[line] = line
	}
	by := make([]*entry, len(lines))
	if found.Stopped, err = repository.trace(version{commit, blob, wanted}, path, by); err != nil {
		return found, err
	}
	for line := asked.Start - 1; line < last; line++ {
		end := len(found.Parts) - 1
		if end >= 0 && found.Parts[end].Commit == by[line] {
			found.Parts[end].Last, found.Parts[end].Text = line+1, found.Parts[end].Text+valid(shorten(lines[line], longestLine))
			continue
		}
		found.Parts = append(found.Parts, part{line + 1, line + 1, by[line], valid(shorten(lines[line], longestLine))})
	}
	for _, part := range found.Parts {
		who := "?"
		if part.Commit != nil {
			who = part.Commit.Hash[:12] + " " + part.Commit.Date[:10] + " " + part.Commit.Author
		}
		if _, err := portcullis.Emit(ctx, shorten(fmt.Sprintf("%s, lines %d to %d\n%s", who, part.First, part.Last, part.Text), chunkSize)); err != nil {
			return found, err
		}
	}
	return found, nil
}

// trace goes back until each line has its commit. Of several versions, the newest is next, so that no commit is looked at before all
// of its children have been.
func (r *repository) trace(first version, path string, by []*entry) (*string, error) {
	waiting := map[plumbing.Hash]*version{first.commit.Hash: &first}
	for len(waiting) > 0 {
		if why := r.reserve.touched(); why != nil {
			return why, nil
		}
		var next *version
		for _, version := range waiting {
			if next == nil || version.commit.Committer.When.After(next.commit.Committer.When) {
				next = version
			}
		}
		delete(waiting, next.commit.Hash)
		for _, hash := range next.commit.ParentHashes {
			parent, err := object.GetCommit(r, hash)
			if errors.Is(err, plumbing.ErrObjectNotFound) {
				return reason("older commits are not in this repository"), nil
			}
			if err != nil {
				return nil, damaged("the commit "+hash.String(), err)
			}
			passed, blob, err := r.pass(next, parent, path)
			if err != nil {
				return nil, err
			}
			if len(passed) == 0 {
				continue
			}
			if there := waiting[hash]; there != nil {
				for here, final := range passed {
					there.lines[here] = final
				}
				continue
			}
			waiting[hash] = &version{parent, blob, passed}
		}
		if len(next.lines) > 0 {
			made := entryOf(next.commit)
			for _, final := range next.lines {
				by[final] = &made
			}
		}
	}
	return nil, nil
}

// pass gives a parent the lines that it has, too, and takes them from the version.
func (r *repository) pass(from *version, parent *object.Commit, path string) (map[int]int, plumbing.Hash, error) {
	blob, err := r.at(parent, path)
	if err != nil || blob.IsZero() {
		return nil, blob, err
	}
	if blob == from.blob {
		passed := from.lines
		from.lines = map[int]int{}
		return passed, blob, nil
	}
	old, why, err := r.text(blob)
	if err != nil || why != "" {
		// It was no text, or a folder: nothing of it is left.
		return nil, blob, nil
	}
	now, _, err := r.text(from.blob)
	if err != nil {
		return nil, blob, err
	}
	passed := map[int]int{}
	there, here := 0, 0
	for _, piece := range diff.Do(old, now) {
		count := countLines(piece.Text)
		switch piece.Type {
		case diffmatchpatch.DiffDelete:
			there += count
		case diffmatchpatch.DiffInsert:
			here += count
		default:
			for i := range count {
				if final, has := from.lines[here+i]; has {
					passed[there+i] = final
					delete(from.lines, here+i)
				}
			}
			there, here = there+count, here+count
		}
	}
	return passed, blob, nil
}
