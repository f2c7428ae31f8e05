/* Takes elements of a map from an input whose code may change the function's captured state. Only in the module that
 * keeps the GIL (build.py). */
#ifndef CSCHED_PYTHON_TAKE_H
#define CSCHED_PYTHON_TAKE_H

#include <Python.h>

#include "csched.h"

/* cffi: begin */
/* Appends a function to the list `out`.
 * take(iterator, wanted, capsule, kinds, packed, items) -> (why, bytes): appends at most `wanted` items of the iterator
 * to the list `items`.  Plain data whose type is not among the set `kinds` is packed (plain_data.h) as a `packed`, in
 * `bytes` bytes.  Ends after an item from which on the captured state differs (why: 1), which is neither plain data nor
 * of `kinds` (2), or both (3); 0: `wanted` were taken, or the iterator ended.  On an error of the iterator `items` has
 * those before it. */
int csched_take(void *out);
/* cffi: end */

#endif
