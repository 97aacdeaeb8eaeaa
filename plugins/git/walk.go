package main

import (
	"container/heap"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// walk goes through the history of a commit, newest first. Commits that are not in the repository, as beyond the end of a shallow
// clone, are left out.
type walk struct {
	repository *repository
	waiting    byTime
	seen       map[plumbing.Hash]bool
	// missing says that commits were left out.
	missing bool
}

func (r *repository) walk(first *object.Commit) *walk {
	return &walk{repository: r, waiting: byTime{first}, seen: map[plumbing.Hash]bool{first.Hash: true}}
}

// next is the next commit; nil at the end.
func (w *walk) next() (*object.Commit, error) {
	if len(w.waiting) == 0 {
		return nil, nil
	}
	commit := heap.Pop(&w.waiting).(*object.Commit)
	for _, hash := range commit.ParentHashes {
		if w.seen[hash] {
			continue
		}
		w.seen[hash] = true
		parent, err := object.GetCommit(w.repository, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			w.missing = true
			continue
		}
		if err != nil {
			return nil, damaged("the commit "+hash.String(), err)
		}
		heap.Push(&w.waiting, parent)
	}
	return commit, nil
}

// byTime is a heap of commits, of which the newest is the first.
type byTime []*object.Commit

func (b byTime) Len() int           { return len(b) }
func (b byTime) Less(i, j int) bool { return b[i].Committer.When.After(b[j].Committer.When) }
func (b byTime) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byTime) Push(commit any)   { *b = append(*b, commit.(*object.Commit)) }

func (b *byTime) Pop() any {
	last := len(*b) - 1
	commit := (*b)[last]
	*b = (*b)[:last]
	return commit
}
