// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"os"
	"path/filepath"
	"strings"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/elfdeps"
)

// toolNames are what somebody who looks around in a KVM host types.
const toolNames = `
	[ awk base64 basename bash cat chmod chrt clear cp cpuid cut date dd df diff dirname dmesg du echo env expr
	false file find free grep gzip head hexdump hostname id ifconfig insmod ip kill killall less ln ls lscpu
	lsmem lsmod lspci lsusb md5sum mkdir mkfifo mknod modinfo more mount mv nc netstat nproc numactl od perf pgrep
	pidof ping pkill printf ps pwd readlink realpath reset rm rmdir rmmod route sed seq setpci sh sha256sum sleep
	sort ss stat strace stty sync sysctl tail tar taskset tcpdump tee test time timeout top touch tput tr true
	truncate tty umount uname uniq uptime vi vmstat watch wc wget which xargs xxd yes`

// usualTools returns the paths of those tools that are here and can be
// brought along.
func usualTools(look func(string) (string, error)) []string {
	var out []string
	for _, name := range strings.Fields(toolNames) {
		p, err := look(name)
		if err != nil {
			continue
		}
		// A tool with a library missing doesn't run here either.
		if _, err := elfdeps.Closure(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// terminfo returns the description of a terminal, for programs that use
// ncurses or readline, from below root.
func terminfo(name, root string) []lab.File {
	if name == "" || strings.Contains(name, "/") {
		return nil
	}
	for _, dir := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"} {
		to := filepath.Join(dir, name[:1], name)
		from := filepath.Join(root, to)
		if st, err := os.Stat(from); err == nil && st.Mode().IsRegular() {
			return []lab.File{{From: from, To: to}}
		}
	}
	return nil
}
