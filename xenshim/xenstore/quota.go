// SPDX-License-Identifier: Apache-2.0

package xenstore

// Quotas bound what an unprivileged domain can make the Store keep. A field
// that is zero takes the default, which is what the common server uses.
type Quotas struct {
	Nodes            int // nodes owned by the domain; 1000. More: ENOSPC
	NodeSize         int // bytes of one value; 2048. More: ENOSPC
	Perms            int // entries of one node's permissions; 5. More: ENOSPC
	Watches          int // watches of one connection; 128. More: E2BIG
	Transactions     int // open transactions of one connection; 10. More: ENOSPC
	TransactionNodes int // paths one transaction touches; 1024. More: ENOSPC
	TransactionBytes int // bytes one transaction keeps; 1 MiB. More: ENOSPC
	Outstanding      int // replies not yet taken; 20. Then no request is read
	Events           int // watch events not yet taken; 1024. Then they coarsen
}

func (q Quotas) withDefaults() Quotas {
	for _, f := range []struct {
		v *int
		d int
	}{
		{&q.Nodes, 1000}, {&q.NodeSize, 2048}, {&q.Perms, 5}, {&q.Watches, 128}, {&q.Transactions, 10},
		{&q.TransactionNodes, 1024}, {&q.TransactionBytes, 1 << 20}, {&q.Outstanding, 20}, {&q.Events, 1024},
	} {
		if *f.v <= 0 {
			*f.v = f.d
		}
	}
	return q
}
