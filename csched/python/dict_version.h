/* Whether a dict was changed, at a glance: CPython numbers the states of its dicts.  Only in the module that keeps the GIL
 * (see build.py). */
#ifndef CSCHED_PYTHON_DICT_VERSION_H
#define CSCHED_PYTHON_DICT_VERSION_H

#include <Python.h>
#include <stdint.h>

/* Another one after every change of the dict's; of no two states of any dicts the same.  0: not known, as from CPython
 * 3.14 on, which has no such numbers; whether this one has them is tried at the first call. */
uint64_t dict_version(PyObject *dict);

#endif
