// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// candidate is a package apt can download.
type candidate struct {
	name, version, sha256 string
}

// newestPackage asks apt for the newest package whose name matches.
func newestPackage(ctx context.Context, spec Spec) (candidate, error) {
	if _, err := exec.LookPath("apt-cache"); err != nil {
		return candidate{}, fmt.Errorf("lab host %s: this machine has no apt: download a Debian package whose name matches %s elsewhere, and use `vmm lab setup %[1]s --deb FILE`",
			spec.Name, spec.Package)
	}
	out, err := run(ctx, "", "apt-cache", "pkgnames", "linux-image-")
	if err != nil {
		return candidate{}, err
	}
	var names []string
	for _, n := range strings.Fields(out) {
		if spec.Package.MatchString(n) {
			names = append(names, n)
		}
	}
	sort.Slice(names, func(i, j int) bool { return versionLess(names[j], names[i]) })
	for _, n := range names {
		out, err := run(ctx, "", "apt-cache", "show", "--no-all-versions", n)
		if err != nil {
			continue // known by name only: no archive offers it any more
		}
		c := candidate{name: n, version: field(out, "Version"), sha256: field(out, "SHA256")}
		if c.version != "" && c.sha256 != "" {
			return c, nil
		}
	}
	return candidate{}, fmt.Errorf("lab host %s: apt knows no package %s: run `apt-get update` as root; offline, or on another distribution, use `vmm lab setup %[1]s --deb FILE`",
		spec.Name, spec.Package)
}

// download fetches the package into dir and returns the file's path. apt goes
// on where an earlier download was cut off.
func (c candidate) download(ctx context.Context, dir string) (string, error) {
	var err error
	// What is there may be damaged, and then the whole is: once more, from the
	// beginning.
	for range 2 {
		resumed := len(c.files(dir)) > 0
		if _, err = run(ctx, dir, "apt-get", "download", "-q", c.name+"="+c.version); err == nil {
			if file := c.find(dir); file != "" {
				return file, nil
			}
			err = fmt.Errorf("apt-get download %s: no file with SHA-256 %s came", c.name, c.sha256)
		}
		if !resumed || ctx.Err() != nil {
			break
		}
		for _, f := range c.files(dir) {
			_ = os.Remove(f)
		}
	}
	return "", err
}

// files are the package's files in dir, complete or not.
func (c candidate) files(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, c.name+"_*.deb"))
	return files
}

// find returns the package's file in dir if it's there, complete.
func (c candidate) find(dir string) string {
	for _, f := range c.files(dir) {
		if d, err := describe("", f); err == nil && d.SHA256 == c.sha256 {
			return f
		}
	}
	return ""
}

// install installs a Debian package, if this process may.
func install(ctx context.Context, pkg, need string) error {
	_, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("%s is missing: install the package %s (Debian: apt-get install %s)", need, pkg, pkg)
	}
	// Once begun it is brought to its end, whatever becomes of us: an
	// installation cut off in the middle would have to be repaired by hand.
	_, err = execute(exec.CommandContext(context.WithoutCancel(ctx), "apt-get", "install", "-q", "-y", "--no-install-recommends", pkg))
	if err != nil {
		return fmt.Errorf("%s is missing, and installing it failed (offline? then install the package %s by other means): %w", need, pkg, err)
	}
	return nil
}

// update refreshes apt's lists, if this process may.
func update(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("only root can run apt-get update")
	}
	_, err := run(ctx, "", "apt-get", "update", "-q")
	return err
}

var address = regexp.MustCompile(`[a-z]+://[^\s']+`)

// run returns a command's standard output. Its messages come back in the
// error, with the archive's address taken out: it may hold credentials.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// It ends with us; the signal comes when the thread ends that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return execute(cmd)
}

func execute(cmd *exec.Cmd) (string, error) {
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(address.ReplaceAllString(msg.String(), "<archive>"))
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, text)
	}
	return out.String(), nil
}

// field returns a field of a deb822 paragraph.
func field(paragraph, key string) string {
	for line := range strings.Lines(paragraph) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

var numbers = regexp.MustCompile(`[0-9]+`)

// versionLess compares the numbers in two package names, left to right.
func versionLess(a, b string) bool {
	x, y := numbers.FindAllString(a, -1), numbers.FindAllString(b, -1)
	for i := range min(len(x), len(y)) {
		p, _ := strconv.ParseUint(x[i], 10, 64)
		q, _ := strconv.ParseUint(y[i], 10, 64)
		if p != q {
			return p < q
		}
	}
	return len(x) < len(y)
}
