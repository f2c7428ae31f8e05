#include <Python.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array_layout.h"
#include "capture.h"
#include "dict_version.h"
#include "functions.h"

typedef struct {
    int kind;
    PyObject *object, *key, *value; /* borrowed from the list of entries */
    PyObject **members;             /* of `value`, if it is a tuple; borrowed too */
    Py_ssize_t count;               /* number of members; for a buffer: of bytes */
    const char *memory;             /* the noted content of a buffer */
    array_layout_t *layout;         /* of an array; NULL: its layout cannot be read */
    bool gapless;                   /* its bytes are contiguous */
    uint64_t version;               /* of a dict, when it was last found unchanged; 0: unknown */
} entry_t;

typedef struct {
    PyObject *entries;
    PyObject *absent;
    int64_t number;
    Py_ssize_t least, most; /* number of arguments that fit, see capture_takes */
    Py_ssize_t count;
    entry_t entry[];
} capture_t;

static const char NAME[] = "cellmill.capture";
enum { SAME, CHANGED }; /* -1: an error is set */

/* -- comparisons */

/* Treats an error of the object's own code as a difference; passes interrupts and exits on. */
static int unreadable(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Clear();
    return CHANGED;
}

static int item_differs(const capture_t *c, const entry_t *e)
{
    PyObject *found = PyDict_GetItemWithError(e->object, e->key); /* borrowed */
    if (!found && PyErr_Occurred())
        return unreadable();
    return (found ? found : c->absent) != e->value;
}

static int attribute_differs(const capture_t *c, const entry_t *e)
{
    PyObject *found = PyObject_GetAttr(e->object, e->key);
    if (!found) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
            PyErr_Clear(); /* ValueError: an empty cell */
            return e->value != c->absent;
        }
        return unreadable();
    }
    int rc = found != e->value;
    if (rc && e->kind == CSCHED_EQUAL && (rc = PyObject_RichCompareBool(found, e->value, Py_NE)) < 0)
        rc = unreadable();
    Py_DECREF(found);
    return rc;
}

static int list_differs(const entry_t *e)
{
    if (PyList_Size(e->object) != e->count)
        return CHANGED;
    for (Py_ssize_t i = 0; i < e->count; i++)
        if (PyList_GetItem(e->object, i) != e->members[i])
            return CHANGED;
    return SAME;
}

static int dict_differs(entry_t *e)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, i = 0;
    uint64_t version = dict_version(e->object);
    if (version && version == e->version)
        return SAME;
    if (2 * PyDict_Size(e->object) != e->count)
        return CHANGED;
    for (; PyDict_Next(e->object, &at, &key, &value); i += 2)
        if (i >= e->count || key != e->members[i] || value != e->members[i + 1])
            return CHANGED;
    e->version = version;
    return SAME;
}

static int iterable_differs(const entry_t *e)
{
    Py_ssize_t size = PyObject_Size(e->object), i = 0;
    if (size != e->count)
        return size < 0 ? unreadable() : CHANGED;
    PyObject *iterator = PyObject_GetIter(e->object), *member;
    if (!iterator)
        return unreadable();
    int rc = SAME;
    while (rc == SAME && (member = PyIter_Next(iterator))) {
        rc = i >= e->count || member != e->members[i] ? CHANGED : SAME;
        Py_DECREF(member);
        i++;
    }
    Py_DECREF(iterator);
    return PyErr_Occurred() ? unreadable() : rc;
}

/* The bytes in memory order if they are contiguous; else in C order, in *copy. */
static const char *bytes_of(const Py_buffer *view, char **copy)
{
    *copy = NULL;
    if (PyBuffer_IsContiguous(view, 'A'))
        return view->buf;
    *copy = malloc((size_t)view->len + 1);
    if (!*copy)
        PyErr_NoMemory();
    else if (PyBuffer_ToContiguous(*copy, view, view->len, 'C') == 0)
        return *copy;
    return NULL;
}

static int buffer_differs(const entry_t *e)
{
    Py_buffer view;
    if (PyObject_GetBuffer(e->object, &view, PyBUF_FULL_RO) < 0)
        return unreadable();
    char *copy = NULL;
    int rc = view.len == e->count ? SAME : CHANGED;
    if (rc == SAME && e->count) {
        const char *now = bytes_of(&view, &copy);
        rc = !now ? unreadable() : memcmp(now, e->memory, (size_t)e->count) ? CHANGED : SAME;
    }
    free(copy);
    PyBuffer_Release(&view);
    return rc;
}

