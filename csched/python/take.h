/* Elements of a map, taken from an input whose own code may change what the function refers to.  Only in the module that
 * keeps the GIL (see build.py). */
#ifndef CSCHED_PYTHON_TAKE_H
#define CSCHED_PYTHON_TAKE_H

#include <Python.h>

#include "csched.h"

/* cffi: begin */
/* Appends a function to the list `out`.
 * take(iterator, wanted, capsule, kinds, packed, items) -> (why, bytes): appends to the list `items` what the iterator
 * gives, so many at most.  Plain data whose type is not among the set `kinds` is packed (plain_data.h) as a `packed`; so
 * many bytes that makes.  It ends after an item from which on the captured state differs (why: 1), which is neither of
 * such a type nor plain data (2), or both (3).  0: there were so many, or there are no more.  What came before an error of
 * the iterator's is there. */
int csched_take(void *out);
/* cffi: end */

#endif
