/* What kernel and worker share: one segment per worker and one region per process.
 *
 *   segment memfd (kernel and this worker: read and write)
 *   +--------------------------------------------------------------+ 0
 *   | identity: magic, index, sizes, version (stored last)         |
 *   | task ring ends:   tail (kernel) | head (worker) | sleeping   |
 *   | result ring ends: tail (worker) | head (kernel) | sleeping   |
 *   | claim (worker):   ticket, attempt, element, since, heard     |
 *   | orders (kernel):  kernel_sleeping, retire, interrupt, hot   |
 *   | frees ring: offsets of this worker's blocks without readers  |
 *   +--------------------------------------------------------------+ SEGMENT_HEADER_BYTES
 *   | task ring data: ring_bytes                                   |
 *   +--------------------------------------------------------------+
 *   | result ring data: ring_bytes                                 |
 *   +--------------------------------------------------------------+
 *
 *   region (its owner: read and write; all others: read-only descriptors and mappings)
 *   +--------------------------------------------------------------+ 0
 *   | memfd: blocks, 64-byte aligned, each behind a 64-byte header |
 *   +--------------------------------------------------------------+ arena_bytes
 *   | the same in an unnamed file, made when the memory is full    |
 *   +--------------------------------------------------------------+ arena_bytes + file_bytes
 *
 * Offsets only, never pointers.  Producer and consumer fields lie on cache lines of their own.
 */
#ifndef CSCHED_LAYOUT_H
#define CSCHED_LAYOUT_H

#include "atomic.h"
#include "fault.h"

#define LINE 64
#define PAGE 4096u
#define SEGMENT_MAGIC 0x6c6c694du /* "Mill" */
#define SEGMENT_VERSION 1u
#define FREES_CAPACITY 4096u
#define ENTRY_ALIGN 16u
#define INLINE_MAX 8192u /* larger payloads go to an arena */
#define NO_BLOCK UINT64_MAX
#define NO_ELEMENT UINT32_MAX /* of a chunk: it is being unpacked, or its results packed */
#define ALL_NONE (UINT64_MAX - 1)
#define REGION_INLINE UINT32_MAX /* the payload follows its entry */
#define REGION_NONE (UINT32_MAX - 1) /* there is no payload: the value None */
#define REGION_KERNEL 0u

typedef struct {
    _Alignas(LINE) shared_u64 tail; /* bytes ever written; the producer's */
    _Alignas(LINE) shared_u64 head; /* bytes ever released; the consumer's */
    _Alignas(LINE) shared_u32 sleeping; /* the consumer sleeps on it (task ring) */
    shared_u32 producer_waits;          /* the producer sleeps on it until there is room (result ring) */
} ring_ends_t;

typedef struct {
    uint32_t magic, index;
    uint64_t ring_bytes, arena_bytes, file_bytes;
    shared_u32 version; /* stored last by the kernel, read first by the worker */

    ring_ends_t tasks, results;

    _Alignas(LINE) shared_u64 claim_ticket; /* 0: none */
    shared_u64 claim_since;
    shared_u32 claim_slot, claim_element, claim_attempt;
    shared_u32 ready;
    shared_u64 heard_ticket; /* the task in which the interrupt was raised, and the element that ran in it */
    shared_u64 element_since;
    shared_u32 heard_element, heard_attempt;

    _Alignas(LINE) shared_u32 kernel_sleeping; /* ring the doorbell after the next result that matters */
    shared_u32 retire;
    shared_u64 wanted; /* the task whose result is waited for, or WANT_ */
    shared_u64 interrupt_ticket; /* the task that a signal is meant for, */
    shared_u32 interrupt_attempt, interrupt_element; /* and which of it; NO_ELEMENT: whatever element runs */
    shared_u64 hot; /* bytes without use that it may keep from the system */
    shared_u64 output_read; /* the task whose native output the kernel reads itself */
    shared_u32 output_turn; /* who may read native output now, and write frames: TURN_ */
    shared_u32 profile; /* what samples of its stack are wanted; 0: none */

    _Alignas(LINE) shared_u64 frees_tail; /* kernel */
    _Alignas(LINE) shared_u64 frees_head; /* worker */
    _Alignas(LINE) uint64_t frees[FREES_CAPACITY];
#ifdef CSCHED_FAULTS
    _Alignas(LINE) fault_t fault; /* kernel, in a build for tests */
#endif
} segment_t;

#define SEGMENT_HEADER_BYTES ((sizeof(segment_t) + 4095u) & ~(uint64_t)4095u)

typedef struct { /* where a payload is */
    uint64_t offset, size; /* from the region's start; inline: from the entry's start */
    uint32_t region;
    union {
        uint32_t status;   /* an input: of the task it is the result of */
        uint32_t stays_kb; /* a lane's result: KiB that other places have to fetch from it */
    };
} ref_t;

enum { ENTRY_PAD = 0, ENTRY_TASK = 1, ENTRY_FUNCTION = 2, ENTRY_CONTROL = 3, ENTRY_RESULT = 4, ENTRY_MESSAGE = 5 };

#define WANT_ANY UINT64_C(0)
#define WANT_NONE UINT64_MAX
#define ENTRY_URGENT 0x80000000u /* in a task's `attempt`: others depend on it */
#define ENTRY_ALONE 0x40000000u /* the same: it has a lane for itself */
#define ENTRY_FLAGS (ENTRY_URGENT | ENTRY_ALONE)

enum { TURN_FREE = 0, TURN_WORKER = 1, TURN_KERNEL = 2 };

enum { CLAIM_QUEUED = 0, CLAIM_TAKEN = 1, CLAIM_REVOKED = 2 };

typedef struct { /* the first 16 bytes of every ring entry */
    uint32_t bytes; /* whole entry, a multiple of ENTRY_ALIGN */
    uint32_t kind;
    shared_u32 claim; /* queued -> taken by the worker, or -> revoked by the kernel; both by compare and swap */
    uint32_t slot;
} entry_t;

typedef struct {
    entry_t head;
    uint64_t ticket;
    uint32_t function, count;
    ref_t payload;
    uint64_t bundle; /* NO_BLOCK: the inputs' refs follow; ALL_NONE: there are no refs, every input is None; else they
                      * lie in the kernel's arena with the inline ones */
    uint32_t inputs;
    uint32_t attempt;
    uint64_t dispatched; /* when it was sent */
} task_entry_t; /* then ref_t[inputs] as bundle says, then inline payloads */

typedef struct {
    entry_t head;
    uint64_t ticket;
    uint32_t status, detail;
    ref_t payload;
    uint32_t count;  /* messages: their kind */
    uint32_t stamps; /* pairs (start, finish) of elements before the inline payload */
    uint64_t received, started, finished, returned; /* 16-byte aligned: copied by fours, out of a copy just made */
} result_entry_t;

_Static_assert(sizeof(ref_t) == 24, "ref_t is shared");
_Static_assert(sizeof(entry_t) == 16, "entry_t is shared");
_Static_assert(sizeof(task_entry_t) == 80, "task_entry_t is shared");
_Static_assert(sizeof(result_entry_t) == 96, "result_entry_t is shared");
_Static_assert(sizeof(ring_ends_t) == 3 * LINE, "ring_ends_t is shared");

#endif
