// SPDX-License-Identifier: Apache-2.0

// Package gpc caches translations of guest frames to host pointers for those
// who write to guest memory from anywhere at any time, such as event delivery,
// while the memory behind the frames may go away at any time.
//
// A Set holds the caches of one virtual machine. Readers use a Cache inside read
// sections, each a single operation of a Reader: it finds the mapping, accesses
// the memory, and ends. Whoever changes memory brackets the change with
// InvalidateStart and InvalidateEnd. InvalidateStart withdraws the mappings of
// the range and waits until no section can still be using one. A reader that
// finds its cache stale leaves, calls Refresh, which may block, and tries again.
//
// # Contract
//
// Each point is followed by the tests that hold it.
//
//  1. Inside a section, a valid cache's pointer stays mapped and is the current
//     memory of the guest address for as long as the section uses it. A section
//     that does several things may find the cache stale between two of them, and
//     its result says how far it got.
//     TestTorture, TestMutantsAreCaught, TestAMappingAlwaysBelongsToItsOwnAddress,
//     TestEventsAreConservedWhilePagesMove, TestSignalResults
//  2. InvalidateStart returns only when no reader can use the old pointer; only
//     then may the caller unmap.
//     TestInvalidateStartReturnsOnlyWhenNoReaderCanHoldTheOldPointer,
//     TestExactlyTheOverlappingCachesBecomeStale, TestNestedTransactionsAllHaveToEnd
//     It does not wait for a thread reader that the kernel has taken off its
//     processor: that one's step is made to begin anew.
//     TestRangesAreRestartable, TestInterruptedSectionsStartAgainAndDoTheSame
//     With mayBlock false it never sleeps, and reports if it could not finish.
//     TestInvalidateStartThatMayNotBlockGivesUp,
//     TestARefusedTransactionRunsTheHooksLeftToIt
//  3. Readers never block, allocate or take a lock (of guard srcu).
//     TestZeroAlloc, TestSectionsAreEnteredAndLeftWithFullBarriers,
//     TestUpdatesOfAHammeredWordAreBounded
//     What could not be written because memory was away is replayed when it is
//     back: a failed Refresh is followed by a call of the restore hooks.
//     TestARefreshThatFailsIsFollowedByARestore, TestInvalidationsElsewhereDelayNobody
//  4. Refresh never publishes a mapping that an invalidation has overtaken.
//     TestRefreshNeverPublishesWhatAnInvalidationOvertook,
//     TestAnErrorFromTheMiddleOfAChangeIsNotBelieved,
//     TestACacheIsOnTheListBeforeItMaps, TestBlockedRefreshesShareOneResolution
//     It returns in bounded time even under a storm of them.
//     TestRefreshReturnsUnderAStormOfInvalidations,
//     TestRefreshThatInvalidatesItselfEnds,
//     TestARefreshDuringATransactionThatDoesNotEndGivesUp,
//     TestTheGateHoldsInvalidatorsBackForABoundedTime
//  5. A frame that a running vCPU itself uses is invalidated by making that vCPU
//     leave guest mode.
//     TestAGuestModeCacheMakesItsVCPULeaveBeforeTheUnmap
//  6. The guard is chosen when the Set is made; everything else is the same.
//     TestLifeCycle, TestSignalsAgreeWithAModel, TestUnknownGuardIsRefusedWithTheList
//  7. An inactive cache is never valid; a cache that moves is at one place or the
//     other; a failed activation changes nothing.
//     TestAnInactiveCacheIsNeverValid, TestAMoveReturnsOnlyWhenTheOldPlaceIsUnused,
//     TestAFailedActivationChangesNothing
//  8. No access leaves the cache's range or its aligned word, whatever the
//     numbers say.
//     FuzzAccessStaysWithinTheRange, TestBitNumbersNeverReachOutsideTheWord
//  9. Every write is followed by a MarkDirty of its page.
//     TestEventsWrittenAreMarkedDirty
//  10. A Span that crosses into another page is valid only while both pieces are,
//     and an access uses the two of one activation, never the pieces of two.
//     TestSpansAgreeWithAModel, TestASpanIsOneRangeInTwoPages,
//     TestAnInvalidationOfEitherPageMakesASpanStale, TestASpanNeverMixesTwoPlaces,
//     FuzzSpanStaysWithinItsRange
//  11. An invalidation finds the caches that it hits without looking at the
//     others, and the list of them can be changed meanwhile.
//     TestTheIndexFindsExactlyWhatOverlaps, TestAPublishedDirectoryDoesNotChange
//
// # Concurrency
//
// Everything may be called from any goroutine, except that a Reader belongs to
// one goroutine at a time, and one of NewThreadReader to one thread. Order of locks: a cache's activateMu, its refreshMu,
// then those of the Resolver; the Set's mutexes are innermost, and none is held
// over a call out. Invalidations take no lock, and wait for readers and evict
// functions only.
//
// Sections are single assembly functions (amd64), because the Go scheduler never
// preempts those. Each is made of ranges that end with their one effect, and
// that the kernel can restart if the reader is one of NewThreadReader; packages
// srcu and srcu/rseq say how and why. The race detector does not see into them, nor
// does it watch memory outside the Go heap, so the proof that sections and
// unmapping don't overlap is the torture, in which they would fault, and the
// model in package srcu.
package gpc
