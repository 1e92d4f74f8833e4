// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

DATA entries<>+0(SB)/8, $·deliver(SB)
DATA entries<>+8(SB)/8, $·unmask(SB)
DATA entries<>+16(SB)/8, $·resume(SB)
DATA entries<>+24(SB)/8, $·raise(SB)
DATA entries<>+32(SB)/8, $·load32(SB)
DATA entries<>+40(SB)/8, $·xchg32(SB)
DATA entries<>+48(SB)/8, $·xchg8(SB)
DATA entries<>+56(SB)/8, $·or32(SB)
DATA entries<>+64(SB)/8, $·and32(SB)
DATA entries<>+72(SB)/8, $·cas32(SB)
DATA entries<>+80(SB)/8, $·copyOut(SB)
DATA entries<>+88(SB)/8, $·copyIn(SB)
GLOBL entries<>(SB), NOPTR, $96

// func sectionEntry(i int) uintptr
TEXT ·sectionEntry(SB), NOSPLIT, $0-16
	MOVQ i+0(FP), AX
	LEAQ entries<>(SB), CX
	MOVQ (CX)(AX*8), AX
	MOVQ AX, ret+8(FP)
	RET
