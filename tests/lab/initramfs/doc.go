// SPDX-License-Identifier: Apache-2.0

// Package initramfs packs the archive Linux unpacks into its root file system
// at boot: cpio in the "newc" format of the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.
//
// The archive is the same bytes for the same entries: no clock, owner or host
// inode number goes into it. It is stateless and safe for concurrent use.
package initramfs
