package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// piece is an object as it is written into a pack, of a size that may be a lie.
type piece struct {
	name    byte
	kind    plumbing.ObjectType
	size    int
	base    []byte
	content []byte
}

func hashOf(name byte) plumbing.Hash { return plumbing.Hash(bytes.Repeat([]byte{name}, 20)) }

func squeeze(content []byte) []byte {
	var squeezed bytes.Buffer
	writer := zlib.NewWriter(&squeezed)
	writer.Write(content)
	writer.Close()
	return squeezed.Bytes()
}

func blob(name byte, content string) piece {
	return piece{name, plumbing.BlobObject, len(content), nil, []byte(content)}
}

// delta makes content of a base of some size by these commands.
func delta(name byte, kind plumbing.ObjectType, base []byte, from, to int, commands ...byte) piece {
	content := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(from)), uint64(to))
	content = append(content, commands...)
	return piece{name, kind, len(content), base, content}
}

// packed writes a pack with its index and opens it. Offsets of the index may be changed.
func packed(t *testing.T, pieces []piece, change func(offsets map[byte]uint32)) (*objects, error) {
	t.Helper()
	data := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00")
	binary.BigEndian.PutUint32(data[8:], uint32(len(pieces)))
	offsets := map[byte]uint32{}
	for _, piece := range pieces {
		offsets[piece.name] = uint32(len(data))
		head, size := byte(piece.kind)<<4|byte(piece.size&15), piece.size>>4
		for ; size > 0; size >>= 7 {
			data, head = append(data, head|0x80), byte(size&0x7f)
		}
		data = append(append(append(data, head), piece.base...), squeeze(piece.content)...)
	}
	if change != nil {
		change(offsets)
	}
	var names []byte
	for name := range offsets {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	index := []byte("\xfftOc\x00\x00\x00\x02")
	for first := range 256 {
		count := sort.Search(len(names), func(i int) bool { return int(names[i]) > first })
		index = binary.BigEndian.AppendUint32(index, uint32(count))
	}
	for _, name := range names {
		index = append(index, bytes.Repeat([]byte{name}, 20)...)
	}
	index = append(index, make([]byte, 4*len(names))...)
	for _, name := range names {
		index = binary.BigEndian.AppendUint32(index, offsets[name])
	}
	folder := t.TempDir()
	sum := sha1.Sum(data)
	write(t, filepath.Join(folder, "pack/pack-a.pack"), append(data, sum[:]...))
	write(t, filepath.Join(folder, "pack/pack-a.idx"), index)
	return openObjects(folder)
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestDeltasAreApplied(t *testing.T) {
	one := hashOf(1)
	store, err := packed(t, []piece{
		blob(1, "hello, world"),
		// Seven bytes of the base from its beginning, then a text.
		delta(2, plumbing.REFDeltaObject, one[:], 12, 9, 0x90, 7, 2, '!', '!'),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.get(hashOf(2))
	if err != nil || string(found.content) != "hello, !!" || found.kind != plumbing.BlobObject {
		t.Fatal(found, err)
	}
	if size, err := store.size(hashOf(2)); err != nil || size != 9 {
		t.Fatal(size, err)
	}
	if _, err := store.get(hashOf(3)); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Fatal(err)
	}
	if names, err := store.withPrefix([]byte{2, 2}); err != nil || len(names) != 1 || names[0] != hashOf(2) {
		t.Fatal(names, err)
	}
}

func TestHostilePacksEnd(t *testing.T) {
	one, two := hashOf(1), hashOf(2)
	text := strings.Repeat("x", 100)
	damaged, large, length := errPack.Error(), errLarge.Error(), "not the size"
	for what, hostile := range map[string]struct {
		pieces []piece
		change func(map[byte]uint32)
		wanted string
	}{
		"a delta of itself": {[]piece{delta(1, plumbing.REFDeltaObject, one[:], 1, 1, 1, 'a')}, nil, large},
		"deltas of each other": {[]piece{
			delta(1, plumbing.REFDeltaObject, two[:], 1, 1, 1, 'a'), delta(2, plumbing.REFDeltaObject, one[:], 1, 1, 1, 'a'),
		}, nil, large},
		"a base that is not there":   {[]piece{delta(1, plumbing.REFDeltaObject, two[:], 1, 1, 1, 'a')}, nil, damaged},
		"a base before the pack":     {[]piece{delta(1, plumbing.OFSDeltaObject, []byte{120}, 1, 1, 1, 'a')}, nil, damaged},
		"a base in the header":       {[]piece{delta(1, plumbing.OFSDeltaObject, []byte{4}, 1, 1, 1, 'a')}, nil, damaged},
		"a base at no distance":      {[]piece{delta(1, plumbing.OFSDeltaObject, []byte{0}, 1, 1, 1, 'a')}, nil, damaged},
		"a distance without an end":  {[]piece{{1, plumbing.OFSDeltaObject, 1, bytes.Repeat([]byte{0xff}, 40), nil}}, nil, damaged},
		"a size that is too small":   {[]piece{{1, plumbing.BlobObject, 5, nil, []byte(text)}}, nil, length},
		"a size that is too large":   {[]piece{{1, plumbing.BlobObject, 500, nil, []byte(text)}}, nil, length},
		"a huge size of little":      {[]piece{{1, plumbing.BlobObject, 1 << 52, nil, []byte(text)}}, nil, large},
		"a size of too many bytes":   {[]piece{{1, plumbing.BlobObject, 1 << 62, nil, []byte(text)}}, nil, damaged},
		"a bomb":                     {[]piece{{1, plumbing.BlobObject, 100, nil, make([]byte, largestObject+1)}}, nil, length},
		"a type that there is not":   {[]piece{{1, 5, 1, nil, []byte("a")}}, nil, damaged},
		"a delta that makes much":    {[]piece{blob(2, text), delta(1, plumbing.REFDeltaObject, two[:], 100, 1<<40, 1, 'a')}, nil, large},
		"a delta beyond its base":    {[]piece{blob(2, text), delta(1, plumbing.REFDeltaObject, two[:], 100, 50, 0x91, 90, 50)}, nil, damaged},
		"a delta without content":    {[]piece{blob(2, text), {1, plumbing.REFDeltaObject, 0, two[:], nil}}, nil, damaged},
		"a delta of an endless size": {[]piece{blob(2, text), {1, plumbing.REFDeltaObject, 11, two[:], bytes.Repeat([]byte{0xff}, 11)}}, nil, damaged},
		"an offset beyond the end":   {[]piece{blob(1, text)}, func(at map[byte]uint32) { at[1] = 1 << 30 }, damaged},
		"an offset in the header":    {[]piece{blob(1, text)}, func(at map[byte]uint32) { at[1] = 4 }, damaged},
		"an offset in the checksum":  {[]piece{blob(1, text)}, func(at map[byte]uint32) { at[1] += 30 }, ""},
		"an offset in its object":    {[]piece{blob(1, text)}, func(at map[byte]uint32) { at[1]++ }, ""},
		"a wide offset that is not":  {[]piece{blob(1, text)}, func(at map[byte]uint32) { at[1] = 1<<31 | 5 }, damaged},
	} {
		store, err := packed(t, hostile.pieces, hostile.change)
		if err != nil {
			t.Errorf("%s: it cannot be opened: %v", what, err)
			continue
		}
		if found, err := store.get(one); err == nil || !strings.Contains(err.Error(), hostile.wanted) {
			t.Errorf("%s: %v, %v", what, found != nil, err)
		}
		// A size is what the pack says, or an error; asking for it ends.
		store.size(one)
	}
}

func TestIndexesThatLieAreRefused(t *testing.T) {
	for what, spoil := range map[string]func(index []byte) []byte{
		"of another version":     func(index []byte) []byte { index[7] = 1; return index },
		"cut off in its header":  func(index []byte) []byte { return index[:500] },
		"cut off in its names":   func(index []byte) []byte { return index[:8+4*256+10] },
		"cut off in its offsets": func(index []byte) []byte { return index[:8+4*256+22] },
		"with falling counts":    func(index []byte) []byte { index[8] = 9; return index },
		"with too many names": func(index []byte) []byte {
			for first := range 256 {
				binary.BigEndian.PutUint32(index[8+4*first:], 1<<31)
			}
			return index
		},
	} {
		made, err := packed(t, []piece{blob(1, "text")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(made.folders[0], "pack/pack-a.idx")
		index, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, spoil(index))
		store, err := openObjects(made.folders[0])
		if err == nil {
			_, err = store.get(hashOf(1))
		}
		if err == nil {
			t.Errorf("%s: it is read", what)
		}
		if store != nil {
			store.withPrefix([]byte{1, 1})
		}
	}
}

func TestLooseObjectsThatLieAreRefused(t *testing.T) {
	for what, content := range map[string][]byte{
		"no header":        squeeze(bytes.Repeat([]byte("x"), 1000)),
		"no type":          squeeze([]byte("thing 1\x00a")),
		"a negative size":  squeeze([]byte("blob -1\x00")),
		"a wrong size":     squeeze([]byte("blob 2\x00a")),
		"a huge size":      squeeze([]byte("blob 99999999999\x00a")),
		"a size of a bomb": squeeze(append([]byte("blob 5\x00"), make([]byte, largestObject)...)),
		"no zlib":          []byte("blob 1\x00a"),
		"nothing":          nil,
	} {
		folder := t.TempDir()
		name := hashOf(0xab).String()
		write(t, filepath.Join(folder, name[:2], name[2:]), content)
		store, err := openObjects(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.get(hashOf(0xab)); err == nil || errors.Is(err, plumbing.ErrObjectNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestManyPacksAreReadWithFewOpenFiles(t *testing.T) {
	var folder string
	for name := range byte(40) {
		store, err := packed(t, []piece{blob(name, strings.Repeat("x", int(name)+1))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if folder == "" {
			folder = store.folders[0]
			continue
		}
		for _, end := range []string{".pack", ".idx"} {
			content, err := os.ReadFile(filepath.Join(store.folders[0], "pack/pack-a"+end))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(folder, "pack/pack-"+string('a'+rune(name))+end), content)
		}
	}
	store, err := openObjects(folder)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for name := range byte(40) {
			if found, err := store.get(hashOf(name)); err != nil || len(found.content) != int(name)+1 {
				t.Fatal(round, name, err)
			}
			if len(store.open) > mostOpen {
				t.Fatal(len(store.open))
			}
		}
	}
}

func TestBorrowingInACircleEnds(t *testing.T) {
	folder := t.TempDir()
	var lines []string
	for name := 'a'; name < 'f'; name++ {
		lines = append(lines, "../../"+string(name)+"/objects")
	}
	for name := 'a'; name < 'f'; name++ {
		file := filepath.Join(folder, string(name), "objects/info/alternates")
		write(t, file, []byte(strings.Join(lines, "\n")+"\n# no folder\n\n/nowhere\n"))
	}
	store, err := openObjects(filepath.Join(folder, "a/objects"))
	if err != nil || len(store.folders) != 5 {
		t.Fatal(store, err)
	}
}
