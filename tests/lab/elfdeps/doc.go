// SPDX-License-Identifier: Apache-2.0

// Package elfdeps finds what a dynamically linked program needs to start on
// another root: its ELF interpreter and all shared libraries, direct and
// indirect. It reads files only and is safe for concurrent use.
package elfdeps
