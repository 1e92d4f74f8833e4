// SPDX-License-Identifier: Apache-2.0

// Package kernel keeps the kernels a lab host can boot: it downloads Debian
// kernel packages, takes out the uncompressed kernel and the modules a KVM
// host needs, and keeps them in a cache directory.
//
// The cache is $XENVMM_LAB_CACHE, or xenvmm/lab in the user's cache directory:
//
//	kernels/NAME/manifest.json   what the kernel is, its files and their SHA-256
//	kernels/NAME/vmlinux         the ELF kernel
//	kernels/NAME/vmlinuz         the same as the package has it, a bzImage
//	kernels/NAME/modules/*.ko    modules, uncompressed
//	downloads/                   packages under way
//	lock                         flock: one set-up at a time
//
// A kernel appears by one rename, so a set-up killed at any point leaves either
// the old state or the new one; what it had downloaded is used by the next.
//
// Concurrency: all functions may be called from any goroutine and process.
package kernel
