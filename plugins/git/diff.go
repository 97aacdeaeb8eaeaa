package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"portcullis"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/diff"
	"github.com/go-git/go-git/v5/plumbing/object"
)

const (
	// What a model has use of at once; the rest is said to be missing.
	mostDiff  = 128 << 10
	mostFiles = 500
	// A chunk stays below the usual ceiling of 64 KiB.
	chunkSize = 48 << 10
)

type changedFile struct {
	Path    string  `json:"path"`
	From    *string `json:"from" doc:"Its path before, if it was renamed."`
	Change  string  `json:"change" enum:"added,removed,changed,renamed"`
	Added   int     `json:"added" doc:"Lines."`
	Removed int     `json:"removed"`
	Note    *string `json:"note" doc:"Why there is no diff of it."`
}

type difference struct {
	Files     []changedFile `json:"files"`
	Diff      string        `json:"diff" doc:"Unified."`
	Truncated *string       `json:"truncated" doc:"Why something is missing."`
}

type comparing struct {
	Repository string  `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
	From       string  `json:"from" doc:"The older revision."`
	To         string  `json:"to" default:"HEAD"`
	Path       *string `json:"path" doc:"Only this file or folder."`
}

func compare(ctx context.Context, asked comparing) (difference, error) {
	none := difference{Files: []changedFile{}}
	repository, err := open(ctx, asked.Repository)
	if err != nil {
		return none, err
	}
	from, err := repository.commit(asked.From)
	if err != nil {
		return none, err
	}
	to, err := repository.commit(asked.To)
	if err != nil {
		return none, err
	}
	return repository.between(ctx, from, to, asked.Path)
}

type showing struct {
	Repository string  `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
	Revision   string  `json:"revision" default:"HEAD"`
	Path       *string `json:"path" doc:"Only changes of this file or folder."`
}

type shown struct {
	Commit  whole      `json:"commit"`
	Changes difference `json:"changes" doc:"Against the first parent."`
}

type whole struct {
	Hash    string   `json:"hash"`
	Author  string   `json:"author"`
	Date    string   `json:"date"`
	Parents []string `json:"parents"`
	Message string   `json:"message"`
}

func show(ctx context.Context, asked showing) (shown, error) {
	found := shown{Changes: difference{Files: []changedFile{}}}
	repository, commit, err := openAt(ctx, asked.Repository, asked.Revision)
	if err != nil {
		return found, err
	}
	said := entryOf(commit)
	found.Commit = whole{said.Hash, said.Author, said.Date, []string{}, valid(shorten(strings.TrimSpace(commit.Message), 16<<10))}
	for _, parent := range commit.ParentHashes {
		found.Commit.Parents = append(found.Commit.Parents, parent.String())
	}
	var parent *object.Commit
	if len(commit.ParentHashes) > 0 {
		if parent, err = object.GetCommit(repository, commit.ParentHashes[0]); err != nil {
			found.Changes.Truncated = reason(damaged("its parent", err).Error())
			return found, nil
		}
	}
	found.Changes, err = repository.between(ctx, parent, commit, asked.Path)
	return found, err
}

// between compares two commits, file by file; nil is a commit without files.
func (r *repository) between(ctx context.Context, from, to *object.Commit, path *string) (difference, error) {
	found := difference{Files: []changedFile{}}
	var before *object.Tree
	var err error
	if from != nil {
		if before, err = r.tree(from); err != nil {
			return found, err
		}
	}
	after, err := r.tree(to)
	if err != nil {
		return found, err
	}
	exact := &object.DiffTreeOptions{DetectRenames: true, OnlyExactRenames: true}
	changes, err := object.DiffTreeWithOptions(ctx, before, after, exact)
	if err != nil {
		return found, damaged("a folder", err)
	}
	var text strings.Builder
	for _, change := range changes {
		if path != nil && !under(change.From.Name, clean(*path)) && !under(change.To.Name, clean(*path)) {
			continue
		}
		if found.Truncated = r.reserve.touched(); found.Truncated != nil {
			break
		}
		if len(found.Files) == mostFiles {
			found.Truncated = reason("more than 500 files differ; name a path")
			break
		}
		file, lines, err := r.compared(change)
		if err != nil {
			return found, err
		}
		if text.Len()+len(lines) > mostDiff && lines != "" {
			file.Note = reason("left out: the diffs are longer than 128 KiB; name its path")
			found.Truncated = file.Note
			lines = ""
		}
		found.Files = append(found.Files, file)
		text.WriteString(lines)
		for lines != "" {
			part := lines
			if len(part) > chunkSize {
				part = strings.ToValidUTF8(part[:chunkSize], "")
			}
			lines = lines[len(part):]
			if _, err := portcullis.Emit(ctx, part); err != nil {
				return found, err
			}
		}
	}
	found.Diff = text.String()
	return found, nil
}

func under(name, folder string) bool {
	return name != "" && (folder == "" || name == folder || strings.HasPrefix(name, folder+"/"))
}

// compared is one file with its diff.
func (r *repository) compared(change *object.Change) (changedFile, string, error) {
	file := changedFile{Path: valid(change.To.Name), Change: "changed"}
	switch {
	case change.From.Name == "":
		file.Change = "added"
	case change.To.Name == "":
		file.Change, file.Path = "removed", valid(change.From.Name)
	case change.From.Name != change.To.Name:
		file.Change, file.From = "renamed", reason(valid(change.From.Name))
	}
	for _, side := range []object.ChangeEntry{change.From, change.To} {
		if side.Name == "" || !side.TreeEntry.Mode.IsFile() {
			continue
		}
		size, err := r.EncodedObjectSize(side.TreeEntry.Hash)
		if err != nil {
			return file, "", damaged("`"+side.Name+"`", err)
		}
		if size > largestText {
			file.Note = reason("larger than 1 MiB")
			return file, "", nil
		}
	}
	patch, err := change.Patch()
	if err != nil {
		return file, "", damaged("`"+file.Path+"`", err)
	}
	for _, part := range patch.FilePatches() {
		if part.IsBinary() {
			file.Note = reason("binary")
			return file, "", nil
		}
		for _, chunk := range part.Chunks() {
			switch lines := countLines(chunk.Content()); chunk.Type() {
			case diff.Add:
				file.Added += lines
			case diff.Delete:
				file.Removed += lines
			}
		}
	}
	return file, valid(patch.String()), nil
}

func countLines(text string) int {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return lines
}

// text is the content of a file that can be shown; otherwise why not.
func (r *repository) text(hash plumbing.Hash) (string, string, error) {
	// Without asking for its size first: most files are small, and finding them twice costs more.
	file, err := r.get(hash)
	switch {
	case errors.Is(err, errLarge):
		return "", "larger than 1 MiB", nil
	case err != nil:
		return "", "", damaged("a file", err)
	case file.kind != plumbing.BlobObject:
		return "", "", fmt.Errorf("%s is a %s, not a file", hash, file.kind)
	case len(file.content) > largestText:
		return "", "larger than 1 MiB", nil
	case bytes.IndexByte(file.content, 0) >= 0:
		return "", "binary", nil
	}
	return string(file.content), "", nil
}
