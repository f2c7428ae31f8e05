/* Python functions that a worker calls in threads beside the main one. Only in the module that keeps the GIL (build.py). */
#ifndef CSCHED_PYTHON_ASIDE_H
#define CSCHED_PYTHON_ASIDE_H

#include "csched.h"

/* cffi: begin */
/* `sampler` is called without arguments in a thread of its own when the kernel wants samples (csched_profile) and no
 * such thread runs; it returns when csched_worker_profile_wanted is 0.  Before csched_worker_watch; borrowed. */
int csched_worker_sampler(csched_worker_t *w, void *sampler);

/* `sender` is called likewise while an element of a chunk has run for 100 ms and earlier elements are over whose
 * outcomes were not sent (CSCHED_PARTIAL).  Such an element is found within about a second. */
int csched_worker_sender(csched_worker_t *w, void *sender);
/* cffi: end */

#endif
