#include <Python.h>
#include <stdbool.h>

#include "capture.h"
#include "functions.h"
#include "plain_data.h"
#include "take.h"

enum { DIFFERS = 1, OTHER_KIND = 2 };

/* The state of one `take`. */
typedef struct {
    PyObject *capsule, *kinds, *packed_kind, *items;
    Py_ssize_t bytes;
} taking_t;

/* Appends the item, packed if it is plain data; steals the reference.  1: packed, or its type is among `kinds`; 0:
 * neither; -1: an error is set */
static int added(taking_t *t, PyObject *item)
{
    int fixed = PySet_Contains(t->kinds, (PyObject *)Py_TYPE(item));
    PyObject *packed = fixed == 0 ? plain_packed(item, t->packed_kind, &t->bytes) : NULL;
    int rc = fixed < 0 || PyErr_Occurred() ? -1 : PyList_Append(t->items, packed ? packed : item);
    Py_DECREF(item);
    int done = fixed || packed;
    Py_XDECREF(packed);
    return rc < 0 ? -1 : done;
}

/* Returns 0, DIFFERS, OTHER_KIND or both; -1: an error is set */
static int take_item(taking_t *t, PyObject *item)
{
    int done = added(t, item);
    Py_ssize_t first = done < 0 ? -2 : capture_first_difference(t->capsule);
    return first == -2 ? -1 : (first >= 0 ? DIFFERS : 0) | (done ? 0 : OTHER_KIND);
}

static PyObject *take(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    Py_ssize_t wanted = count == 6 ? PyLong_AsSsize_t(given[1]) : -1;
    if (wanted < 0 || !PyIter_Check(given[0]) || !PyCapsule_CheckExact(given[2])) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "take: an iterator, a number, a capsule, a set, a type and a list");
        return NULL;
    }
    taking_t t = {.capsule = given[2], .kinds = given[3], .packed_kind = given[4], .items = given[5]};
    int how = 0;
    for (Py_ssize_t i = 0; i < wanted && how == 0; i++) {
        PyObject *item = PyIter_Next(given[0]);
        if (!item)
            break;
        how = take_item(&t, item);
    }
    return how < 0 || PyErr_Occurred() ? NULL : Py_BuildValue("in", how, t.bytes);
}

int csched_take(void *out)
{
    static PyMethodDef method = {
        "take", (PyCFunction)(void (*)(void))take, METH_FASTCALL,
        "take(iterator, wanted, capsule, kinds, packed, items, /)\n--\n\nWhy it ended, and bytes."};
    return append_functions(out, &method, 1, NULL);
}
