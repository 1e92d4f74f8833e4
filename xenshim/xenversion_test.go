// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"bytes"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestXenVersionWritesEveryByte(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		compile := make([]byte, abi.XenverCompileInfoSize)
		copy(compile, compiler)
		copy(compile[abi.XenverCompileBy:], compileBy)
		text := func(s string, n int) []byte { return append([]byte(s), make([]byte, n-len(s))...) }
		for _, c := range []struct {
			name string
			cmd  uint64
			want []byte
		}{
			{"extraversion", abi.XenverExtraversion, text(extraVersion, 16)},
			{"compile_info", abi.XenverCompileInfo, compile},
			{"capabilities", abi.XenverCapabilities, text(capabilities, 1024)},
			{"changeset", abi.XenverChangeset, text(changeset, 64)},
			{"platform_parameters", abi.XenverPlatformParameters, make([]byte, m.width)},
			{"guest_handle", abi.XenverGuestHandle, m.d.cfg.UUID[:]},
			{"commandline", abi.XenverCommandLine, text("loglvl=all", 1024)},
		} {
			at := uint64(bufAt + 4000) // crosses a page
			m.write(at-1, bytes.Repeat([]byte{0xff}, 2048))
			m.want(c.name, m.call(abi.HypercallXenVersion, c.cmd, at), abi.OK)
			if got := m.read(at, len(c.want)); !bytes.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			if m.read(at-1, 1)[0] != 0xff || m.read(at+uint64(len(c.want)), 1)[0] != 0xff {
				t.Errorf("%s wrote beyond its structure", c.name)
			}
			m.want(c.name+" to nowhere", m.call(abi.HypercallXenVersion, c.cmd, unmapped), abi.EFAULT)
		}
	})
}

func TestXenVersionLongCommandLineIsCut(t *testing.T) {
	m := newMachine(t, abi.Width64, func(c *Config) { c.CommandLine = string(bytes.Repeat([]byte("x"), 3000)) })
	m.want("commandline", m.call(abi.HypercallXenVersion, abi.XenverCommandLine, bufAt), abi.OK)
	if got := m.read(bufAt, 1024); got[1022] != 'x' || got[1023] != 0 {
		t.Errorf("ends in %v", got[1020:])
	}
}

func TestXenVersionValues(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.wantN("version", m.call(abi.HypercallXenVersion, abi.XenverVersion), 0x40011)
		m.wantN("pagesize", m.call(abi.HypercallXenVersion, abi.XenverPageSize, 0), 4096)
		m.want("pagesize with an argument", m.call(abi.HypercallXenVersion, abi.XenverPageSize, argAt), abi.EINVAL)
		m.want("build_id", m.call(abi.HypercallXenVersion, abi.XenverBuildID, argAt), abi.ENODATA)
		m.want("unknown", m.call(abi.HypercallXenVersion, 11, argAt), abi.ENOSYS)
		m.want("features", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, m.arg(f32(0, 0), f32(4, ^uint64(0)))), abi.OK)
		got := m.r32(argAt + 4)
		for _, bit := range []uint{0, 2, 8, 9} {
			if got&(1<<bit) == 0 {
				t.Errorf("feature %d is missing", bit)
			}
		}
		for _, bit := range []uint{3, 10, 19} {
			if got&(1<<bit) != 0 {
				t.Errorf("feature %d is set", bit)
			}
		}
		m.want("second submap", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, m.arg(f32(0, 1))), abi.EINVAL)
	})
}
