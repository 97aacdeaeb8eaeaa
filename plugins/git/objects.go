package main

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// A larger object is not read: a call has 64 MiB in all.
	largestObject = 8 << 20
	// Folders that a repository borrows objects from, and their packs.
	mostFolders = 16
	mostPacks   = 200
	// Objects that an abbreviated hash may stand for.
	mostCandidates = 100
)

var errLarge = errors.New("it is larger than 8 MiB, or is a change of something that is")

// objects has the objects of a repository: in files of their own and in packs, also of repositories that it borrows from.
type objects struct {
	folders []string
	packs   []*pack
	// In the order in which they were opened.
	open   []*pack
	kept   recent
	reader *bufio.Reader
	zip    io.ReadCloser
}

// stored is an object with its content.
type stored struct {
	hash    plumbing.Hash
	kind    plumbing.ObjectType
	content []byte
}

func openObjects(folder string) (*objects, error) {
	made := &objects{kept: recent{young: map[place]*stored{}}, reader: bufio.NewReaderSize(nil, 4096)}
	if err := made.add(folder); err != nil {
		return nil, err
	}
	// What is borrowed may be borrowed there.
	for i := 0; i < len(made.folders); i++ {
		for _, other := range borrowed(made.folders[i]) {
			if len(made.folders) == mostFolders {
				return nil, fmt.Errorf("the repository borrows objects from more than %d folders", mostFolders-1)
			}
			// One that is not there, or is not granted, has nothing; what only it has is missed later.
			if is, err := os.Stat(other); err == nil && is.IsDir() {
				if err := made.add(other); err != nil {
					return nil, err
				}
			}
		}
	}
	return made, nil
}

// borrowed reads `info/alternates`.
func borrowed(folder string) []string {
	file, err := os.Open(path.Join(folder, "info/alternates"))
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostFolders*largestNote))
	if err != nil {
		return nil
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if plain, err := strconv.Unquote(line); err == nil {
			line = plain
		}
		if !path.IsAbs(line) {
			line = path.Join(folder, line)
		}
		found = append(found, path.Clean(line))
	}
	return found
}

