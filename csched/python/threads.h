/* The worker's loop in a thread of the kernel process: calls and results are Python objects, and nothing is pickled.
 * Only in the module that keeps the GIL (see build.py). */
#ifndef CSCHED_PYTHON_THREADS_H
#define CSCHED_PYTHON_THREADS_H

#include "csched.h"

/* cffi: begin */
typedef struct {
    csched_t *s;
    csched_worker_t *w;
    void *calls;       /* dict: slot -> call; borrowed, outlives the thread */
    uint64_t ident;    /* of the thread, as Python numbers it */
    uint64_t ticket;   /* of the task that is in user code, 0: none.  This and what follows: under the GIL */
    uint64_t acquired; /* how often this loop waited without the GIL and took it again */
    uint64_t served;   /* tasks */
    void *end_of_task; /* callable: what a task printed is to go out; borrowed */
    uint32_t spin_us;
    uint32_t spoke;     /* 1: the task printed something */
    uint32_t raised;    /* 1: KeyboardInterrupt was sent to the task in user code */
    uint32_t abandoned; /* 1: its current task counts as over; the thread ends when that returns */
} csched_thread_t;

/* A worker in this process, which takes over the descriptors of csched_worker_add. */
int csched_thread_attach(const int fds[4], csched_worker_t **worker);

/* Runs tasks until something is for the caller: CSCHED_CONTROL, CSCHED_OK once it is abandoned, or an error
 * (CSCHED_ESTOPPED: it is retired).  The GIL is released only while there is nothing to do.
 *
 * A call has the attributes `invoke` (what is called), `args` (a tuple), `kwargs` (a dict or None), takes `value` or
 * `error`, and says in `failures` how many of its elements failed. */
int csched_thread_serve(csched_thread_t *t, csched_item_t *item);

/* Raises KeyboardInterrupt in the task if that is the one in user code: 1; else 0.  One that returns before it notices
 * leaves nothing behind for the next. */
int csched_thread_interrupt(csched_thread_t *t, uint64_t ticket);

/* Gives up a thread that is still in the user code of this task: 1, and the worker is to be declared lost; 0: it is not
 * there any more. */
int csched_thread_abandon(csched_thread_t *t, uint32_t index, uint64_t ticket);
/* cffi: end */

#endif
