// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"fmt"
	"sync"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/console"
	"xenvmm/xenshim/evtchn"
	"xenvmm/xenshim/xenstore"
)

// hostLink is a backend's event channel to the guest. The port behind it is
// replaced at a soft reset; the backend keeps the link.
type hostLink struct {
	mu     sync.Mutex
	reader *gpc.Reader
	port   *evtchn.HostPort
}

// notify sends an event to the guest. It is called from the backend's
// goroutine.
func (l *hostLink) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.port != nil {
		l.port.Notify(l.reader)
	}
}

// connect gives the link a new port and returns the guest's number of it.
func (l *hostLink) connect(d *Domain, kick func()) (uint32, error) {
	p, err := d.events.BindHost(kick)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader == nil {
		l.reader = d.cfg.Caches.NewReader()
	}
	l.port = p
	return p.Port(), nil
}

// disconnect ends the present port.
func (l *hostLink) disconnect() {
	l.mu.Lock()
	p := l.port
	l.port = nil
	l.mu.Unlock()
	if p != nil {
		p.Close()
	}
}

// close ends the link.
func (l *hostLink) close() {
	l.disconnect()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader != nil {
		l.reader.Close()
		l.reader = nil
	}
}

// ringPage shows a page of ours to a ring backend.
type ringPage struct{ p *cachedPages }

func (r ringPage) ReadAt(p []byte, off uint32) error  { return r.p.ReadAt(p, 0, off) }
func (r ringPage) WriteAt(p []byte, off uint32) error { return r.p.WriteAt(p, 0, off) }
func (r ringPage) Load32(off uint32) (uint32, error)  { return r.p.Load32(0, off) }
func (r ringPage) Store32(off uint32, v uint32) error { return r.p.Store32(0, off, v) }

// storeBackend is the xenstore with its ring.
type storeBackend struct {
	pages *cachedPages
	store *xenstore.Store
	link  hostLink

	mu   sync.Mutex
	ring *xenstore.Ring
}

// kick passes the guest's event on to the ring there is now.
func (s *storeBackend) kick() {
	s.mu.Lock()
	r := s.ring
	s.mu.Unlock()
	if r != nil {
		r.Kick()
	}
}

// setRing replaces the ring and closes the old one.
func (s *storeBackend) setRing(r *xenstore.Ring) {
	s.mu.Lock()
	old := s.ring
	s.ring = r
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// consoleBackend is the PV console. Its ring outlives a soft reset: the next
// kernel goes on at the indices it finds in the page.
type consoleBackend struct {
	pages   *cachedPages
	link    hostLink
	console *console.Console
}

func (c *consoleBackend) kick() {
	if c.console != nil {
		c.console.Kick()
	}
}

// startBackends makes the store and console with their pages, ports and
// parameters.
func (d *Domain) startBackends() (err error) {
	if d.store.pages, err = d.newCachedPages("xenstore", 1, d.store.kick); err != nil {
		return fmt.Errorf("domain xenstore page: %w", err)
	}
	if d.console.pages, err = d.newCachedPages("console", 1, d.console.kick); err != nil {
		return fmt.Errorf("domain console page: %w", err)
	}
	d.store.store = xenstore.NewStore(xenstore.Config{Domain: d.cfg.DomID, Log: d.cfg.Log})
	d.console.console = console.New(ringPage{d.console.pages}, d.cfg.ConsoleOut, d.console.link.notify, d.cfg.Log)
	if err := d.connectBackends(); err != nil {
		return err
	}
	if d.cfg.ConsoleIn != nil {
		if err := d.console.console.Attach(d.cfg.ConsoleIn); err != nil {
			return fmt.Errorf("domain console input: %w", err)
		}
	}
	return nil
}

// connectBackends puts the ring pages in their places and makes ports,
// parameters and store contents as for a domain that starts.
func (d *Domain) connectBackends() error {
	if err := d.placeRings(); err != nil {
		return err
	}
	storePort, err := d.store.link.connect(d, d.store.kick)
	if err != nil {
		return fmt.Errorf("domain xenstore port: %w", err)
	}
	consolePort, err := d.console.link.connect(d, d.console.kick)
	if err != nil {
		return fmt.Errorf("domain console port: %w", err)
	}
	if err := xenstore.Populate(d.store.store, xenstore.Layout{
		Name: d.cfg.Name, UUID: uuidText(d.cfg.UUID), VCPUs: d.cfg.VCPUs,
		StorePort: storePort, ConsolePort: consolePort,
		StoreGFN: d.cfg.StoreGFN, ConsoleGFN: d.cfg.ConsoleGFN,
	}); err != nil {
		return fmt.Errorf("domain xenstore contents: %w", err)
	}
	d.store.setRing(xenstore.NewRing(d.store.store, ringPage{d.store.pages}, d.store.link.notify))
	d.params.set(abi.HVMParamStorePFN, d.cfg.StoreGFN)
	d.params.set(abi.HVMParamStoreEvtchn, uint64(storePort))
	d.params.set(abi.HVMParamConsolePFN, d.cfg.ConsoleGFN)
	d.params.set(abi.HVMParamConsoleEvtchn, uint64(consolePort))
	return nil
}

// placeRings maps the two ring pages.
func (d *Domain) placeRings() error {
	d.phys.mu.Lock()
	defer d.phys.mu.Unlock()
	if e := d.phys.place(overlay{pages: d.store.pages}, d.cfg.StoreGFN); e != abi.OK {
		return fmt.Errorf("domain xenstore page at frame %#x: %w", d.cfg.StoreGFN, e)
	}
	if e := d.phys.place(overlay{pages: d.console.pages}, d.cfg.ConsoleGFN); e != abi.OK {
		return fmt.Errorf("domain console page at frame %#x: %w", d.cfg.ConsoleGFN, e)
	}
	return nil
}

// stopBackends ends both; it may be called with any part of them missing.
func (d *Domain) stopBackends() {
	d.store.setRing(nil)
	if d.console.console != nil {
		d.console.console.Close()
	}
	d.store.link.close()
	d.console.link.close()
}

// uuidText is the usual form of a UUID.
func uuidText(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
