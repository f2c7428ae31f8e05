/* Detects changes of a dict by the version that CPython keeps in it. Only in the module that keeps the GIL
 * (build.py). */
#ifndef CSCHED_PYTHON_DICT_VERSION_H
#define CSCHED_PYTHON_DICT_VERSION_H

#include <Python.h>
#include <stdint.h>

/* The version of the dict: changes with it, and is unique among all states of all dicts. 0: unknown, as from CPython
 * 3.14 on, which has none; the first call tests whether the interpreter has versions. */
uint64_t dict_version(PyObject *dict);

#endif
