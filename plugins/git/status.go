package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"

	"portcullis"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

type standing struct {
	Repository string `json:"repository" doc:"The folder of the repository, as this plugin sees it." min:"1" max:"1024"`
	Max        int    `json:"max" min:"1" max:"1000" default:"200" doc:"Names in each list."`
}

type status struct {
	Branch   *string `json:"branch" doc:"Null if HEAD is detached."`
	Commit   *string `json:"commit" doc:"Null if there is none yet."`
	Upstream *string `json:"upstream" doc:"What the branch follows."`
	Ahead    *int    `json:"ahead" doc:"Commits that only the branch has; null if there is no upstream, or too many to be counted."`
	Behind   *int    `json:"behind"`
	Staged   []state `json:"staged" doc:"The index against HEAD. A renamed file is one removed and one added."`
	Unstaged []state `json:"unstaged" doc:"The files against the index."`
	// As in git status: a folder of which nothing is tracked ends with a slash.
	Untracked  []string `json:"untracked" doc:"Neither tracked nor ignored. A folder, with a slash at its end, is named as a whole."`
	Conflicted []state  `json:"conflicted" doc:"Not merged yet."`
	Notes      []string `json:"notes" doc:"What is missing, or was not considered."`
}

type state struct {
	Path   string `json:"path"`
	Change string `json:"change" doc:"added, removed, changed, retyped (a file that became a link, or the reverse); of a conflict, how it came about."`
}

// By the stages that a conflict has: the base is 1, ours 2, theirs 4.
var conflicts = map[int]string{
	1: "removed by both", 2: "added by us", 3: "removed by them", 4: "added by them", 5: "removed by us", 6: "added by both", 7: "changed by both",
}

func stand(ctx context.Context, asked standing) (status, error) {
	found := status{Staged: []state{}, Unstaged: []state{}, Untracked: []string{}, Conflicted: []state{}, Notes: []string{}}
	repository, err := open(ctx, asked.Repository)
	if err != nil {
		return found, err
	}
	if !repository.hasFiles() {
		return found, fmt.Errorf("`%s` has no working tree in this folder: it is bare, or keeps its files elsewhere", asked.Repository)
	}
	head, err := repository.stand(&found)
	if err != nil {
		return found, err
	}
	index, err := repository.staged()
	if err != nil {
		return found, err
	}
	committed := map[string]leaf{}
	if !head.IsZero() {
		commit, err := repository.commit(head.String())
		if err != nil {
			return found, err
		}
		if unchanged(index, commit.TreeHash) {
			for _, entry := range index.Entries {
				committed[entry.Name] = leaf{entry.Mode, entry.Hash}
			}
		} else if err := repository.leaves(commit.TreeHash, "", 0, committed); err != nil {
			return found, err
		}
	}
	looking := &looking{repository: repository, files: map[string]bool{}, folders: map[string]bool{}, real: map[string]bool{}}
	stages := map[string]int{}
	var uncompared error
	for at, entry := range index.Entries {
		if at%64 == 0 {
			if why := repository.reserve.touched(); why != nil {
				return found, errors.New(*why)
			}
		}
		looking.files[entry.Name] = true
		for folder := path.Dir(entry.Name); folder != "." && !looking.folders[folder]; folder = path.Dir(folder) {
			looking.folders[folder] = true
		}
		before, was := committed[entry.Name]
		delete(committed, entry.Name)
		if entry.Stage != 0 {
			stages[entry.Name] |= 1 << (entry.Stage - 1)
			continue
		}
		switch {
		case entry.IntentToAdd:
		case !was:
			found.Staged = append(found.Staged, state{entry.Name, "added"})
		case before.mode&^0o7777 != entry.Mode&^0o7777:
			found.Staged = append(found.Staged, state{entry.Name, "retyped"})
		case before != leaf{entry.Mode, entry.Hash}:
			found.Staged = append(found.Staged, state{entry.Name, "changed"})
		}
		if entry.SkipWorktree {
			continue
		}
		change := "removed"
		if repository.isInFolders(entry.Name, looking) {
			if change, err = repository.differs(entry, index.ModTime); err != nil && uncompared == nil {
				uncompared = err
			}
		}
		if change != "" {
			found.Unstaged = append(found.Unstaged, state{entry.Name, change})
		}
		if entry.Mode == filemode.Submodule {
			looking.submodules++
		}
	}
	for name := range committed {
		found.Staged = append(found.Staged, state{name, "removed"})
	}
	for name, stages := range stages {
		found.Conflicted = append(found.Conflicted, state{name, conflicts[stages]})
	}
	for _, err := range []error{uncompared, looking.begin()} {
		if err != nil {
			found.Notes = append(found.Notes, err.Error())
		}
	}
	found.Untracked = append(found.Untracked, looking.found...)
	found.note(repository, looking, asked.Max)
	found.cut(asked.Max)
	return found, found.send(ctx)
}

