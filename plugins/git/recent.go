package main

import "github.com/go-git/go-git/v5/plumbing"

// Bytes of objects that are kept, twice: delta chains share their bases, and a call has 64 MiB in all.
const mostKept = 4 << 20

// place is where an object is: at an offset of a pack, or in a file of its own.
type place struct {
	pack *pack
	at   int64
	hash plumbing.Hash
}

// recent keeps what was used last: when the young are many, the old go.
type recent struct {
	young, old map[place]*stored
	bytes      int
}

func (r *recent) get(at place) *stored {
	if found := r.young[at]; found != nil {
		return found
	}
	found := r.old[at]
	if found != nil {
		r.put(at, found)
	}
	return found
}

func (r *recent) put(at place, object *stored) {
	const overhead = 100
	size := len(object.content) + overhead
	if size > mostKept/4 {
		return
	}
	if r.bytes+size > mostKept {
		r.old, r.young, r.bytes = r.young, map[place]*stored{}, 0
	}
	r.young[at] = object
	r.bytes += size
}
