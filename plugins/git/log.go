package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"portcullis"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Commits in one chunk.
const commitsPerChunk = 20

type logged struct {
	Repository string  `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
	Revision   string  `json:"revision" default:"HEAD" doc:"Where to begin: a hash, a branch, a tag or HEAD, with ~N or ^N behind it."`
	Path       *string `json:"path" doc:"Only commits that changed this file or folder. Renames are not followed."`
	Author     *string `json:"author" doc:"Only commits with this in the author's name or address; case does not matter."`
	Message    *string `json:"message" doc:"Only commits with this in the message; case does not matter."`
	Since      *string `json:"since" doc:"Only commits from this time on: 2026-01-31 or 2026-01-31T12:00:00Z."`
	Until      *string `json:"until" doc:"Only commits until this time."`
	Skip       int     `json:"skip" min:"0" max:"100000" default:"0"`
	Max        int     `json:"max" min:"1" max:"500" default:"30"`
}

type entry struct {
	Hash    string `json:"hash"`
	Author  string `json:"author"`
	Date    string `json:"date" doc:"Of the author."`
	Subject string `json:"subject"`
}

type history struct {
	Commits []entry `json:"commits"`
	Next    *int    `json:"next_skip" doc:"There are more: the value of skip that goes on."`
	Stopped *string `json:"stopped" doc:"Why it ended before it was done."`
}

func entryOf(commit *object.Commit) entry {
	subject, _, _ := strings.Cut(strings.TrimSpace(commit.Message), "\n")
	return entry{commit.Hash.String(), valid(commit.Author.Name + " <" + commit.Author.Email + ">"), commit.Author.When.Format(time.RFC3339), valid(shorten(subject, 200))}
}

// valid is text as a host takes it: commits may be in any encoding.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func moment(name string, text *string, whole time.Duration) (*time.Time, error) {
	if text == nil {
		return nil, nil
	}
	if at, err := time.Parse(time.RFC3339, *text); err == nil {
		return &at, nil
	}
	at, err := time.Parse(time.DateOnly, *text)
	if err != nil {
		return nil, portcullis.Invalid(name + ": give 2026-01-31 or 2026-01-31T12:00:00Z")
	}
	at = at.Add(whole)
	return &at, nil
}

func log(ctx context.Context, asked logged) (history, error) {
	found := history{Commits: []entry{}}
	since, err := moment("since", asked.Since, 0)
	if err != nil {
		return found, err
	}
	until, err := moment("until", asked.Until, 24*time.Hour-time.Second)
	if err != nil {
		return found, err
	}
	repository, first, err := openAt(ctx, asked.Repository, asked.Revision)
	if err != nil {
		return found, err
	}
	has := func(text string, part *string) bool {
		return part == nil || strings.Contains(strings.ToLower(text), strings.ToLower(*part))
	}
	matched, sent := 0, 0
	send := func() error {
		var lines []string
		for _, commit := range found.Commits[sent:] {
			lines = append(lines, commit.Hash[:12]+" "+commit.Date[:10]+" "+commit.Author+"  "+commit.Subject)
		}
		sent = len(found.Commits)
		if lines == nil {
			return nil
		}
		_, err := portcullis.Emit(ctx, strings.Join(lines, "\n"))
		return err
	}
	commits := repository.walk(first)
	for {
		if found.Stopped = repository.reserve.touched(); found.Stopped != nil {
			break
		}
		commit, err := commits.next()
		if err != nil {
			return found, err
		}
		if commit == nil {
			if commits.missing {
				found.Stopped = reason("older commits are not in this repository: it is a shallow clone, or borrows from a folder that is not granted")
			}
			break
		}
		when := commit.Author.When
		if since != nil && when.Before(*since) || until != nil && when.After(*until) ||
			!has(commit.Author.Name+" <"+commit.Author.Email+">", asked.Author) || !has(commit.Message, asked.Message) {
			continue
		}
		if asked.Path != nil {
			changed, err := repository.changed(commit, clean(*asked.Path))
			if err != nil {
				return found, err
			}
			if !changed {
				continue
			}
		}
		if matched++; matched <= asked.Skip {
			continue
		}
		if len(found.Commits) == asked.Max {
			next := asked.Skip + asked.Max
			found.Next = &next
			break
		}
		found.Commits = append(found.Commits, entryOf(commit))
		if len(found.Commits)-sent == commitsPerChunk {
			if err := send(); err != nil {
				return found, err
			}
		}
	}
	return found, send()
}

// at is what a path is in a commit; the zero hash if it is not there.
func (r *repository) at(commit *object.Commit, path string) (plumbing.Hash, error) {
	tree, err := r.tree(commit)
	if err != nil || path == "" {
		return commit.TreeHash, err
	}
	entry, err := tree.FindEntry(path)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, damaged("`"+path+"`", err)
	}
	return entry.Hash, nil
}

// changed says whether a path is different than in each parent.
func (r *repository) changed(commit *object.Commit, path string) (bool, error) {
	here, err := r.at(commit, path)
	if err != nil {
		return false, err
	}
	if len(commit.ParentHashes) == 0 {
		return !here.IsZero(), nil
	}
	for _, hash := range commit.ParentHashes {
		parent, err := object.GetCommit(r, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return false, damaged("the commit "+hash.String(), err)
		}
		there, err := r.at(parent, path)
		if err != nil || there == here {
			return false, err
		}
	}
	return true, nil
}

// clean is a path as trees have it.
func clean(path string) string {
	path = strings.Trim(path, "/")
	if path == "." {
		return ""
	}
	return strings.TrimPrefix(path, "./")
}