/* By the long way: 1, 0, -1 */
static int told_differs(const entry_t *e)
{
    static const char *const names[] = {"shape", "strides", "dtype"};
    for (Py_ssize_t i = 0; i < 3; i++) {
        PyObject *now = PyObject_GetAttrString(e->object, names[i]);
        int rc = now ? PyObject_RichCompareBool(now, PyTuple_GetItem(e->key, i + 1), Py_NE) : -1;
        Py_XDECREF(now);
        if (rc)
            return rc < 0 ? unreadable() : CHANGED;
    }
    return SAME;
}

static int array_differs(const entry_t *e)
{
    if (!e->layout) {
        int rc = told_differs(e);
        return rc != SAME ? rc : buffer_differs(e);
    }
    if (!array_layout_same(e->layout, e->object))
        return CHANGED;
    return !e->gapless ? buffer_differs(e) : e->count && memcmp(e->layout->memory, e->memory, (size_t)e->count);
}

static int call_differs(const entry_t *e)
{
    PyObject *answer = PyObject_CallNoArgs(e->key);
    int rc = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return rc < 0 ? unreadable() : !rc;
}

static int differs(const capture_t *c, entry_t *e)
{
    switch (e->kind) {
    case CSCHED_ITEM:
        return item_differs(c, e);
    case CSCHED_LIST:
        return list_differs(e);
    case CSCHED_DICT:
        return dict_differs(e);
    case CSCHED_ITERABLE:
        return iterable_differs(e);
    case CSCHED_BUFFER:
        return buffer_differs(e);
    case CSCHED_ARRAY:
        return array_differs(e);
    case CSCHED_CALL:
        return call_differs(e);
    default:
        return attribute_differs(c, e);
    }
}

/* Index of the first entry that differs; -1: none; -2: an error is set. */
static Py_ssize_t first_difference(capture_t *c)
{
    for (Py_ssize_t i = 0; i < c->count; i++) {
        int rc = differs(c, &c->entry[i]);
        if (rc != SAME)
            return rc < 0 ? -2 : i;
    }
    return -1;
}

Py_ssize_t capture_first_difference(PyObject *capsule)
{
    capture_t *c = PyCapsule_GetPointer(capsule, NAME);
    if (!c)
        return -2;
    Py_INCREF(capsule); /* user code may run and replace the function's entry */
    Py_ssize_t first = first_difference(c);
    Py_DECREF(capsule);
    return first;
}

int64_t capture_number(PyObject *capsule)
{
    capture_t *c = PyCapsule_GetPointer(capsule, NAME);
    if (!c)
        return -1;
    Py_INCREF(capsule);
    Py_ssize_t first = first_difference(c);
    int64_t number = first == -1 ? c->number : first == -2 ? -1 : 0;
    Py_DECREF(capsule);
    return number;
}

bool capture_takes(PyObject *capsule, Py_ssize_t count)
{
    const capture_t *c = PyCapsule_GetPointer(capsule, NAME);
    return c && count >= c->least && count <= c->most;
}

/* -- making one */

static void capture_free(PyObject *capsule)
{
    capture_t *c = PyCapsule_GetPointer(capsule, NAME);
    for (Py_ssize_t i = 0; i < c->count; i++) {
        free(c->entry[i].members);
        free(c->entry[i].layout);
    }
    Py_DECREF(c->entries);
    Py_DECREF(c->absent);
    free(c);
}

static bool wants(int kind, PyObject *object)
{
    return kind == CSCHED_ITEM || kind == CSCHED_DICT ? PyDict_Check(object)
           : kind == CSCHED_LIST                      ? PyList_Check(object)
                                                      : kind >= 0 && kind <= CSCHED_CALL;
}

