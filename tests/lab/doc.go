// SPDX-License-Identifier: Apache-2.0

// Package lab runs programs on a machine with /dev/kvm where there is none: it
// boots a Debian kernel inside QEMU's software emulation of an AMD processor
// with SVM, and runs programs there as root, with their standard streams,
// files and exit status brought out.
//
//	h, err := lab.Start(ctx, lab.Config{})
//	defer h.Close()
//	st, err := h.Exec(ctx, lab.Cmd{Path: "./kvm.test", Args: []string{"-test.v"}, Stdout: os.Stdout})
//
// The emulation is complete but slow: an exit from a guest takes some 70 µs,
// a boot some 4 s. Nothing measured inside says anything about speed outside.
//
// The emulator leaves nothing behind: kernel arguments, initramfs, channel and
// transfer window are anonymous memory, so there is no directory to clean, and
// it ends with the thread that started it, however that ends.
//
// Concurrency: all methods of Host may be called from any goroutine.
package lab