// hasFiles says whether the folder is the working tree: a bare repository has none, and `core.worktree` may name another.
func (r *repository) hasFiles() bool {
	other := r.settings.Section("core").Option("worktree")
	if other != "" && !path.IsAbs(other) {
		other = path.Join(r.directory, other)
	}
	return r.folder != r.directory && (other == "" || path.Clean(other) == r.folder)
}

// stand finds the branch, and the commit of HEAD: zero if there is none yet.
func (r *repository) stand(found *status) (plumbing.Hash, error) {
	head, err := r.Reference(plumbing.HEAD)
	if err != nil {
		return plumbing.ZeroHash, damaged("HEAD", err)
	}
	if head.Type() == plumbing.SymbolicReference {
		found.Branch = reason(valid(head.Target().Short()))
	}
	at, err := storer.ResolveReference(r, plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, damaged("HEAD", err)
	}
	found.Commit = reason(at.Hash().String())
	if found.Branch == nil {
		return at.Hash(), nil
	}
	name := r.upstream(head.Target().Short())
	if name == "" {
		return at.Hash(), nil
	}
	found.Upstream = reason(valid(name.Short()))
	follows, err := storer.ResolveReference(r, name)
	if err != nil {
		found.Notes = append(found.Notes, "the upstream is gone")
		return at.Hash(), nil
	}
	ahead, behind, counted, err := r.apart(at.Hash(), follows.Hash())
	if counted {
		found.Ahead, found.Behind = &ahead, &behind
	}
	return at.Hash(), err
}

// isInFolders says whether the folders of a path are folders, and no links to some.
func (r *repository) isInFolders(name string, looking *looking) bool {
	folder := path.Dir(name)
	if folder == "." {
		return true
	}
	is, known := looking.real[folder]
	if !known {
		there, err := os.Lstat(path.Join(r.folder, folder))
		is = err == nil && there.IsDir() && r.isInFolders(folder, looking)
		looking.real[folder] = is
	}
	return is
}

func isNoFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// note says what Git would look at, and this does not.
func (s *status) note(repository *repository, looking *looking, most int) {
	if looking.count > most {
		s.Notes = append(s.Notes, fmt.Sprintf("%d untracked were found", looking.count))
	}
	if looking.stopped != nil {
		s.Notes = append(s.Notes, *looking.stopped)
	}
	if looking.submodules > 0 {
		s.Notes = append(s.Notes, "changes in submodules are not looked at")
	}
	if repository.settings.Section("core").HasOption("excludesfile") {
		s.Notes = append(s.Notes, "the patterns of core.excludesFile are not read")
	}
	if _, err := os.Lstat(path.Join(repository.folder, ".gitattributes")); !errors.Is(err, fs.ErrNotExist) {
		s.Notes = append(s.Notes, "filters and line endings of .gitattributes are not considered: a file that they make different may be named as changed")
	}
}

// cut sorts all lists, and shortens them.
func (s *status) cut(most int) {
	for what, states := range map[string]*[]state{"staged": &s.Staged, "unstaged": &s.Unstaged, "conflicted": &s.Conflicted} {
		sort.Slice(*states, func(i, j int) bool { return (*states)[i].Path < (*states)[j].Path })
		if count := len(*states); count > most {
			*states = (*states)[:most]
			s.Notes = append(s.Notes, fmt.Sprintf("%d %s in all", count, what))
		}
		for i := range *states {
			(*states)[i].Path = valid((*states)[i].Path)
		}
	}
	sort.Strings(s.Untracked)
	s.Untracked = s.Untracked[:min(len(s.Untracked), most)]
	for i := range s.Untracked {
		s.Untracked[i] = valid(s.Untracked[i])
	}
	sort.Strings(s.Notes)
}

// send gives a line for each path, in chunks.
func (s *status) send(ctx context.Context) error {
	var lines []string
	for _, group := range []struct {
		what   string
		states []state
	}{{"staged", s.Staged}, {"unstaged", s.Unstaged}, {"conflicted", s.Conflicted}} {
		for _, state := range group.states {
			lines = append(lines, group.what+", "+state.Change+": "+state.Path)
		}
	}
	for _, name := range s.Untracked {
		lines = append(lines, "untracked: "+name)
	}
	for len(lines) > 0 {
		size, count := 0, 0
		for count < len(lines) && (count == 0 || size+len(lines[count]) < chunkSize) {
			size, count = size+len(lines[count])+1, count+1
		}
		if _, err := portcullis.Emit(ctx, strings.Join(lines[:count], "\n")); err != nil {
			return err
		}
		lines = lines[count:]
	}
	return nil
}