static bool fill_layout(entry_t *e)
{
    Py_buffer view;
    if (!PyTuple_Check(e->key) || PyObject_GetBuffer(e->object, &view, PyBUF_FULL_RO) < 0)
        return false;
    e->gapless = PyBuffer_IsContiguous(&view, 'A');
    PyBuffer_Release(&view);
    e->layout = array_layout_of(e->object, e->key);
    PyErr_Clear(); /* without it numpy's attributes are used */
    return true;
}

/* Stores the members of a tuple, or the address of a buffer's bytes. */
static bool fill_value(entry_t *e)
{
    char *bytes;
    if (PyTuple_Check(e->value) && e->kind >= CSCHED_LIST && e->kind <= CSCHED_ITERABLE) {
        e->count = PyTuple_Size(e->value);
        e->members = malloc(sizeof *e->members * (size_t)(e->count + 1));
        for (Py_ssize_t i = 0; e->members && i < e->count; i++)
            e->members[i] = PyTuple_GetItem(e->value, i);
        return e->members != NULL;
    }
    if (e->kind != CSCHED_BUFFER && e->kind != CSCHED_ARRAY)
        return true;
    if (e->kind == CSCHED_ARRAY && !fill_layout(e))
        return false;
    if (PyTuple_Check(e->value)) { /* (address, bytes): memory that outlives this */
        unsigned long long address = 0;
        return PyArg_ParseTuple(e->value, "Kn", &address, &e->count) &&
               (e->memory = (const char *)(uintptr_t)address) != NULL;
    }
    if (PyBytes_AsStringAndSize(e->value, &bytes, &e->count) < 0)
        return false;
    e->memory = bytes;
    return true;
}

static bool fill(capture_t *c, PyObject *entries)
{
    for (Py_ssize_t i = 0; i < PyList_Size(entries); i++) {
        entry_t *e = &c->entry[i];
        PyObject *given = PyList_GetItem(entries, i);
        *e = (entry_t){0};
        c->count = i + 1; /* filled entries are freed with it */
        if (!PyArg_ParseTuple(given, "iOOO", &e->kind, &e->object, &e->key, &e->value))
            return false;
        if (!wants(e->kind, e->object) || !fill_value(e)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "an entry of captured state is of the wrong kind");
            return false;
        }
    }
    return true;
}

static PyObject *capture(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (count != 5 || !PyList_Check(given[0])) {
        PyErr_SetString(PyExc_TypeError, "capture takes a list of entries, a marker of absence and three numbers");
        return NULL;
    }
    int64_t number = PyLong_AsLongLong(given[2]);
    Py_ssize_t least = PyLong_AsSsize_t(given[3]), most = PyLong_AsSsize_t(given[4]);
    capture_t *c = PyErr_Occurred() ? NULL : malloc(sizeof *c + sizeof(entry_t) * (size_t)PyList_Size(given[0]));
    if (!c)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    *c = (capture_t){.entries = given[0], .absent = given[1], .number = number, .least = least, .most = most};
    Py_INCREF(c->entries);
    Py_INCREF(c->absent);
    PyObject *capsule = PyCapsule_New(c, NAME, capture_free);
    if (capsule && fill(c, given[0]))
        return capsule;
    Py_XDECREF(capsule);
    return NULL;
}

static PyObject *changed(PyObject *self, PyObject *capsule)
{
    (void)self;
    Py_ssize_t first = capture_first_difference(capsule);
    return first == -2 ? NULL : PyLong_FromSsize_t(first);
}

static PyObject *memory(PyObject *self, PyObject *object)
{
    (void)self;
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0)
        return NULL;
    char *copy = NULL;
    const char *bytes = view.len ? bytes_of(&view, &copy) : "";
    PyObject *made = bytes ? PyBytes_FromStringAndSize(bytes, view.len) : NULL;
    free(copy);
    PyBuffer_Release(&view);
    return made;
}

int csched_captures(void *out)
{
    static PyMethodDef methods[] = {
        {"capture", (PyCFunction)(void (*)(void))capture, METH_FASTCALL,
         "capture(entries, absent, number, least, most, /)\n--\n\nA capsule."},
        {"changed", changed, METH_O, "changed(capsule, /)\n--\n\nIndex of the first difference, or -1."},
        {"memory", memory, METH_O, "memory(object, /)\n--\n\nThe bytes of a buffer."},
    };
    return append_functions(out, methods, sizeof methods / sizeof *methods, NULL);
}
