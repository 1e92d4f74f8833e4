// SPDX-License-Identifier: Apache-2.0

package wire

// Version must be equal on both sides: they're built from the same source.
const Version = 2

// PortName is the virtio-serial port's name, by which the init finds it.
const PortName = "xenvmm.lab"

// ConfigPath is where the init finds its Boot description in the initramfs.
const ConfigPath = "/lab/boot.json"

// Boot is what the initramfs tells the init.
type Boot struct {
	// Modules are paths of kernel modules, in the order of loading.
	Modules []string `json:"modules"`
	// CacheBytes bounds the memory spent on files kept for later programs.
	CacheBytes int64 `json:"cacheBytes"`
	// WithoutKVM makes a missing /dev/kvm no error.
	WithoutKVM bool `json:"withoutKVM,omitempty"`
	// SpareCPUs, the first ones, are kept free of programs.
	SpareCPUs int `json:"spareCPUs,omitempty"`
	// NICs are the network interfaces to set up, in the order of the devices.
	NICs []NIC `json:"nics,omitempty"`
}

// NIC is one network interface.
type NIC struct {
	PCI string `json:"pci"` // 0000:00:10.0
	// VFIO leaves the device to vfio-pci instead of a network driver.
	VFIO bool `json:"vfio,omitempty"`
	// Address is the interface's, with the length of its prefix (10.0.2.15/24);
	// empty: the interface comes up without one. Gateway and DNS may be empty.
	Address string `json:"address,omitempty"`
	Gateway string `json:"gateway,omitempty"`
	DNS     string `json:"dns,omitempty"`
}

// Hello is the init's first message.
type Hello struct {
	Version int    `json:"version"`
	Kernel  string `json:"kernel"` // uname -r
	CPUs    int    `json:"cpus"`   // for programs
	Window  int64  `json:"window"` // bytes of the shared transfer window
	Error   string `json:"error,omitempty"`
}

// File is one file a program needs.
type File struct {
	Path   string `json:"path"` // absolute, inside the program's root
	Mode   uint32 `json:"mode"` // permission bits
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`         // hexadecimal
	Link   string `json:"link,omitempty"` // a symbolic link's target instead of content
}

// Call is a request; exactly one field is set.
type Call struct {
	Prepare  *Prepare  `json:"prepare,omitempty"`
	Chunk    *Chunk    `json:"chunk,omitempty"`
	Exec     *Exec     `json:"exec,omitempty"`
	List     *List     `json:"list,omitempty"`
	Fetch    *Fetch    `json:"fetch,omitempty"`
	Release  *Release  `json:"release,omitempty"`
	PowerOff *PowerOff `json:"powerOff,omitempty"`
}

// Prepare makes a root directory for program Root out of Files and Dirs. When
// some files' content isn't there, Reply.Missing lists their indexes and
// nothing else is done: send them by Chunk and repeat.
type Prepare struct {
	Root  uint32   `json:"root"`
	Files []File   `json:"files"`
	Dirs  []string `json:"dirs"`
}

// Chunk says that Len bytes at offset Off of a file lie in the transfer
// window at Window. Chunks of a file come in order.
type Chunk struct {
	File   File  `json:"file"`
	Off    int64 `json:"off"`
	Len    int64 `json:"len"`
	Window int64 `json:"window"`
}

// Exec starts a program in root Root. Its streams and its exit use Root as id.
type Exec struct {
	Root uint32   `json:"root"`
	Path string   `json:"path"`
	Args []string `json:"args"` // with argv[0]
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Terminal gives the program a terminal instead of three pipes: all it
	// writes comes as KindStdout, and the end of its input means nothing.
	Terminal *Terminal `json:"terminal,omitempty"`
}

// Terminal is a terminal's size.
type Terminal struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// List asks for the files at and below Path.
type List struct {
	Root uint32 `json:"root"`
	Path string `json:"path"`
}

// Entry is one file of a List reply. Path is relative to the listed path, "."
// for itself.
type Entry struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	Size int64  `json:"size"`
	Dir  bool   `json:"dir,omitempty"`
}

// Fetch copies up to Len bytes of a file into the transfer window.
type Fetch struct {
	Root   uint32 `json:"root"`
	Path   string `json:"path"`
	Off    int64  `json:"off"`
	Len    int64  `json:"len"`
	Window int64  `json:"window"`
}

// Release kills what is left of a program and removes its root.
type Release struct {
	Root uint32 `json:"root"`
}

// PowerOff ends the machine.
type PowerOff struct{}

// Reply answers a Call.
type Reply struct {
	Err     string  `json:"err,omitempty"`
	Errno   int     `json:"errno,omitempty"` // of the failure, where there is one
	Missing []int   `json:"missing,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	N       int64   `json:"n,omitempty"`
}

// Exit is how a program ended: Signal is nonzero when one killed it.
type Exit struct {
	Code   int  `json:"code"`
	Signal int  `json:"signal,omitempty"`
	Core   bool `json:"core,omitempty"`
	// Nanoseconds of the machine's clock, CPU time of the program alone.
	Wall int64 `json:"wall"`
	User int64 `json:"user"`
	Sys  int64 `json:"sys"`
}
