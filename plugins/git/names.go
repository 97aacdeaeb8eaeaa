package main

import (
	"context"
	"errors"
	"io"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

const mostNames = 500

type naming struct {
	Repository string `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
}

type name struct {
	Name    string `json:"name"`
	Current bool   `json:"current" doc:"HEAD is on it."`
	Commit  *entry `json:"commit" doc:"Null if it is none, or is not in this repository."`
}

type names struct {
	Names     []name `json:"names"`
	Truncated bool   `json:"truncated" doc:"There are more than 500, or the budget of the call came to its end."`
}

func branches(ctx context.Context, asked naming) (names, error) {
	return listNames(ctx, asked.Repository, func(name plumbing.ReferenceName) bool { return name.IsBranch() || name.IsRemote() })
}

func tags(ctx context.Context, asked naming) (names, error) {
	return listNames(ctx, asked.Repository, plumbing.ReferenceName.IsTag)
}

func listNames(ctx context.Context, folder string, wanted func(plumbing.ReferenceName) bool) (names, error) {
	found := names{Names: []name{}}
	repository, err := open(ctx, folder)
	if err != nil {
		return found, err
	}
	head, err := repository.Reference(plumbing.HEAD)
	if err != nil {
		return found, damaged("HEAD", err)
	}
	references, err := repository.IterReferences()
	if err != nil {
		return found, damaged("the list of names", err)
	}
	defer references.Close()
	for {
		reference, err := references.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return found, damaged("the list of names", err)
		}
		if reference.Type() != plumbing.HashReference || !wanted(reference.Name()) {
			continue
		}
		if len(found.Names) == mostNames || repository.reserve.touched() != nil {
			found.Truncated = true
			break
		}
		this := name{Name: valid(reference.Name().Short()), Current: head.Target() == reference.Name()}
		if hash, err := repository.peel(reference.Hash()); err == nil {
			if commit, err := object.GetCommit(repository, hash); err == nil {
				made := entryOf(commit)
				this.Commit = &made
			}
		}
		found.Names = append(found.Names, this)
	}
	sort.Slice(found.Names, func(i, j int) bool { return found.Names[i].Name < found.Names[j].Name })
	return found, nil
}
