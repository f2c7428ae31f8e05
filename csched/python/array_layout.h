/* What an array of numpy is besides the bytes in its memory, read from the object itself: asking for its attributes or its
 * buffer takes as long as comparing kilobytes.  Only in the module that keeps the GIL (see build.py). */
#ifndef CSCHED_PYTHON_ARRAY_LAYOUT_H
#define CSCHED_PYTHON_ARRAY_LAYOUT_H

#include <Python.h>
#include <stdbool.h>

typedef struct {
    const char *memory;
    PyObject *dtype; /* borrowed */
    Py_ssize_t dimensions;
    Py_ssize_t lengths[]; /* of the shape, then of the strides */
} array_layout_t;

/* As numpy tells it: (address, shape, strides, dtype).  To be freed; NULL where the object does not hold that in the places
 * that are known, or out of memory. */
array_layout_t *array_layout_of(PyObject *array, PyObject *told);
bool array_layout_same(const array_layout_t *layout, PyObject *array);

#endif
