/* Python functions made without a module: C code called by cffi appends them to a list. */
#ifndef CSCHED_PYTHON_FUNCTIONS_H
#define CSCHED_PYTHON_FUNCTIONS_H

#include <Python.h>

#include "csched.h"

/* `self`: first argument of the functions; NULL: none. */
static inline int append_functions(PyObject *out, PyMethodDef *methods, size_t count, PyObject *self)
{
    for (size_t i = 0; i < count; i++) {
        PyObject *function = PyCFunction_NewEx(&methods[i], self, NULL);
        int rc = function ? PyList_Append(out, function) : -1;
        Py_XDECREF(function);
        if (rc < 0) {
            PyErr_Clear();
            return CSCHED_ENOMEM;
        }
    }
    return CSCHED_OK;
}

#endif
