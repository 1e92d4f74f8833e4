// SPDX-License-Identifier: Apache-2.0

package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "xenvmm"

// layer is what one package tree may import of this module. The first entry
// whose tree holds the package applies; "" below stands for the tree itself.
type layer struct {
	tree string
	may  []string
	why  string
}

// layers is the table of docs/architecture.md, most special first.
var layers = []layer{
	{"gpc/srcu", nil, "srcu is useful by itself"},
	{"gpc", []string{"gpc"}, "gpc knows nothing of KVM, so that it runs in plain tests and benches"},
	{"xenshim/abi", nil, "numbers and layouts have no behaviour"},
	{"xenshim/evtchn", []string{"gpc", "xenshim/abi"}, "one mechanism each"},
	{"xenshim/timer", []string{"gpc", "xenshim/abi", "xenshim/evtchn"}, "one mechanism each"},
	{"xenshim/gnttab", []string{"gpc", "xenshim/abi", "xenshim/evtchn"}, "one mechanism each"},
	{"xenshim/xenstore", []string{"gpc", "xenshim/abi", "xenshim/evtchn"}, "one mechanism each"},
	{"xenshim/console", []string{"gpc", "xenshim/abi", "xenshim/evtchn"}, "one mechanism each"},
	{"xenshim", []string{"gpc", "xenshim"}, "all of Xen runs without KVM"},
	{"vmm/kvm", []string{"vmm/kvm"}, "the lowest layer"},
	{"vmm/memory", []string{"vmm/kvm", "vmm/memory", "gpc/srcu"}, "checked access needs the grace periods gpc has; a second kind would be a second place to get them wrong"},
	{"vmm/eventfd", []string{"vmm/eventfd"}, "waiting on descriptors knows nothing of what they mean"},
	{"vmm/irq", []string{"vmm/irq"}, "interrupt policy is tested without KVM"},
	{"vmm/chardev", []string{"vmm/chardev"}, "a connection to the host knows nothing of the device behind it"},
	{"vmm/vfio", []string{"vmm/memory", "vmm/eventfd", "vmm/vfio"}, "passthrough needs memory and events only"},
	{"vmm/device", []string{"vmm/device", "vmm/memory"}, "devices know the bus and memory only"},
	{"vmm/vcpu", []string{"vmm/kvm", "vmm/vcpu"}, "the run loop knows exits, not what they mean"},
	{"vmm/boot", []string{"vmm/boot", "vmm/memory", "xenshim/abi"}, "loading needs memory only"},
	{"vmm/bench/report", []string{"vmm/bench"}, "what is shown comes from a bench.Report and from nothing else"},
	{"vmm/bench", []string{"gpc", "vmm", "xenshim/abi", "xenshim/evtchn"}, "benchmarks measure the cache, event channels, the event threads and the whole machine"},
	{"guest", []string{"guest"}, "guests are data"},
	{"vmm", []string{"gpc", "xenshim", "vmm", "guest"}, "assembly"},
	{"cmd", []string{"gpc", "xenshim", "vmm", "guest", "tests/lab", "cmd"}, "the command sees everything but tests"},
	{"tests/lab", []string{"tests/lab", "vmm/boot"}, "the lab is a library of its own"},
	{"tests", []string{"gpc", "xenshim", "vmm", "guest", "tests", "cmd"}, "tests see everything"},
}

func in(tree, pkg string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }

type file struct {
	path string // from the module's root
	pkg  string // directory, from the module's root
	ast  *ast.File
	text string
}

