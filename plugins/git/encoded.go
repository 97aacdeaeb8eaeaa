package main

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// errReading is what the parts of go-git get that would write.
var errReading = errors.New("this plugin only reads")

// encoded is an object as go-git takes it. Its hash is known: computing it would cost more than reading the object.
type encoded struct{ *stored }

func (e encoded) Hash() plumbing.Hash         { return e.hash }
func (e encoded) Type() plumbing.ObjectType   { return e.kind }
func (e encoded) SetType(plumbing.ObjectType) {}
func (e encoded) Size() int64                 { return int64(len(e.content)) }
func (e encoded) SetSize(int64)               {}
func (e encoded) Reader() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(e.content)), nil
}
func (e encoded) Writer() (io.WriteCloser, error) { return nil, errReading }

// EncodedObject is for go-git.
func (o *objects) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	found, err := o.get(hash)
	if err != nil {
		return nil, err
	}
	if kind != plumbing.AnyObject && kind != found.kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return encoded{found}, nil
}

// EncodedObjectSize is for go-git.
func (o *objects) EncodedObjectSize(hash plumbing.Hash) (int64, error) { return o.size(hash) }

// HasEncodedObject is for go-git.
func (o *objects) HasEncodedObject(hash plumbing.Hash) error {
	_, err := o.size(hash)
	return err
}

// IterEncodedObjects is for go-git, which does not use it to read history.
func (o *objects) IterEncodedObjects(plumbing.ObjectType) (storer.EncodedObjectIter, error) {
	return nil, errReading
}

// NewEncodedObject is for go-git.
func (o *objects) NewEncodedObject() plumbing.EncodedObject { return &plumbing.MemoryObject{} }

// SetEncodedObject is for go-git.
func (o *objects) SetEncodedObject(plumbing.EncodedObject) (plumbing.Hash, error) {
	return plumbing.ZeroHash, errReading
}

// AddAlternate is for go-git.
func (o *objects) AddAlternate(string) error { return errReading }
