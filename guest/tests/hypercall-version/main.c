// SPDX-License-Identifier: Apache-2.0
// xen_version: every command, features, errors.
#include "guest.h"

static char buf[1024];

/* A command that fills n bytes with a string; terminated, and no byte beyond. */
static void string(u32 cmd, const char *name, u32 n)
{
	memset(buf, 0xa5, sizeof(buf));
	s64 rc = xen_version(cmd, buf);
	CHECK(rc == 0, "%s: %s", name, errno_name(rc));
	u32 len = 0;
	while (len < n && buf[len])
		len++;
	CHECK(len < n, "%s: no end in %u bytes", name, n);
	CHECK(n == sizeof(buf) || (u8)buf[n] == 0xa5, "%s: wrote more than %u bytes", name, n);
	printf("%s: %s\n", name, buf);
	rc = xen_version(cmd, BAD_POINTER);
	CHECK(rc == -XEN_EFAULT, "%s to a bad pointer: %s", name, errno_name(rc));
}

void test_main(void)
{
	struct xen_feature_info f = {0, 0};
	s64 rc = xen_version(XENVER_version, NULL);

	printf("version %ld.%ld\n", rc >> 16, rc & 0xffff);
	EQUAL(rc, xen_leaf(1, 0).eax);
	string(XENVER_extraversion, "extraversion", 16);
	string(XENVER_capabilities, "capabilities", 1024);
	string(XENVER_changeset, "changeset", 64);
	string(XENVER_commandline, "commandline", 1024);
	string(XENVER_compile_info, "compile_info", 64 + 80); /* 64 + 16 + 32 + 32 */
	EXPECT(xen_version(XENVER_pagesize, NULL), 4096);
	u64 start = ~0ul;
	EXPECT(xen_version(XENVER_platform_parameters, &start), 0);
	EXPECT(xen_version(XENVER_platform_parameters, BAD_POINTER), -XEN_EFAULT);
	memset(buf, 0xa5, 32);
	EXPECT(xen_version(XENVER_guest_handle, buf), 0);
	CHECK((u8)buf[16] == 0xa5, "guest_handle wrote more than 16 bytes");
	rc = xen_version(XENVER_build_id, NULL);
	CHECK(rc > 0 || rc == -XEN_ENODATA || rc == -XEN_EPERM, "build_id: %s", errno_name(rc));

	EXPECT(xen_version(XENVER_get_features, &f), 0);
	printf("features 0x%x\n", f.submap);
	/* writable page tables, translated, callback vector, safe pvclock */
	EQUAL(f.submap & 0x305, 0x305);
	EQUAL(f.submap & 8, 0); /* supervisor_mode_kernel is for PV */
	f.submap_idx = 1;
	EXPECT(xen_version(XENVER_get_features, &f), -XEN_EINVAL);
	EXPECT(xen_version(XENVER_get_features, BAD_POINTER), -XEN_EFAULT);
	EXPECT(xen_version(11, buf), -XEN_ENOSYS);
	EXPECT(xen_version(0x80000000, buf), -XEN_ENOSYS);
}