func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sources parses every Go file of the module, the tools module left out.
func sources(t testing.TB) []file {
	t.Helper()
	var files []file
	base := root(t)
	fset := token.NewFileSet()
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(base, p)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || rel == "tools" || rel == "shared") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		a, err := parser.ParseFile(fset, p, b, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file{path: filepath.ToSlash(rel), pkg: path.Dir(filepath.ToSlash(rel)), ast: a, text: string(b)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d Go files found below %s: the walk is broken", len(files), base)
	}
	return files
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f file) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range sources(t) {
		if f.isTest() {
			continue // a test may build what it needs around the package
		}
		i := slices.IndexFunc(layers, func(l layer) bool { return in(l.tree, f.pkg) })
		if i < 0 {
			t.Errorf("%s: package %s has no line in the table of layers", f.path, f.pkg)
			continue
		}
		l := layers[i]
		for _, imp := range f.imports() {
			sub, ours := strings.CutPrefix(imp, module+"/")
			if !ours || in(l.tree, sub) {
				continue
			}
			if !slices.ContainsFunc(l.may, func(m string) bool { return in(m, sub) }) {
				t.Errorf("%s imports %s; %s may import %v: %s", f.path, sub, l.tree, l.may, l.why)
			}
		}
	}
}

func TestUnsafeOnlyInFilesThatSaySo(t *testing.T) {
	for _, f := range sources(t) {
		if !slices.Contains(f.imports(), "unsafe") {
			continue
		}
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		name = strings.TrimSuffix(name, "_amd64")
		if !strings.HasSuffix(name, "_unsafe") {
			t.Errorf("%s imports unsafe: a reviewer looks for it in *_unsafe.go only", f.path)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	docs := map[string]string{}
	for _, f := range sources(t) {
		if f.isTest() {
			continue
		}
		if _, ok := docs[f.pkg]; !ok {
			docs[f.pkg] = ""
		}
		if f.ast.Doc != nil {
			docs[f.pkg] += f.ast.Doc.Text()
		}
	}
	for pkg, doc := range docs {
		if len(strings.Fields(doc)) < 10 {
			t.Errorf("%s: the package comment is missing or says too little: %q", pkg, doc)
		}
	}
}

func TestNoInitAndNoGlobalState(t *testing.T) {
	for _, f := range sources(t) {
		if f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function: side effects of an import surprise the importer", f.path)
			}
		}
	}
}

func TestEveryFileCarriesTheLicence(t *testing.T) {
	const line = "SPDX-License-Identifier: Apache-2.0"
	for _, f := range sources(t) {
		if !strings.Contains(f.text, line) {
			t.Errorf("%s lacks %q", f.path, line)
		}
	}
}

func TestFilesStayReadable(t *testing.T) {
	var sizes []int
	for _, f := range sources(t) {
		n := strings.Count(f.text, "\n")
		if f.isTest() {
			continue
		}
		sizes = append(sizes, n)
		if n > 450 {
			t.Errorf("%s has %d lines: one mechanism per file", f.path, n)
		}
	}
	slices.Sort(sizes)
	if m := sizes[len(sizes)/2]; m > 150 {
		t.Errorf("the median file has %d lines, want about 100", m)
	}
}

// TestGokvmIsTheOneWeKnow: the module proxy serves one usable commit of gokvm;
// the tagged release before it lacks most of the package, and later commits
// change Ioctl to retry EINTR, which would make kvm.Run swallow every kick.
func TestGokvmIsTheOneWeKnow(t *testing.T) {
	const want = "github.com/bobuhiro11/gokvm v0.0.8-0.20231003020000-f53faca69d28"
	b, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), want) {
		t.Errorf("go.mod does not require %q", want)
	}
}

func TestOnlyTheKVMPackageOfGokvmIsUsed(t *testing.T) {
	for _, f := range sources(t) {
		for _, imp := range f.imports() {
			if strings.HasPrefix(imp, "github.com/bobuhiro11/gokvm/") && imp != "github.com/bobuhiro11/gokvm/kvm" {
				t.Errorf("%s imports %s: its other packages panic on what a guest sends", f.path, imp)
			}
			if imp == "github.com/bobuhiro11/gokvm/kvm" && !in("vmm/kvm", f.pkg) {
				t.Errorf("%s imports gokvm directly: vmm/kvm is the one place that knows its faults", f.path)
			}
		}
	}
}
