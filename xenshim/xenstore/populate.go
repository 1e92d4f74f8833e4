// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"strconv"
)

// Layout is what a guest is told about itself when it starts.
type Layout struct {
	Name        string
	UUID        string // textual form; names the /vm directory
	VCPUs       int
	StorePort   uint32 // event channel ports of the guest
	ConsolePort uint32
	StoreGFN    uint64 // frames of the rings
	ConsoleGFN  uint64
}

// Populate writes the directories that a toolstack makes for a new guest
// (docs/misc/xenstore-paths), as one transaction. What the guest must be able
// to change it owns; the rest it may read. memory/target is left out on
// purpose: writing it makes balloon drivers start.
func Populate(s *Store, l Layout) error {
	home, vm := DomainPath(s.domain), "/vm/"+l.UUID
	toRead := []Perm{{Dom: 0}, {Dom: s.domain, Access: Read}}
	toOwn := []Perm{{Dom: s.domain}}
	u := func(v uint64) string { return strconv.FormatUint(v, 10) }

	type entry struct {
		path, value string
		perms       []Perm
	}
	entries := []entry{
		{vm, "", toRead},
		{vm + "/name", l.Name, toRead},
		{vm + "/uuid", l.UUID, toRead},
		{home, "", toRead},
		{home + "/vm", vm, toRead},
		{home + "/name", l.Name, toRead},
		{home + "/domid", u(uint64(s.domain)), toRead},
		{home + "/device", "", toRead},
		{home + "/backend", "", toRead},
		{home + "/memory", "", toRead},
		{home + "/control", "", toRead},
		{home + "/control/shutdown", "", toOwn},
		{home + "/control/sysrq", "", toOwn},
		{home + "/control/feature-poweroff", "", toOwn},
		{home + "/control/feature-reboot", "", toOwn},
		{home + "/control/feature-suspend", "", toOwn},
		{home + "/control/feature-s3", "", toOwn},
		{home + "/control/feature-s4", "", toOwn},
		{home + "/control/platform-feature-multiprocessor-suspend", "1", toRead},
		{home + "/control/platform-feature-xs_reset_watches", "1", toRead},
		{home + "/data", "", toOwn},
		{home + "/drivers", "", toOwn},
		{home + "/feature", "", toOwn},
		{home + "/attr", "", toOwn},
		{home + "/error", "", toOwn},
		{home + "/cpu", "", toRead},
		{home + "/store", "", toRead},
		{home + "/store/port", u(uint64(l.StorePort)), toRead},
		{home + "/store/ring-ref", u(l.StoreGFN), toRead},
		{home + "/console", "", toRead},
		{home + "/console/backend-id", "0", toRead},
		{home + "/console/type", "xenconsoled", toRead},
		{home + "/console/output", "pty", toRead},
		{home + "/console/limit", "1048576", toRead},
		{home + "/console/port", u(uint64(l.ConsolePort)), toRead},
		{home + "/console/ring-ref", u(l.ConsoleGFN), toRead},
	}
	for i := range l.VCPUs {
		cpu := home + "/cpu/" + strconv.Itoa(i)
		entries = append(entries, entry{cpu, "", toRead}, entry{cpu + "/availability", "online", toRead})
	}
	if l.UUID == "" {
		return fmt.Errorf("xenstore: populate domain %d: no UUID to name its /vm directory", s.domain)
	}
	return s.Update(func(t *Tx) error {
		for _, e := range entries {
			if err := t.Write(e.path, e.value); err != nil {
				return fmt.Errorf("populate domain %d: %w", s.domain, err)
			}
			if err := t.SetPerms(e.path, e.perms...); err != nil {
				return fmt.Errorf("populate domain %d: %w", s.domain, err)
			}
		}
		return nil
	})
}
