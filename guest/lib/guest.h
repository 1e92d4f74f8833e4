// SPDX-License-Identifier: Apache-2.0
// Everything a test may use. Each header says what its mechanism does.
#pragma once
#include "types.h"
#include "layout.h"
#include "cpu.h"
#include "text.h"
#include "check.h"
#include "args.h"
#include "boot.h"
#include "smp.h"
#include "trap.h"
#include "apic.h"
#include "window.h"
#include "acpi.h"
#include "xen.h"
#include "hypercall.h"
#include "evtchn.h"
#include "sharedinfo.h"
#include "upcall.h"
#include "clock.h"
#include "xenstore.h"
#include "pvconsole.h"
#include "grant.h"

/* A test is this one function; it returns to pass if no check failed. */
void test_main(void);

/* Defined true by a test that also runs where there is no Xen. */
extern const bool test_without_xen;
extern const char test_name[];
