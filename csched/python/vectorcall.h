/* Calls without an argument tuple: in the limited API from 3.12 on, with the same values before. */
#ifndef CSCHED_PYTHON_VECTORCALL_H
#define CSCHED_PYTHON_VECTORCALL_H

#include <Python.h>

#if Py_LIMITED_API < 0x030C0000
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
extern PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
#endif

#endif
