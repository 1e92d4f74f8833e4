// SPDX-License-Identifier: Apache-2.0

// Package sample is a package whose test must run inside a lab host.
package sample

import "os"

// Text is the file's content.
func Text(file string) (string, error) {
	p, err := os.ReadFile(file)
	return string(p), err
}
