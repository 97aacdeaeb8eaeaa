package main

import (
	"container/heap"
	"errors"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Commits that are read to compare a branch with its upstream.
const mostCompared = 5000

// upstream is what a branch follows by the settings; empty if it follows nothing.
func (r *repository) upstream(branch string) plumbing.ReferenceName {
	if !r.settings.Section("branch").HasSubsection(branch) {
		return ""
	}
	settings := r.settings.Section("branch").Subsection(branch)
	remote, merge := settings.Option("remote"), settings.Option("merge")
	name, is := strings.CutPrefix(merge, "refs/heads/")
	if remote == "." || !is {
		return plumbing.ReferenceName(merge)
	}
	return plumbing.NewRemoteReferenceName(remote, name)
}

// apart counts the commits that only one of two has in its history; false if they are too many to be counted.
func (r *repository) apart(one, other plumbing.Hash) (ahead, behind int, counted bool, err error) {
	const left, right = 1, 2
	sides := map[plumbing.Hash]int{one: left}
	sides[other] |= right
	var waiting byTime
	for hash := range sides {
		commit, err := object.GetCommit(r, hash)
		if err != nil {
			return 0, 0, false, damaged("the commit "+hash.String(), err)
		}
		heap.Push(&waiting, commit)
	}
	// How many of those that wait are on one side, and the time of the oldest that was counted: as soon as all that wait are on both sides,
	// and are older, nothing changes any more.
	onOne := len(sides) * (len(sides) - 1)
	oldest := time.Unix(1<<40, 0)
	seen := map[plumbing.Hash]bool{}
	for read := 0; len(waiting) > 0 && (onOne > 0 || !waiting[0].Committer.When.Before(oldest)); read++ {
		if read == mostCompared || r.reserve.touched() != nil {
			return 0, 0, false, nil
		}
		commit := heap.Pop(&waiting).(*object.Commit)
		side := sides[commit.Hash]
		seen[commit.Hash] = true
		switch side {
		case left:
			ahead, onOne = ahead+1, onOne-1
		case right:
			behind, onOne = behind+1, onOne-1
		}
		if side != left|right && commit.Committer.When.Before(oldest) {
			oldest = commit.Committer.When
		}
		for _, hash := range commit.ParentHashes {
			before := sides[hash]
			if before|side == before {
				continue
			}
			sides[hash] = before | side
			switch {
			// It was counted for one side, and is on both: so are those before it.
			case seen[hash] && before == left:
				ahead--
			case seen[hash]:
				behind--
			case before != 0:
				onOne--
				continue
			case side != left|right:
				onOne++
			}
			parent, err := object.GetCommit(r, hash)
			if errors.Is(err, plumbing.ErrObjectNotFound) {
				return 0, 0, false, nil
			}
			if err != nil {
				return 0, 0, false, damaged("the commit "+hash.String(), err)
			}
			heap.Push(&waiting, parent)
		}
	}
	return ahead, behind, true, nil
}
