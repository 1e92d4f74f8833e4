// SPDX-License-Identifier: Apache-2.0

package srcu

// pause is the processor's spin-loop hint, some tens of cycles.
func pause()
