// SPDX-License-Identifier: Apache-2.0

package abi

// Errno is a Xen error number. Hypercalls return its negation in the result
// register (errno.h of the public headers; the values equal Linux's).
// The zero value means success.
type Errno uint16

// Error numbers used by the hypercalls offered here (public/errno.h).
const (
	OK         Errno = 0
	EPERM      Errno = 1
	ENOENT     Errno = 2
	ESRCH      Errno = 3
	EINTR      Errno = 4
	EIO        Errno = 5
	ENXIO      Errno = 6
	E2BIG      Errno = 7
	EAGAIN     Errno = 11
	ENOMEM     Errno = 12
	EACCES     Errno = 13
	EFAULT     Errno = 14
	EBUSY      Errno = 16
	EEXIST     Errno = 17
	EXDEV      Errno = 18
	ENODEV     Errno = 19
	EISDIR     Errno = 21
	EINVAL     Errno = 22
	ENOSPC     Errno = 28
	EROFS      Errno = 30
	ERANGE     Errno = 34
	ENOSYS     Errno = 38
	ENODATA    Errno = 61
	EOPNOTSUPP Errno = 95
)

var errnoNames = map[Errno]string{
	OK: "OK", EPERM: "EPERM", ENOENT: "ENOENT", ESRCH: "ESRCH", EINTR: "EINTR",
	EIO: "EIO", ENXIO: "ENXIO", E2BIG: "E2BIG", EAGAIN: "EAGAIN", ENOMEM: "ENOMEM",
	EACCES: "EACCES", EFAULT: "EFAULT", EBUSY: "EBUSY", EEXIST: "EEXIST", EXDEV: "EXDEV",
	ENODEV: "ENODEV", EISDIR: "EISDIR", EINVAL: "EINVAL", ENOSPC: "ENOSPC", EROFS: "EROFS",
	ERANGE: "ERANGE", ENOSYS: "ENOSYS", ENODATA: "ENODATA", EOPNOTSUPP: "EOPNOTSUPP",
}

// Error implements the error interface with the symbolic name.
func (e Errno) Error() string {
	if s, ok := errnoNames[e]; ok {
		return s
	}
	return "errno " + utoa(uint16(e))
}

// Result is the value a hypercall returns for e: 0 for OK, else -errno.
func (e Errno) Result() int64 { return -int64(e) }

func utoa(v uint16) string {
	var b [5]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + v%10)
		if v /= 10; v == 0 {
			return string(b[i:])
		}
	}
}
