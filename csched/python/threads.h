/* The task loop of a worker thread in the kernel process: calls and results are Python objects, nothing is pickled.
 * Only in the module that keeps the GIL (build.py). */
#ifndef CSCHED_PYTHON_THREADS_H
#define CSCHED_PYTHON_THREADS_H

#include "csched.h"

/* cffi: begin */
typedef struct {
    csched_t *s;
    csched_worker_t *w;
    void *calls;       /* dict: slot -> call; borrowed, outlives the thread */
    uint64_t ident;    /* Python's identifier of the thread */
    uint64_t ticket;   /* of the task in user code, 0: none. This and the fields below: under the GIL */
    uint64_t acquired; /* how often this loop released the GIL and took it again */
    uint64_t served;   /* tasks */
    void *end_of_task; /* callable that sends what a task printed; borrowed */
    uint32_t spin_us;
    uint32_t attempt;   /* of the task in user code */
    uint32_t spoke;     /* 1: the task printed something */
    uint32_t raised;    /* 1: KeyboardInterrupt was sent to the task in user code */
    uint32_t abandoned; /* 1: its current task counts as over; the thread ends when that returns */
} csched_thread_t;

/* Attaches a worker in this process; takes over the descriptors of csched_worker_add. */
int csched_thread_attach(const int fds[4], csched_worker_t **worker);

/* Runs tasks until something is for the caller: CSCHED_CONTROL, CSCHED_OK once it is abandoned, or an error
 * (CSCHED_ESTOPPED: it is retired).  The GIL is released only while there is nothing to do.
 *
 * A call has the attributes `invoke` (what is called), `args` (a tuple), `kwargs` (a dict or None), takes `value` or
 * `error`, and says in `failures` how many of its elements failed. */
int csched_thread_serve(csched_thread_t *t, csched_item_t *item);

/* Raises KeyboardInterrupt in the task if it is in user code: 1; else 0. If the task returns before it is raised, it is
 * withdrawn. */
int csched_thread_interrupt(csched_thread_t *t, uint64_t ticket, uint32_t attempt);

/* Abandons a thread that is still in the user code of this task: 1, and the caller declares the worker lost; 0: the
 * task has returned. */
int csched_thread_abandon(csched_thread_t *t, uint32_t index, uint64_t ticket, uint32_t attempt);
/* cffi: end */

#endif
