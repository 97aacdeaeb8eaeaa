package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// Names of a pack's index that are read at once; the list is halved until so few are left.
	namesAtOnce = 512
	// Git makes chains of 50 deltas, and of 4,095 if it is told to; of a chain, these bytes are in memory together.
	longestChain = 4095
	// Packs whose two files are open together.
	mostOpen       = 12
	mostDeltaBytes = 8 << 20
)

var errPack = errors.New("its pack is damaged")

// pack is a file with many objects. Of its index, only what is asked for is read: Go's way through all of it costs more than most calls.
type pack struct {
	store *objects
	// Without the end of its two names.
	file string
	// Both are open while the pack is one of those used last.
	index, data *os.File
	// How many names begin with this byte or a smaller one.
	upTo [256]uint32
	size int64
}

// openPack opens `NAME.idx` and `NAME.pack`.
func openPack(store *objects, name string) (*pack, error) {
	opened := &pack{store: store, file: name}
	if err := opened.use(); err != nil {
		return nil, err
	}
	return opened, opened.begin()
}

// use opens the files of a pack, and closes those of the pack that was opened first: a call has few open files.
func (p *pack) use() error {
	if p.index != nil {
		return nil
	}
	if len(p.store.open) == mostOpen {
		oldest := p.store.open[0]
		err := errors.Join(oldest.index.Close(), oldest.data.Close())
		p.store.open, oldest.index, oldest.data = p.store.open[1:], nil, nil
		if err != nil {
			return err
		}
	}
	index, err := os.Open(p.file + ".idx")
	if err != nil {
		return err
	}
	data, err := os.Open(p.file + ".pack")
	if err != nil {
		return errors.Join(err, index.Close())
	}
	p.index, p.data = index, data
	p.store.open = append(p.store.open, p)
	return nil
}

func (p *pack) begin() error {
	is, err := p.data.Stat()
	if err != nil {
		return err
	}
	p.size = is.Size()
	head := make([]byte, 8+4*256)
	if _, err := p.index.ReadAt(head, 0); err != nil || !bytes.Equal(head[:8], []byte("\xfftOc\x00\x00\x00\x02")) {
		return fmt.Errorf("%w: its index has another version, or is cut off", errPack)
	}
	before := uint32(0)
	for i := range p.upTo {
		p.upTo[i] = binary.BigEndian.Uint32(head[8+4*i:])
		if p.upTo[i] < before {
			return errPack
		}
		before = p.upTo[i]
	}
	return nil
}

// The index has all names, then a checksum and an offset of each, then the offsets that take eight bytes.
func (p *pack) count() int64       { return int64(p.upTo[255]) }
func (p *pack) name(i int64) int64 { return 8 + 4*256 + 20*i }

// names reads these names of the index.
func (p *pack) names(from, to int64) ([]byte, error) {
	read := make([]byte, 20*(to-from))
	_, err := p.index.ReadAt(read, p.name(from))
	return read, err
}

// bucket has the names that begin as this prefix does.
func (p *pack) bucket(prefix byte) (int64, int64) {
	if prefix == 0 {
		return 0, int64(p.upTo[0])
	}
	return int64(p.upTo[prefix-1]), int64(p.upTo[prefix])
}

// find is where an object begins; false if the pack does not have it.
func (p *pack) find(hash plumbing.Hash) (int64, bool, error) {
	from, to := p.bucket(hash[0])
	if from == to {
		return 0, false, nil
	}
	if err := p.use(); err != nil {
		return 0, false, err
	}
	for to-from > namesAtOnce {
		middle := (from + to) / 2
		name, err := p.names(middle, middle+1)
		if err != nil {
			return 0, false, errPack
		}
		if bytes.Compare(name, hash[:]) <= 0 {
			from = middle
		} else {
			to = middle
		}
	}
	names, err := p.names(from, to)
	if err != nil {
		return 0, false, errPack
	}
	at := int64(sort.Search(int(to-from), func(i int) bool { return bytes.Compare(names[20*i:20*i+20], hash[:]) >= 0 }))
	if at == to-from || !bytes.Equal(names[20*at:20*at+20], hash[:]) {
		return 0, false, nil
	}
	offset, err := p.offset(from + at)
	return offset, err == nil, err
}

func (p *pack) offset(i int64) (int64, error) {
	var read [8]byte
	if _, err := p.index.ReadAt(read[:4], p.name(p.count())+4*p.count()+4*i); err != nil {
		return 0, errPack
	}
	offset := int64(binary.BigEndian.Uint32(read[:4]))
	if offset&(1<<31) != 0 {
		if _, err := p.index.ReadAt(read[:], p.name(p.count())+8*p.count()+8*(offset&^(1<<31))); err != nil {
			return 0, errPack
		}
		offset = int64(binary.BigEndian.Uint64(read[:]))
	}
	if offset < 0 || offset >= p.size {
		return 0, errPack
	}
	return offset, nil
}

