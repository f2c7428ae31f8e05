/* The texts of a pickle, among which are the names of what it refers to.  Only in the module that keeps the GIL (see
 * build.py). */
#ifndef CSCHED_PYTHON_PICKLE_TEXTS_H
#define CSCHED_PYTHON_PICKLE_TEXTS_H

#include <Python.h>

#include "csched.h"

/* cffi: begin */
/* Appends a function to the list `out`:
 * texts(pickle) -> bytes: the opcodes of a pickle that hold texts and short byte strings, and those behind them that
 * keep a text or look up a name, in their order: where a search for names has found one in the pickle, it finds it
 * there, and need not read its numbers and large contents.  Pickles in it are read as it is.  Returns the argument
 * itself when it is no pickle or no bytes. */
int csched_pickle_texts(void *out);
/* cffi: end */

#endif
