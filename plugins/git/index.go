package main

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/hash"
	"github.com/go-git/go-git/v5/plumbing/object"
)

const (
	// Some 40,000 files, for which `status` takes 45 MiB of memory; a call has 64 MiB.
	largestIndex = 4 << 20
	// Folders in folders: a tree that has itself in it would have no end.
	deepest = 200
)

func init() {
	// The hash of a file of Git's own; go-git's looks for collisions, too, and takes many times as long.
	if err := hash.RegisterHash(crypto.SHA1, sha1.New); err != nil {
		panic(err)
	}
}

// staged is the index; empty if there is none yet.
func (r *repository) staged() (*index.Index, error) {
	found := &index.Index{}
	file := path.Join(r.directory, "index")
	is, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, explain(file, err)
	}
	if is.Size() > largestIndex {
		return nil, fmt.Errorf("the index is larger than 4 MiB: the repository has too many files for `status`")
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, explain(file, err)
	}
	// Names of version 4 are made of those before: a small file could have names without a bound.
	if len(content) > 8 && content[7] == 4 {
		return nil, errors.New("an index of version 4 is not read; `git update-index --index-version 2` makes one that is")
	}
	err = index.NewDecoder(bytes.NewReader(content)).Decode(found)
	unsigned := len(content) > 20 && bytes.Equal(content[len(content)-20:], make([]byte, 20))
	switch {
	case errors.Is(err, index.ErrUnknownExtension):
		return nil, errors.New("the index is split or sparse, which is not read")
	case err != nil && !(unsigned && errors.Is(err, index.ErrInvalidChecksum)):
		return nil, fmt.Errorf("the index is damaged: %w", err)
	}
	for _, entry := range found.Entries {
		if !isPath(entry.Name) {
			return nil, fmt.Errorf("the index is damaged: %q is no path in a working tree", entry.Name)
		}
	}
	found.ModTime = is.ModTime()
	return found, nil
}

// isPath refuses what would lead elsewhere.
func isPath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") || strings.Contains(part, "\x00") {
			return false
		}
	}
	return true
}

// leaf is a file as a tree or the index has it.
type leaf struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

// leaves adds all files of a folder of a commit.
func (r *repository) leaves(hash plumbing.Hash, below string, depth int, to map[string]leaf) error {
	if depth == deepest || len(to) > mostSeen {
		return fmt.Errorf("the commit has more than %d files, or folders in %d folders", mostSeen, deepest)
	}
	tree, err := object.GetTree(r, hash)
	if err != nil {
		return damaged("a folder of the commit", err)
	}
	for _, entry := range tree.Entries {
		name := below + entry.Name
		if entry.Mode != filemode.Dir {
			to[name] = leaf{entry.Mode, entry.Hash}
			continue
		}
		if why := r.reserve.touched(); why != nil {
			return errors.New(*why)
		}
		if err := r.leaves(entry.Hash, name+"/", depth+1, to); err != nil {
			return err
		}
	}
	return nil
}

// unchanged says whether the index is as the commit, which it notes: then the folders of the commit need not be read. Git trusts it, too.
func unchanged(index *index.Index, tree plumbing.Hash) bool {
	if index.Cache == nil || len(index.Cache.Entries) == 0 {
		return false
	}
	top := index.Cache.Entries[0]
	return top.Path == "" && top.Entries == len(index.Entries) && top.Hash == tree
}

// differs compares a file with what the index says of it; empty if they are the same.
func (r *repository) differs(entry *index.Entry, written time.Time) (string, error) {
	file := path.Join(r.folder, entry.Name)
	is, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err != nil && isNoFolder(err) || err == nil && is.IsDir() && entry.Mode != filemode.Submodule {
		return "removed", nil
	}
	if err != nil {
		return "", explain(file, err)
	}
	if entry.Mode == filemode.Submodule {
		if !is.IsDir() {
			return "retyped", nil
		}
		return "", nil
	}
	isLink := is.Mode()&fs.ModeSymlink != 0
	if isLink != (entry.Mode == filemode.Symlink) || !isLink && !is.Mode().IsRegular() {
		return "retyped", nil
	}
	if entry.IntentToAdd {
		return "added", nil
	}
	// Git sets the size to zero if it has to look at the content.
	if uint32(is.Size()) != entry.Size && entry.Size != 0 {
		return "changed", nil
	}
	// A file that was changed after the index was written, within the same moment, looks the same.
	if uint32(is.Size()) == entry.Size && is.ModTime().Equal(entry.ModifiedAt) && entry.ModifiedAt.Before(written) {
		return "", nil
	}
	same, err := r.same(file, is, entry.Hash)
	if err != nil || same {
		return "", err
	}
	return "changed", nil
}

// same compares the content of a file with an object, by its hash.
func (r *repository) same(file string, is fs.FileInfo, hash plumbing.Hash) (bool, error) {
	if is.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(file)
		if err != nil {
			return false, explain(file, err)
		}
		return plumbing.ComputeHash(plumbing.BlobObject, []byte(target)) == hash, nil
	}
	opened, err := os.Open(file)
	if err != nil {
		return false, explain(file, err)
	}
	defer opened.Close()
	hasher := plumbing.NewHasher(plumbing.BlobObject, is.Size())
	for {
		if r.reserve.touched() != nil {
			return false, fmt.Errorf("`%s` and other files were not compared: the call's fuel or time is nearly used up", file)
		}
		_, err := io.CopyN(hasher, opened, 1<<20)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, explain(file, err)
		}
	}
	if hasher.Sum() == hash || !r.convertsLines() || is.Size() > largestText {
		return hasher.Sum() == hash, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return false, explain(file, err)
	}
	return plumbing.ComputeHash(plumbing.BlobObject, bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))) == hash, nil
}

// convertsLines says whether files may have `\r\n` where their objects have `\n`.
func (r *repository) convertsLines() bool {
	converts := r.settings.Section("core").Option("autocrlf")
	return strings.EqualFold(converts, "true") || strings.EqualFold(converts, "input")
}
