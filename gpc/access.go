// SPDX-License-Identifier: Apache-2.0

package gpc

// Load32 reads the 32-bit word at byte offset off.
func (r *Reader) Load32(c *Cache, off uint32) (uint32, bool) {
	r.owner.check()
	if r.lock == nil {
		return load32(r.slot, c, off)
	}
	r.lock.enter(c, nil)
	v, ok := load32(r.slot, c, off)
	r.lock.exit(c, nil)
	return v, ok
}

// Store32 writes the word, with a full barrier.
func (r *Reader) Store32(c *Cache, off, v uint32) bool {
	_, ok := r.Xchg32(c, off, v)
	return ok
}

// Xchg32 exchanges the word for v and returns the old value.
func (r *Reader) Xchg32(c *Cache, off, v uint32) (old uint32, ok bool) {
	r.owner.check()
	if r.lock == nil {
		old, ok = xchg32(r.slot, c, off, v)
	} else {
		r.lock.enter(c, nil)
		old, ok = xchg32(r.slot, c, off, v)
		r.lock.exit(c, nil)
	}
	r.wrote(c, ok)
	return old, ok
}

// Xchg8 exchanges the byte at off for v and returns the old value.
func (r *Reader) Xchg8(c *Cache, off uint32, v uint8) (old uint8, ok bool) {
	r.owner.check()
	if r.lock == nil {
		old, ok = xchg8(r.slot, c, off, v)
	} else {
		r.lock.enter(c, nil)
		old, ok = xchg8(r.slot, c, off, v)
		r.lock.exit(c, nil)
	}
	r.wrote(c, ok)
	return old, ok
}

// Or32 sets bits in the word, atomically, and returns the old value.
func (r *Reader) Or32(c *Cache, off, bits uint32) (old uint32, ok bool) {
	r.owner.check()
	if r.lock == nil {
		old, ok = or32(r.slot, c, off, bits)
	} else {
		r.lock.enter(c, nil)
		old, ok = or32(r.slot, c, off, bits)
		r.lock.exit(c, nil)
	}
	r.wrote(c, ok)
	return old, ok
}

// And32 keeps only bits in the word, atomically, and returns the old value.
func (r *Reader) And32(c *Cache, off, bits uint32) (old uint32, ok bool) {
	r.owner.check()
	if r.lock == nil {
		old, ok = and32(r.slot, c, off, bits)
	} else {
		r.lock.enter(c, nil)
		old, ok = and32(r.slot, c, off, bits)
		r.lock.exit(c, nil)
	}
	r.wrote(c, ok)
	return old, ok
}

// CAS32 stores v if the word is expect, and returns the value that was found:
// the exchange took place if that is expect.
func (r *Reader) CAS32(c *Cache, off, expect, v uint32) (found uint32, ok bool) {
	r.owner.check()
	if r.lock == nil {
		found, ok = cas32(r.slot, c, off, expect, v)
	} else {
		r.lock.enter(c, nil)
		found, ok = cas32(r.slot, c, off, expect, v)
		r.lock.exit(c, nil)
	}
	r.wrote(c, ok && found == expect)
	return found, ok
}

// ReadAt copies len(p) bytes from offset off. The copy as a whole is not atomic
// with regard to the guest. If it fails, the contents of p do not count: the
// memory may have gone away halfway.
func (r *Reader) ReadAt(c *Cache, p []byte, off uint32) bool {
	r.owner.check()
	if r.lock == nil {
		return copyOut(r.slot, c, off, p)
	}
	r.lock.enter(c, nil)
	ok := copyOut(r.slot, c, off, p)
	r.lock.exit(c, nil)
	return ok
}

// WriteAt copies p to offset off. The copy as a whole is not atomic with regard
// to the guest. If it fails because memory went away halfway, a part is written;
// the caller refreshes and writes all of it.
func (r *Reader) WriteAt(c *Cache, p []byte, off uint32) (ok bool) {
	r.owner.check()
	if r.lock == nil {
		ok = copyIn(r.slot, c, off, p)
	} else {
		r.lock.enter(c, nil)
		ok = copyIn(r.slot, c, off, p)
		r.lock.exit(c, nil)
	}
	r.wrote(c, ok)
	return ok
}

func (r *Reader) wrote(c *Cache, ok bool) {
	if ok {
		r.set.markDirty(c)
	}
}
