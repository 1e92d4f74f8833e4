// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"errors"
	"fmt"
	"log/slog"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// Upcaller makes a vCPU notice that evtchn_upcall_pending has gone from 0 to 1:
// it interrupts it, and wakes it if it blocks or polls. Upcall is called from
// any thread and must neither block nor allocate. A call may be needless.
type Upcaller interface {
	Upcall(vcpu int)
}

// Waker wakes a vCPU from SCHEDOP_poll. WakePoller is called from any thread and
// must neither block nor allocate. The vCPU may have stopped polling.
type Waker interface {
	WakePoller(vcpu int)
}

// maxVCPUs bounds Config.VCPUs.
const maxVCPUs = 4096

// Config of a Table. VCPUs, Domain, Caches, Upcall and Wake are needed.
type Config struct {
	VCPUs  int       // number of vCPUs, online or not
	Domain abi.DomID // the guest's own id
	PIRQs  int       // number of pirqs the guest may bind; 0 unless XENFEAT_hvm_pirqs is offered
	Caches *gpc.Set
	Upcall Upcaller
	Wake   Waker
	Log    *slog.Logger // nil discards
}

func (c *Config) check() error {
	var errs []error
	if c.VCPUs < 1 || c.VCPUs > maxVCPUs {
		errs = append(errs, fmt.Errorf("%d vCPUs: use 1 to %d", c.VCPUs, maxVCPUs))
	}
	if c.Domain == abi.DomIDBackend || c.Domain >= abi.DomIDSelf {
		errs = append(errs, fmt.Errorf("domain id %#x is reserved: use 1 to %#x", c.Domain, abi.DomIDSelf-1))
	}
	if c.PIRQs < 0 || c.PIRQs > maxPorts {
		errs = append(errs, fmt.Errorf("%d pirqs: use 0 to %d", c.PIRQs, maxPorts))
	}
	if c.Caches == nil || c.Upcall == nil || c.Wake == nil {
		errs = append(errs, errors.New("config needs Caches, Upcall and Wake"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("evtchn: config: %w", err)
	}
	return nil
}
