/* Where a call of the user's enters Python code of ours: an error leaves it without a trace of that code, which a function
 * in Python cannot do, as its own frame is noted when the error leaves it.  Only in the module that keeps the GIL (see
 * build.py). */
#ifndef CSCHED_PYTHON_BOUNDARY_H
#define CSCHED_PYTHON_BOUNDARY_H

/* cffi: begin */
/* Appends to the list `out` the function (function, finished, through) -> what is called in its place, also as a method of
 * classes: it passes arguments and value on.  Where `finished` is not None, the result of a future in that state is its
 * answer; where `through` is not None, the attribute of that name of its first argument is called with (second argument,
 * tuple of the others, {}) instead, if there are no keywords.
 * An error is given to `shorten`, which takes frames out, and raised with what it has left; what `shorten` itself raises is
 * forgotten, but for an interrupt.  Both are borrowed; `shorten` lives on. */
int csched_boundary(void *shorten, void *out);
/* cffi: end */

#endif
