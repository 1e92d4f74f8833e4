// SPDX-License-Identifier: Apache-2.0

// Package labcmd is the command line of the lab: the verbs exec, setup, list
// and stop as kong commands, for cmd/vmm and for labexec.
package labcmd
