#include <Python.h>

#include "elements.h"
#include "functions.h"
#include "segment.h"
#include "vectorcall.h"
#include "worker.h"

enum { MOST_NS = 1000000 };

static PyObject *call(PyObject *function, PyObject *item, int star)
{
    if (!star)
        return PyObject_Vectorcall(function, &item, 1, NULL);
    PyObject *parts = PySequence_Tuple(item); /* `item` itself if it is one */
    PyObject *value = parts ? PyObject_Call(function, parts, NULL) : NULL;
    Py_XDECREF(parts);
    return value;
}

static PyObject *run(csched_worker_t *w, PyObject *const *given, int star, uint64_t flush_ns)
{
    PyObject *function = given[0], *items = given[1], *values = given[2];
    uint64_t now = now_ns(), end = now + MOST_NS;
    for (Py_ssize_t i = PyList_Size(values), first = i; i < PyList_Size(items); i++, now = now_ns()) {
        if (i > first && now - w->flushed > flush_ns)
            return PyBool_FromLong(1);
        if (i > first && now > end)
            break;
        worker_element(w, (uint32_t)i, now);
        PyObject *item = PyList_GetItem(items, i); /* borrowed */
        Py_INCREF(item); /* the function may know the list */
        PyObject *value = call(function, item, star);
        Py_DECREF(item);
        int rc = value ? PyList_Append(values, value) : -1;
        Py_XDECREF(value);
        if (rc < 0)
            return NULL;
    }
    return PyBool_FromLong(0);
}

static PyObject *elements(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    csched_worker_t *w = count == 6 ? PyLong_AsVoidPtr(given[0]) : NULL;
    int star = w ? PyObject_IsTrue(given[4]) : -1;
    uint64_t flush_ns = star < 0 ? 0 : PyLong_AsUnsignedLongLong(given[5]);
    if (star < 0 || PyErr_Occurred() || !PyList_Check(given[2]) || !PyList_Check(given[3])) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "elements: an address, a function, two lists, a bool, and nanoseconds");
        return NULL;
    }
    return run(w, given + 1, star, flush_ns);
}

int csched_elements(void *out)
{
    static PyMethodDef method = {
        "elements", (PyCFunction)(void (*)(void))elements, METH_FASTCALL,
        "elements(worker, function, items, values, star, flush_ns, /)\n--\n\nRuns the elements of a chunk."};
    return append_functions(out, &method, 1, NULL);
}
