/* Named points of a task's path through a worker, at which a build for tests dies or stops, to see what it leaves
 * behind.  In the normal build they are nothing.
 *
 * Words in the worker's segment say which point it is, at which of its visits, and by which signal; the kernel writes
 * them (csched_fault_arm), or the worker itself when it attaches, from CSCHED_FAULT=point:visit:kill or :stop.
 */
#ifndef CSCHED_FAULT_H
#define CSCHED_FAULT_H

#ifdef CSCHED_FAULTS

#include "atomic.h"

/* What a worker killed there takes along: nothing, the task in hand, or that depends on what led there. */
enum { LOSES_NOTHING = 0, LOSES_TASK = 1, MAY_LOSE_TASK = 2 };

#define FAULT_POINTS(POINT)                                                                                            \
    POINT(attached, LOSES_NOTHING)         /* its memory is mapped, unknown to all */                                  \
    POINT(said_ready, LOSES_NOTHING)       /* the doorbell is not rung */                                              \
    POINT(region_heard, MAY_LOSE_TASK)     /* by the thread beside the tasks: a descriptor received, */                \
    POINT(region_mapped, MAY_LOSE_TASK)    /* its memory mapped, */                                                    \
    POINT(file_mapped, MAY_LOSE_TASK)      /* and the file behind it */                                                \
    POINT(entry_seen, LOSES_NOTHING)       /* in the task ring, not claimed */                                         \
    POINT(entry_skipped, LOSES_NOTHING)    /* the kernel took it back first */                                         \
    POINT(function_taken, LOSES_NOTHING)   /* or a control entry */                                                    \
    POINT(claimed, LOSES_TASK)             /* the claim word is ours, the segment does not say so */                   \
    POINT(claim_half_said, LOSES_TASK)     /* slot and time, not the ticket */                                         \
    POINT(claim_said, LOSES_TASK)                                                                                      \
    POINT(input_found, LOSES_TASK)                                                                                     \
    POINT(started, LOSES_TASK)                                                                                         \
    POINT(element_begun, LOSES_TASK)                                                                                   \
    POINT(finished, LOSES_TASK)                                                                                        \
    POINT(block_freed, MAY_LOSE_TASK)      /* a block has come home, the kernel does not know */                       \
    POINT(block_allocated, LOSES_TASK)                                                                                 \
    POINT(block_filled, LOSES_TASK)                                                                                    \
    POINT(file_made, LOSES_TASK)           /* the kernel has no descriptor of it */                                    \
    POINT(file_told, LOSES_TASK)           /* the descriptor is in the socket, no ref into the file is anywhere */     \
    POINT(ring_full, LOSES_TASK)           /* asked for room for a result or message, not asleep yet */                \
    POINT(reserved, LOSES_TASK)            /* of a result or message: room, */                                         \
    POINT(half_written, LOSES_TASK)        /* its head, */                                                             \
    POINT(written, LOSES_TASK)             /* all of it, the tail not moved */                                         \
    POINT(message_committed, LOSES_TASK)   /* the kernel can see the message */                                        \
    POINT(result_committed, LOSES_NOTHING) /* the kernel can see the result, the claim is still set */                 \
    POINT(claim_cleared, LOSES_NOTHING)                                                                                \
    POINT(kernel_claimed, MAY_LOSE_TASK) /* it is ours to ring the doorbell, not rung yet */                           \
    POINT(entry_released, LOSES_NOTHING) /* the memory of the last entry is the kernel's */                            \
    POINT(found_empty, LOSES_NOTHING) /* its ring; whether it is to end is seen next */                                \
    POINT(sleep_said, LOSES_NOTHING) /* and not asleep yet */                                                          \
    POINT(awake, LOSES_NOTHING) /* after a sleep */                                                                    \
    POINT(retired, LOSES_NOTHING)                                                                                      \
    POINT(detached, LOSES_NOTHING) /* its thread has ended, its memory is still mapped */

#define FAULT_NUMBER(point, loses) FAULT_##point,
enum { FAULT_POINTS(FAULT_NUMBER) FAULT_COUNT };
#undef FAULT_NUMBER

typedef struct {
    shared_u32 point; /* its number + 1; 0: none */
    shared_u32 visits; /* until then, this one included */
    shared_u32 signal;
} fault_t;

void fault_reached(fault_t *fault, uint32_t point);
void fault_from_environment(fault_t *fault);

#define FAULT(worker, point) fault_reached(&(worker)->segment->fault, FAULT_##point)
#define FAULT_FROM_ENVIRONMENT(worker) fault_from_environment(&(worker)->segment->fault)

#else

#define FAULT(worker, point) ((void)0)
#define FAULT_FROM_ENVIRONMENT(worker) ((void)0)

#endif
#endif
