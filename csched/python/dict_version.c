#include <Python.h>
#include <stdbool.h>

#include "dict_version.h"

/* The version field of PyDictObject, which the stable ABI does not declare: behind the object's head and the number of
 * members. */
static uint64_t version_at(PyObject *dict)
{
    typedef struct {
        PyObject head;
        Py_ssize_t used;
        uint64_t version;
    } layout_t;
    return ((const layout_t *)dict)->version;
}

/* Tests with changes of each kind, and with reads. */
static bool numbered(PyObject *dict, PyObject *other)
{
    PyObject *key = Py_None, *one = Py_True, *two = Py_False;
    enum { STEPS = 7 };
    uint64_t seen[STEPS];
    for (int step = 0; step < STEPS; step++) {
        int rc = 0;
        if (step == 1 || step == 4)
            rc = PyDict_SetItem(dict, key, one);
        else if (step == 2)
            rc = PyDict_SetItem(dict, key, two); /* the count stays */
        else if (step == 3)
            rc = PyDict_DelItem(dict, key);
        else if (step == 5)
            PyDict_Clear(dict);
        else if (step == 6)
            rc = PyDict_SetItem(other, key, one) < 0 ? -1 : PyDict_Update(dict, other);
        if (rc < 0)
            return false;
        seen[step] = version_at(dict);
        if (!seen[step] || PyDict_GetItem(dict, key) == dict || version_at(dict) != seen[step])
            return false;
        for (int i = 0; i < step; i++)
            if (seen[i] == seen[step])
                return false;
    }
    return version_at(other) != version_at(dict);
}

static bool tried(void)
{
    PyObject *dict = PyDict_New(), *other = PyDict_New();
    bool works = dict && other && numbered(dict, other);
    Py_XDECREF(dict);
    Py_XDECREF(other);
    PyErr_Clear();
    return works;
}

uint64_t dict_version(PyObject *dict)
{
    static enum { UNKNOWN, WORKS, WORKS_NOT } known;
    if (known == UNKNOWN)
        known = tried() ? WORKS : WORKS_NOT;
    return known == WORKS ? version_at(dict) : 0;
}
