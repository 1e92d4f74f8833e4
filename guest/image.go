// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"embed"
	"slices"
	"strings"
)

//go:embed bin/*.elf
var images embed.FS

// Names lists the guests that are embedded, sorted.
func Names() []string {
	entries, err := images.ReadDir("bin")
	if err != nil {
		return nil // the directory is part of the program
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".elf"))
	}
	slices.Sort(names)
	return names
}

// Image returns a copy of the PVH ELF image of the named guest.
func Image(name string) ([]byte, bool) {
	b, err := images.ReadFile("bin/" + name + ".elf")
	return b, err == nil
}
