/* The worker's loop over plain calls: the one part of the path that touches Python objects.  Only in the module that
 * keeps the GIL (see build.py). */
#ifndef CSCHED_CALLS_H
#define CSCHED_CALLS_H

#include "csched.h"

/* cffi: begin */
typedef struct {
    void *functions; /* dict: function number -> what is called */
    void *loads;     /* bytes-like object -> the arguments */
    void *encode;    /* small value -> bytes; None for any other value */
    void *aside;     /* list: receives what a call raised or returned and the caller must handle */
    void *printed;   /* list; not empty: printed text must be sent before the result */
} csched_calls_t;    /* borrowed references */

enum { CSCHED_RAISED = 1, CSCHED_RETURNED = 2 }; /* besides CSCHED_OK: *item is for the caller and was not begun */

/* Takes and runs tasks as long as each is a plain call: a known function, no inputs, arguments that are a bare pickle
 * of a tuple, a result that is None or small. Stops after `most`, at the first other item, or when there is none.
 * CSCHED_EFULL: no room for an answer, which was put into `aside` (bytes or None). */
int csched_worker_calls(csched_worker_t *w, const csched_calls_t *calls, uint32_t most, uint32_t spin_us,
                        csched_item_t *item);
/* cffi: end */

#endif
