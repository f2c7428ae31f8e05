/* Wrappers of the functions that users call: they remove Cellmill's frames from the traceback of an error. A Python
 * function cannot do that, as its own frame is added when the error leaves it. Only in the module that keeps the GIL
 * (build.py). */
#ifndef CSCHED_PYTHON_BOUNDARY_H
#define CSCHED_PYTHON_BOUNDARY_H

/* cffi: begin */
/* Appends to the list `out` a function (function, finished, through) -> wrapper, which also serves as a method and
 * passes arguments and value on. If `finished` is not None, the wrapper returns the result of a future in that state
 * directly. If `through` is not None and there are no keywords, it calls the attribute of that name of its first
 * argument with (second argument, tuple of the others, {}). An error is passed to `shorten`, which removes frames, and
 * raised again; errors of `shorten` are dropped, except interrupts. Both arguments are borrowed; `shorten` must outlive
 * the wrappers. */
int csched_boundary(void *shorten, void *out);
/* cffi: end */

#endif
