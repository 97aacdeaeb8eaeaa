package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"portcullis"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// How far `~` may go back: each step reads a commit.
const mostSteps = 10_000

const revisions = "a hash, a branch, a tag or HEAD, with ~N or ^N behind it"

// resolve finds the hash of the commit of a revision.
func (r *repository) resolve(revision string) (plumbing.Hash, error) {
	at := strings.IndexAny(revision, "~^")
	if at < 0 {
		at = len(revision)
	}
	name, steps := revision[:at], revision[at:]
	if name == "" || strings.ContainsAny(revision, ":@{ ") && name != "@" {
		return plumbing.ZeroHash, portcullis.Invalid(fmt.Sprintf("revision: %q is not understood; give %s", revision, revisions))
	}
	hash, err := r.named(name)
	if err != nil {
		return hash, err
	}
	if hash, err = r.peel(hash); err != nil {
		return hash, err
	}
	for steps != "" {
		kind := steps[0]
		end := 1
		for end < len(steps) && steps[end] >= '0' && steps[end] <= '9' {
			end++
		}
		count := 1
		if end > 1 {
			if count, err = strconv.Atoi(steps[1:end]); err != nil || count > mostSteps {
				return hash, portcullis.Invalid(fmt.Sprintf("revision: %q goes back too far", revision))
			}
		}
		if end < len(steps) && steps[end] != '~' && steps[end] != '^' {
			return hash, portcullis.Invalid(fmt.Sprintf("revision: %q is not understood; give %s", revision, revisions))
		}
		steps = steps[end:]
		if hash, err = r.back(hash, kind, count, revision); err != nil {
			return hash, err
		}
	}
	return hash, nil
}

// back is a parent (`^2`) or an ancestor (`~2`).
func (r *repository) back(hash plumbing.Hash, kind byte, count int, revision string) (plumbing.Hash, error) {
	parent, times := count, 1
	if kind == '~' {
		parent, times = 1, count
	}
	for ; times > 0 && parent > 0; times-- {
		commit, err := object.GetCommit(r, hash)
		if err != nil {
			return hash, damaged("the commit "+hash.String(), err)
		}
		if len(commit.ParentHashes) < parent {
			return hash, fmt.Errorf("there is no revision %q: %s has %d parents", revision, hash, len(commit.ParentHashes))
		}
		hash = commit.ParentHashes[parent-1]
	}
	return hash, nil
}

// named finds what a name is for, in the order of Git.
func (r *repository) named(name string) (plumbing.Hash, error) {
	if name == "@" {
		name = "HEAD"
	}
	for _, pattern := range []string{"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"} {
		reference := plumbing.ReferenceName(fmt.Sprintf(pattern, name))
		// The store refuses names that lead out of its folder.
		if found, err := storer.ResolveReference(r, reference); err == nil {
			return found.Hash(), nil
		}
	}
	if len(name) >= 4 && len(name) <= 40 && strings.Trim(strings.ToLower(name), "0123456789abcdef") == "" {
		return r.abbreviated(strings.ToLower(name))
	}
	if name == "HEAD" {
		return plumbing.ZeroHash, fmt.Errorf("there is no commit yet")
	}
	return plumbing.ZeroHash, fmt.Errorf("there is no revision %q; `branches` and `tags` list names", name)
}

func (r *repository) abbreviated(name string) (plumbing.Hash, error) {
	if len(name) == 40 {
		return plumbing.NewHash(name), nil
	}
	prefix, err := hex.DecodeString(name[:len(name)/2*2])
	if err != nil {
		return plumbing.ZeroHash, err
	}
	candidates, err := r.withPrefix(prefix)
	if err != nil {
		return plumbing.ZeroHash, damaged("the object "+name, err)
	}
	var found []plumbing.Hash
	for _, candidate := range candidates {
		if strings.HasPrefix(candidate.String(), name) {
			if _, err := r.peel(candidate); err == nil {
				found = append(found, candidate)
			}
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, fmt.Errorf("there is no commit %q", name)
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("%q is the beginning of %d commits; give more of it", name, len(found))
}

// peel follows tags of tags to their commit.
func (r *repository) peel(hash plumbing.Hash) (plumbing.Hash, error) {
	for range 8 {
		found, err := r.EncodedObject(plumbing.AnyObject, hash)
		if err != nil {
			return hash, damaged("the object "+hash.String(), err)
		}
		switch found.Type() {
		case plumbing.CommitObject:
			return hash, nil
		case plumbing.TagObject:
			tag, err := object.DecodeTag(r, found)
			if err != nil {
				return hash, damaged("the tag "+hash.String(), err)
			}
			hash = tag.Target
		default:
			return hash, fmt.Errorf("%s is a %s, not a commit", hash, found.Type())
		}
	}
	return hash, fmt.Errorf("%s is a tag of too many tags", hash)
}