func (o *objects) add(folder string) error {
	for _, there := range o.folders {
		if there == folder {
			return nil
		}
	}
	o.folders = append(o.folders, folder)
	files, err := os.ReadDir(path.Join(folder, "pack"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain(path.Join(folder, "pack"), err)
	}
	for _, file := range files {
		name, is := strings.CutSuffix(file.Name(), ".idx")
		if !is {
			continue
		}
		if len(o.packs) == mostPacks {
			return fmt.Errorf("the repository has more than %d packs; `git gc` makes fewer", mostPacks)
		}
		name = path.Join(folder, "pack", name)
		opened, err := openPack(o, name)
		if err != nil {
			return explain(name+".pack", err)
		}
		o.packs = append(o.packs, opened)
	}
	return nil
}

// section reads a part of a file. Its reader is used again: it is read before the next one is asked for.
func (o *objects) section(file *os.File, at, length int64) *bufio.Reader {
	o.reader.Reset(io.NewSectionReader(file, at, length))
	return o.reader
}

func (o *objects) inflate(from *bufio.Reader) (io.Reader, error) {
	if o.zip == nil {
		zip, err := zlib.NewReader(from)
		o.zip = zip
		return zip, err
	}
	return o.zip, o.zip.(zlib.Resetter).Reset(from, nil)
}

// whole inflates content of a size that was said before.
func (o *objects) whole(from *bufio.Reader, size int64) ([]byte, error) {
	inflated, err := o.inflate(from)
	if err != nil {
		return nil, err
	}
	content, err := readExactly(inflated, size)
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return content, nil
}

// readExactly takes memory as the content comes, since its size may be a lie.
func readExactly(from io.Reader, size int64) ([]byte, error) {
	content := bytes.NewBuffer(make([]byte, 0, min(size, 64<<10)))
	// One more, so that the checksum behind the content is read, too.
	if _, err := io.Copy(content, io.LimitReader(from, size+1)); err != nil {
		return nil, err
	}
	if int64(content.Len()) != size {
		return nil, errors.New("it has not the size that it says")
	}
	return content.Bytes(), nil
}

// loose opens an object in a file of its own, behind its header. The caller closes the file.
func (o *objects) loose(hash plumbing.Hash) (*os.File, plumbing.ObjectType, int64, io.Reader, error) {
	name := hash.String()
	for _, folder := range o.folders {
		file, err := os.Open(path.Join(folder, name[:2], name[2:]))
		if err != nil {
			continue
		}
		kind, size, content, err := o.looseHead(file)
		if err != nil {
			return nil, 0, 0, nil, errors.Join(fmt.Errorf("it is damaged: %w", err), file.Close())
		}
		return file, kind, size, content, nil
	}
	return nil, 0, 0, nil, plumbing.ErrObjectNotFound
}

func (o *objects) looseHead(file *os.File) (plumbing.ObjectType, int64, io.Reader, error) {
	o.reader.Reset(file)
	inflated, err := o.inflate(o.reader)
	if err != nil {
		return 0, 0, nil, err
	}
	// `blob 12`, and a zero byte.
	var head []byte
	for one := make([]byte, 1); ; head = append(head, one[0]) {
		if _, err := io.ReadFull(inflated, one); err != nil {
			return 0, 0, nil, err
		}
		if one[0] == 0 {
			break
		}
		if len(head) == 32 {
			return 0, 0, nil, errors.New("it has no header")
		}
	}
	word, digits, _ := strings.Cut(string(head), " ")
	kind, err := plumbing.ParseObjectType(word)
	if err != nil {
		return 0, 0, nil, err
	}
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 {
		return 0, 0, nil, errors.New("it has no size")
	}
	return kind, size, inflated, nil
}

// packed finds an object in a pack. That pack comes first the next time.
func (o *objects) packed(hash plumbing.Hash) (*pack, int64, error) {
	for i, pack := range o.packs {
		at, has, err := pack.find(hash)
		if err != nil {
			return nil, 0, err
		}
		if has {
			o.packs[0], o.packs[i] = o.packs[i], o.packs[0]
			return pack, at, nil
		}
	}
	return nil, 0, plumbing.ErrObjectNotFound
}

// get reads an object.
func (o *objects) get(hash plumbing.Hash) (*stored, error) {
	pack, at, err := o.packed(hash)
	if err == nil {
		found, err := pack.read(at)
		if err != nil {
			return nil, err
		}
		return &stored{hash, found.kind, found.content}, nil
	}
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, err
	}
	if found := o.kept.get(place{hash: hash}); found != nil {
		return found, nil
	}
	file, kind, size, content, err := o.loose(hash)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > largestObject {
		return nil, errLarge
	}
	read, err := readExactly(content, size)
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	found := &stored{hash, kind, read}
	o.kept.put(place{hash: hash}, found)
	return found, nil
}

// size is that of an object, which is not read.
func (o *objects) size(hash plumbing.Hash) (int64, error) {
	pack, at, err := o.packed(hash)
	if err == nil {
		return pack.sizeAt(at)
	}
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return 0, err
	}
	file, _, size, _, err := o.loose(hash)
	if err != nil {
		return 0, err
	}
	return size, file.Close()
}

// withPrefix lists the objects whose names begin with these bytes.
func (o *objects) withPrefix(prefix []byte) ([]plumbing.Hash, error) {
	found := map[plumbing.Hash]bool{}
	for _, pack := range o.packs {
		if err := pack.withPrefix(prefix, found); err != nil {
			return nil, err
		}
	}
	for _, folder := range o.folders {
		first := hex.EncodeToString(prefix[:1])
		files, err := os.ReadDir(path.Join(folder, first))
		if err != nil {
			continue
		}
		for _, file := range files {
			name, err := hex.DecodeString(first + file.Name())
			if err == nil && len(name) == 20 && bytes.HasPrefix(name, prefix) && len(found) < mostCandidates {
				found[plumbing.Hash(name)] = true
			}
		}
	}
	var list []plumbing.Hash
	for hash := range found {
		list = append(list, hash)
	}
	return list, nil
}