// withPrefix adds the names that begin with these bytes.
func (p *pack) withPrefix(prefix []byte, to map[plumbing.Hash]bool) error {
	from, end := p.bucket(prefix[0])
	if err := p.use(); err != nil {
		return err
	}
	for ; from < end; from += namesAtOnce {
		names, err := p.names(from, min(end, from+namesAtOnce))
		if err != nil {
			return errPack
		}
		for ; len(names) > 0; names = names[20:] {
			if bytes.HasPrefix(names[:20], prefix) && len(to) < mostCandidates {
				to[plumbing.Hash(names[:20])] = true
			}
		}
	}
	return nil
}

// header is what stands before an object in a pack.
type header struct {
	kind plumbing.ObjectType
	// Of what follows: of the delta, if it is one.
	size int64
	// Where the base of a delta begins.
	base int64
}

// head reads the header of an object, and leaves the reader where its content begins.
func (p *pack) head(at int64) (header, *bufio.Reader, error) {
	if at < 12 || at >= p.size {
		return header{}, nil, errPack
	}
	reader := p.store.section(p.data, at, p.size-at)
	first, err := reader.ReadByte()
	if err != nil {
		return header{}, nil, errPack
	}
	found := header{kind: plumbing.ObjectType(first >> 4 & 7), size: int64(first & 15)}
	for shift, next := 4, first; next&0x80 != 0; shift += 7 {
		if next, err = reader.ReadByte(); err != nil || shift > 50 {
			return header{}, nil, errPack
		}
		found.size |= int64(next&0x7f) << shift
	}
	switch found.kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		return found, reader, nil
	case plumbing.OFSDeltaObject:
		next, back := byte(0x80), int64(-1)
		for next&0x80 != 0 {
			if next, err = reader.ReadByte(); err != nil || back > p.size {
				return header{}, nil, errPack
			}
			back = (back+1)<<7 | int64(next&0x7f)
		}
		if found.base = at - back; back <= 0 {
			return header{}, nil, errPack
		}
		return found, reader, nil
	case plumbing.REFDeltaObject:
		var name plumbing.Hash
		if _, err := io.ReadFull(reader, name[:]); err != nil {
			return header{}, nil, errPack
		}
		base, has, err := p.find(name)
		if err != nil || !has {
			return header{}, nil, errPack
		}
		found.base = base
		return found, reader, nil
	}
	return header{}, nil, errPack
}

// sizeAt is the size of an object; of a delta, that of its result stands at its beginning.
func (p *pack) sizeAt(at int64) (int64, error) {
	head, reader, err := p.head(at)
	if err != nil || head.base == 0 {
		return head.size, err
	}
	inflated, err := p.store.inflate(reader)
	if err != nil {
		return 0, errPack
	}
	start := make([]byte, min(head.size, 20))
	if _, err := io.ReadFull(inflated, start); err != nil {
		return 0, errPack
	}
	_, first := binary.Uvarint(start)
	if first <= 0 {
		return 0, errPack
	}
	size, second := binary.Uvarint(start[first:])
	if second <= 0 || size > 1<<50 {
		return 0, errPack
	}
	return int64(size), nil
}

// read is the object that begins here. A delta is applied to its base, which may be one, too.
func (p *pack) read(at int64) (*stored, error) {
	type step struct {
		at    int64
		delta []byte
	}
	var steps []step
	var found *stored
	sum := int64(0)
	for found == nil {
		if found = p.store.kept.get(place{pack: p, at: at}); found != nil {
			break
		}
		head, reader, err := p.head(at)
		if err != nil {
			return nil, err
		}
		if head.size > largestObject {
			return nil, errLarge
		}
		content, err := p.store.whole(reader, head.size)
		if err != nil {
			return nil, err
		}
		if head.base == 0 {
			found = &stored{kind: head.kind, content: content}
			p.store.kept.put(place{pack: p, at: at}, found)
			break
		}
		if sum += head.size; len(steps) == longestChain || sum > mostDeltaBytes {
			return nil, errLarge
		}
		steps = append(steps, step{at, content})
		at = head.base
	}
	for i := len(steps) - 1; i >= 0; i-- {
		_, first := binary.Uvarint(steps[i].delta)
		if first <= 0 {
			return nil, errPack
		}
		if size, _ := binary.Uvarint(steps[i].delta[first:]); size > largestObject {
			return nil, errLarge
		}
		content, err := packfile.PatchDelta(found.content, steps[i].delta)
		if err != nil {
			return nil, errPack
		}
		found = &stored{kind: found.kind, content: content}
		p.store.kept.put(place{pack: p, at: steps[i].at}, found)
	}
	return found, nil
}
