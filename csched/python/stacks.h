/* Samples of the stacks of Python threads. Only in the module that keeps the GIL (build.py). */
#ifndef CSCHED_PYTHON_STACKS_H
#define CSCHED_PYTHON_STACKS_H

#include "csched.h"

/* cffi: begin */
/* Appends a function to the list `out`.
 * stacks(idents, most) -> list: for each of these threads None (it has no frame) or a list that has code and line of
 * each frame in turn, the innermost first, of at most `most` frames.  No byte code runs meanwhile, so other threads
 * cannot go on, and no frame is referred to afterwards, so the life of what the frames hold is as without it. */
int csched_stacks(void *out);

/* Takes `rate` samples a second of the stack of the main thread while a task is in user code, for `ms` milliseconds or
 * until csched_worker_profile_wanted changes; `ident` is that thread's.  Appends tuples to the list `samples`: number of
 * the function, nanoseconds since the sample before, and the stack as `stacks` has it.  The GIL is released meanwhile.
 *
 * A thread that waits for the GIL gets it where the other one releases it by itself, else after the switch interval.  In
 * 5 ms most code does so, so calls that release the GIL would be seen and little else.  While no third thread runs
 * Python code, the switch interval is therefore 10 us; it is again what it was at the end. */
int csched_worker_take_samples(csched_worker_t *w, void *samples, uint64_t ident, uint32_t rate, uint32_t ms);
/* cffi: end */

#endif
