// SPDX-License-Identifier: Apache-2.0
// What holds unless a test says otherwise; in a file of its own so that the
// compiler does not take the value here for final.
#include "guest.h"

__attribute__((weak)) const bool test_without_xen = false;
