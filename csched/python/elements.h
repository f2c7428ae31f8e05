/* The loop over the elements of a chunk in a worker. Only in the module that keeps the GIL (build.py). */
#ifndef CSCHED_PYTHON_ELEMENTS_H
#define CSCHED_PYTHON_ELEMENTS_H

#include "csched.h"

/* cffi: begin */
/* Appends a function to the list `out`.
 * elements(worker, function, items, values, star, flush_ns) -> bool: calls the function with each item, with `star` with
 * the parts of each, which may be any iterable, from item len(values) on, and appends what it returns to the list `values`.
 * What it raises leaves the loop; len(values) is the item then.  It returns early before an item where the last
 * CSCHED_PARTIAL or the start is more than flush_ns ago (True), or after a millisecond, so that signals are handled and
 * other threads go on also where the function is no Python code (False).  Stamps each element of the task in hand.
 * `worker`: the address of a csched_worker_t. */
int csched_elements(void *out);
/* cffi: end */

#endif
