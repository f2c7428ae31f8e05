/* Address, shape, strides and dtype of a numpy array, read from the object itself: its attributes or its buffer take as
 * long as comparing kilobytes. Only in the module that keeps the GIL (build.py). */
#ifndef CSCHED_PYTHON_ARRAY_LAYOUT_H
#define CSCHED_PYTHON_ARRAY_LAYOUT_H

#include <Python.h>
#include <stdbool.h>

typedef struct {
    const char *memory;
    PyObject *dtype; /* borrowed */
    Py_ssize_t dimensions;
    Py_ssize_t lengths[]; /* shape, then strides */
} array_layout_t;

/* `told`: (address, shape, strides, dtype) by numpy.  The caller frees the result; NULL if the object's memory does not
 * agree with it, or out of memory. */
array_layout_t *array_layout_of(PyObject *array, PyObject *told);
bool array_layout_same(const array_layout_t *layout, PyObject *array);

#endif
