// SPDX-License-Identifier: Apache-2.0

package boot

import "io"

// Join makes one file of several, each padded with zeros to a multiple of 4
// bytes: the form in which Linux takes several cpio archives (it unpacks only
// the first PVH module). The parts are not copied.
func Join(name string, files ...File) File {
	j := joined{files: files}
	for _, f := range files {
		j.ends = append(j.ends, j.size()+(f.Size+3)&^3)
	}
	return File{Name: name, Data: j, Size: j.size()}
}

// joined reads several files as one.
type joined struct {
	files []File
	ends  []int64 // end of each part in the whole, padding included
}

func (j joined) size() int64 {
	if len(j.ends) == 0 {
		return 0
	}
	return j.ends[len(j.ends)-1]
}

// ReadAt implements io.ReaderAt.
func (j joined) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	start := int64(0)
	for i, f := range j.files {
		end := j.ends[i]
		for off < end && n < len(p) {
			want := p[n:min(len(p), n+int(min(end-off, 1<<30)))]
			at := off - start
			if at >= f.Size { // padding
				clear(want)
			} else {
				want = want[:min(int64(len(want)), f.Size-at)]
				if err := f.readAt(want, at); err != nil {
					return n, err
				}
			}
			n += len(want)
			off += int64(len(want))
		}
		start = end
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
