package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"portcullis"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	// A larger file in the repository is not compared, blamed or searched.
	largestText = 1 << 20
	// A small file of Git's own, such as one that names another folder.
	largestNote = 4096
)

type repository struct {
	*objects
	storer.ReferenceStorer
	// The folder with the files, that with Git's own files, and that which linked working trees share.
	folder, directory, common string
	settings                  *config.Config
	reserve                   reserve
}

// open finds the files of a repository: in its folder `.git`, in the folder that a file `.git` names, or in the folder itself.
func open(ctx context.Context, folder string) (*repository, error) {
	if !strings.HasPrefix(folder, "/") {
		return nil, portcullis.Invalid("repository: give the folder as this plugin sees it, such as `/src`")
	}
	folder = path.Clean(folder)
	directory := path.Join(folder, ".git")
	is, err := os.Stat(directory)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		directory = folder
	case err != nil:
		return nil, explain(directory, err)
	case !is.IsDir():
		if directory, err = named(directory, "gitdir: "); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(path.Join(directory, "HEAD")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("`%s` is no Git repository; name its topmost folder", folder)
		}
		return nil, explain(directory, err)
	}
	common := directory
	var files billy.Filesystem = osfs.New(directory)
	// A linked working tree keeps its objects elsewhere.
	if _, err := os.Stat(path.Join(directory, "commondir")); err == nil {
		if common, err = named(path.Join(directory, "commondir"), ""); err != nil {
			return nil, err
		}
		files = dotgit.NewRepositoryFilesystem(files, osfs.New(common))
	}
	if _, err := os.Stat(path.Join(common, "objects")); err != nil {
		return nil, explain(path.Join(common, "objects"), err)
	}
	settings := settingsOf(files)
	if err := supported(settings); err != nil {
		return nil, err
	}
	objects, err := openObjects(path.Join(common, "objects"))
	if err != nil {
		return nil, err
	}
	names := filesystem.NewStorageWithOptions(files, cache.NewObjectLRU(0), filesystem.Options{ExclusiveAccess: true})
	return &repository{objects, names, folder, directory, common, settings, newReserve(ctx)}, nil
}

// openAt is as open, with the commit of a revision.
func openAt(ctx context.Context, folder, revision string) (*repository, *object.Commit, error) {
	repository, err := open(ctx, folder)
	if err != nil {
		return nil, nil, err
	}
	commit, err := repository.commit(revision)
	return repository, commit, err
}

// settingsOf reads `config`. A file that Git itself could not read says nothing.
func settingsOf(files billy.Filesystem) *config.Config {
	settings := config.New()
	file, err := files.Open("config")
	if err != nil {
		return settings
	}
	defer file.Close()
	if err := config.NewDecoder(io.LimitReader(file, largestText)).Decode(settings); err != nil {
		return config.New()
	}
	return settings
}

// supported refuses what would be read wrongly.
func supported(settings *config.Config) error {
	extensions := settings.Section("extensions")
	if format := extensions.Option("objectformat"); format != "" && !strings.EqualFold(format, "sha1") {
		return fmt.Errorf("repositories with %s are not read, only those with SHA-1", format)
	}
	if storage := extensions.Option("refstorage"); storage != "" && !strings.EqualFold(storage, "files") {
		return fmt.Errorf("repositories with names in `%s` are not read", storage)
	}
	return nil
}

// named reads the path of a folder from a file. Where it leads outside of what is granted, the sandbox refuses to read it.
func named(file, prefix string) (string, error) {
	is, err := os.Stat(file)
	if err != nil {
		return "", explain(file, err)
	}
	if is.Size() > largestNote {
		return "", fmt.Errorf("`%s` is no file of Git's", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", explain(file, err)
	}
	to, right := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	if !right || to == "" {
		return "", fmt.Errorf("`%s` is no file of Git's", file)
	}
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(file), to)
	}
	if _, err := os.Stat(to); err != nil {
		return "", explain(to, err)
	}
	return to, nil
}

// explain describes what went wrong with a file.
func explain(file string, err error) error {
	switch {
	// A path outside of all granted folders has no descriptor to begin with.
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EBADF):
		return portcullis.Denied("filesystem", file)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("`%s` does not exist", file)
	}
	return fmt.Errorf("`%s`: %w", file, err)
}

// damaged says that an object which the repository names cannot be read.
func damaged(what string, err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return fmt.Errorf("%s is not in this repository: it is a shallow or partial clone, is damaged, or borrows objects from a folder that is not granted", what)
	}
	return fmt.Errorf("%s cannot be read: %w", what, err)
}

// commit finds the commit of a revision.
func (r *repository) commit(revision string) (*object.Commit, error) {
	hash, err := r.resolve(revision)
	if err != nil {
		return nil, err
	}
	commit, err := object.GetCommit(r, hash)
	if err != nil {
		return nil, damaged("the commit "+hash.String(), err)
	}
	return commit, nil
}

// tree is the folder of a commit.
func (r *repository) tree(commit *object.Commit) (*object.Tree, error) {
	tree, err := object.GetTree(r, commit.TreeHash)
	if err != nil {
		return nil, damaged("the tree of "+commit.Hash.String(), err)
	}
	return tree, nil
}
