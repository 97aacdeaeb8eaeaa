package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
)

const (
	// Names in the working tree that are looked at: a folder of millions would take all of a call.
	mostSeen = 100_000
	// As many as a list of `status` may have.
	mostNamed = 1000
	// Names of a folder that are read at once.
	namesAtATime = 512
)

// looking goes through a working tree.
type looking struct {
	repository *repository
	// Files and submodules of the index, and the folders that they are in.
	files, folders map[string]bool
	// Whether folders on the disk are folders, and no links.
	real             map[string]bool
	submodules, seen int
	// The first of them in the order of names, and how many there are.
	found   []string
	count   int
	stopped *string
}

// add keeps no more names than can be asked for.
func (l *looking) add(name string) {
	l.count++
	l.found = append(l.found, name)
	if len(l.found) == 4*mostNamed {
		sort.Strings(l.found)
		l.found = l.found[:mostNamed]
	}
}

var errEnough = errors.New("enough")

// begin looks at the whole tree.
func (l *looking) begin() error {
	// Git's own patterns mean less than those of the tree.
	ignoring, err := (*ignoring)(nil).add(path.Join(l.repository.common, "info/exclude"), "")
	if err == nil {
		err = l.look("", ignoring, 0)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// look adds what is in a folder, and neither in the index nor ignored. A folder of which nothing is in the index is named as a whole.
func (l *looking) look(folder string, ignoring *ignoring, depth int) error {
	ignoring, err := ignoring.add(path.Join(l.repository.folder, folder, ".gitignore"), folder)
	if err != nil {
		return err
	}
	return l.each(folder, depth, func(name string, kind fs.FileMode) error {
		switch {
		case kind.IsDir() && l.folders[name]:
			if ignoring.ignored(name, true) {
				return nil
			}
			return l.look(name, ignoring, depth+1)
		case l.files[name], ignoring.ignored(name, kind.IsDir()):
			return nil
		case !kind.IsDir():
			l.add(name)
			return nil
		}
		has, err := l.hasFiles(name, ignoring, depth+1)
		if has {
			l.add(name + "/")
		}
		return err
	})
}

// hasFiles says whether something in a folder is not ignored. Another repository is something as a whole.
func (l *looking) hasFiles(folder string, ignoring *ignoring, depth int) (bool, error) {
	if l.repository.isRepository(folder) {
		return true, nil
	}
	ignoring, err := ignoring.add(path.Join(l.repository.folder, folder, ".gitignore"), folder)
	if err != nil {
		return false, err
	}
	has := false
	err = l.each(folder, depth, func(name string, kind fs.FileMode) error {
		if ignoring.ignored(name, kind.IsDir()) {
			return nil
		}
		if has = !kind.IsDir(); !has {
			var err error
			if has, err = l.hasFiles(name, ignoring, depth+1); err != nil {
				return err
			}
		}
		if has {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) && has {
		err = nil
	}
	return has, err
}

// each calls a function for the files and links in a folder, then for its folders, until it returns an error or there is enough of them.
func (l *looking) each(folder string, depth int, do func(name string, kind fs.FileMode) error) error {
	place := path.Join(l.repository.folder, folder)
	if depth == deepest {
		l.stopped = reason("there are folders in 200 folders; deeper ones were not looked at")
		return nil
	}
	opened, err := os.Open(place)
	if err != nil {
		return explain(place, err)
	}
	// Folders come when this one is closed: a call has few open files.
	var folders []string
	err = l.names(opened, func(entry fs.DirEntry) error {
		name, kind := path.Join(folder, entry.Name()), entry.Type()
		switch {
		case entry.Name() == ".git":
		case kind.IsDir():
			folders = append(folders, name)
		case kind.IsRegular(), kind == fs.ModeSymlink:
			return do(name, kind)
		}
		return nil
	})
	if err = errors.Join(err, opened.Close()); err != nil {
		return err
	}
	for _, name := range folders {
		if err := do(name, fs.ModeDir); err != nil {
			return err
		}
	}
	return nil
}

// names reads a folder piece by piece: it may have more names than a call has memory for.
func (l *looking) names(folder *os.File, do func(fs.DirEntry) error) error {
	for {
		some, failed := folder.ReadDir(namesAtATime)
		if l.stopped = l.repository.reserve.touched(); l.stopped != nil {
			return errEnough
		}
		for _, entry := range some {
			if l.seen++; l.seen > mostSeen {
				l.stopped = reason("the working tree has more than 100,000 names; the others were not looked at")
				return errEnough
			}
			if err := do(entry); err != nil {
				return err
			}
		}
		if errors.Is(failed, io.EOF) {
			return nil
		}
		if failed != nil {
			return explain(folder.Name(), failed)
		}
	}
}

// isRepository says whether a folder of the working tree is another repository, such as a submodule.
func (r *repository) isRepository(folder string) bool {
	_, err := os.Lstat(path.Join(r.folder, folder, ".git"))
	return err == nil
}
