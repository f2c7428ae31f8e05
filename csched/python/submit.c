#include <Python.h>
#include <stdbool.h>

#include "capture.h"
#include "functions.h"
#include "plain_data.h"
#include "segment.h"
#include "submit.h"

enum { MOST_BYTES = 8192 }; /* of pickled arguments, as INLINE_MAX in serialization/payload.py */
#define NO_RUN UINT32_MAX
/* of csched_plain_note's tuple */
enum { PATH, ARGUMENTS, WARNINGS, FILTERS, FIRST_FILTER, LOG_CACHE, LOG_KEY, LOG_MARK, LOG_HANDLERS, PARTS };

/* Whether a container argument occurs before: both must stay one object. */
static bool came_before(PyObject *arguments, Py_ssize_t place)
{
    PyObject *value = PyTuple_GetItem(arguments, place);
    if (!PyList_CheckExact(value) && !PyDict_CheckExact(value) && !PyTuple_CheckExact(value))
        return false;
    for (Py_ssize_t i = 0; i < place; i++)
        if (PyTuple_GetItem(arguments, i) == value)
            return true;
    return false;
}

/* Pickles the arguments; equivalent to pickle.dumps(arguments, 5). */
static bool encode(pickle_t *p, PyObject *arguments)
{
    Py_ssize_t count = PyTuple_Size(arguments);
    static const uint8_t ends[] = {0, 0x85, 0x86, 0x87};
    if (!count)
        return true;
    if (!plain_put_code(p, 0x80, "\5", 1) || (count > 3 && !plain_put_code(p, '(', NULL, 0)))
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (came_before(arguments, i) || !plain_put(p, PyTuple_GetItem(arguments, i)))
            return false;
    return plain_put_code(p, count > 3 ? 't' : ends[count], NULL, 0) &&
           plain_put_code(p, 0x94, NULL, 0) && /* MEMOIZE, which is_plain in calls.c expects */
           plain_put_code(p, '.', NULL, 0);
}

/* -- the call */

/* Whether warnings filters or log levels changed: as `ReportingWatch.touched`, in 40 ns. */
static int reporting_changed(const csched_plain_t *plain)
{
    PyObject *filters = PyDict_GetItem(plain->warnings, plain->filters_name); /* borrowed */
    if (!filters || filters != plain->filters || PyList_Size(filters) != plain->filter_count)
        return 1;
    if (plain->filter_count && PyList_GetItem(filters, 0) != plain->first_filter)
        return 1;
    return PyDict_GetItem(plain->log_cache, plain->log_key) != plain->log_mark ||
           PyList_Size(plain->log_handlers) != plain->handler_count;
}

/* Whether a list of the module `sys` differs from a copy of it: 1, 0; -1: an error is set */
static int list_changed(const char *name, PyObject *copy)
{
    PyObject *list = PySys_GetObject(name); /* borrowed */
    return list ? PyObject_RichCompareBool(list, copy, Py_NE) : 1;
}

/* Quick check without releasing the GIL: 1 changed, 0 not; -1: an error is set */
static int context_changed(const csched_plain_t *plain)
{
    if (csched_context_digest() != plain->digest || reporting_changed(plain))
        return 1;
    PyObject *noted = PyList_GetItem(plain->noted, 0);
    Py_INCREF(noted); /* comparing may run code of the user's, and another thread may note something else meanwhile */
    int changed = list_changed("path", PyTuple_GetItem(noted, PATH));
    if (!changed)
        changed = list_changed("argv", PyTuple_GetItem(noted, ARGUMENTS));
    Py_DECREF(noted);
    return changed;
}

int csched_plain_note(csched_plain_t *plain, void *parts, uint64_t digest, int64_t filter_count, int64_t handler_count,
                      uint64_t asked)
{
    PyObject *before = PyList_GetItem(plain->noted, 0);
    if (!before || !PyTuple_CheckExact(parts) || PyTuple_Size(parts) != PARTS) {
        PyErr_Clear();
        return CSCHED_EINVAL;
    }
    Py_INCREF(before); /* until nothing refers to what it holds */
    Py_INCREF((PyObject *)parts);
    PyList_SetItem(plain->noted, 0, parts);
    plain->warnings = PyTuple_GetItem(parts, WARNINGS);
    plain->filters = PyTuple_GetItem(parts, FILTERS);
    plain->first_filter = PyTuple_GetItem(parts, FIRST_FILTER);
    plain->log_cache = PyTuple_GetItem(parts, LOG_CACHE);
    plain->log_key = PyTuple_GetItem(parts, LOG_KEY);
    plain->log_mark = PyTuple_GetItem(parts, LOG_MARK);
    plain->log_handlers = PyTuple_GetItem(parts, LOG_HANDLERS);
    plain->filter_count = filter_count;
    plain->handler_count = handler_count;
    plain->digest = digest;
    plain->path = plain->asked == asked ? PyTuple_GetItem(parts, PATH) : NULL;
    Py_DECREF(before);
    return CSCHED_OK;
}

/* 1: a task may be sent as it is; 0: something must be done before; -1: an error is set */
static int clear_to_go(const csched_plain_t *plain, uint64_t start)
{
    if (start - plain->looked > plain->look_ns || !plain->path)
        return 0;
    PyObject *closed = PyObject_GetAttr(plain->gate, plain->closed_name);
    PyObject *broken = closed ? PyObject_GetAttr(plain->gate, plain->broken_name) : NULL;
    int rc = !broken ? -1 : closed == Py_False && broken == Py_None;
    Py_XDECREF(closed);
    Py_XDECREF(broken);
    int in_a_row = start - plain->left <= plain->in_a_row_ns;
    if (rc == 1 && csched_settings_changed(plain->settings, in_a_row))
        return 0;
    if (rc != 1 || in_a_row)
        return rc;
    int changed = context_changed(plain);
    return changed < 0 ? -1 : !changed;
}

/* Raises Python's own error for a call that does not fit the function. false: it is set */
static bool check(const csched_plain_t *plain, PyObject *function, PyObject *arguments)
{
    PyObject *checked = PyObject_CallFunctionObjArgs(plain->check, function, arguments, NULL);
    Py_XDECREF(checked);
    return checked;
}

/* The number of a function, for a call that fits it and with unchanged captured state. 0: not a plain call; -1: an
 * error is set */
static int64_t number_of(const csched_plain_t *plain, PyObject *function, PyObject *arguments)
{
    PyObject *known = PyDict_GetItemWithError(plain->captures, function);
    if (!known && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) /* an interrupt */
            return -1;
        PyErr_Clear(); /* unhashable: `number` decides */
    }
    Py_XINCREF(known); /* another thread may replace the function's entry while code of the user's is run */
    int64_t unchanged = known ? capture_number(known) : 0;
    bool fits = unchanged > 0 && capture_takes(known, PyTuple_Size(arguments));
    Py_XDECREF(known);
    if (fits)
        return unchanged;
    if (unchanged < 0 || !check(plain, function, arguments))
        return -1;
    if (unchanged)
        return unchanged;
    PyObject *number = PyObject_CallFunctionObjArgs(plain->number, function, NULL);
    if (!number)
        return -1;
    int64_t found = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return found;
}

/* A free slot, or -1: none is free, or an error is set. */
static int64_t take_slot(const csched_plain_t *plain)
{
    PyObject *slot = PyObject_CallNoArgs(plain->pop);
    if (!slot) {
        if (PyErr_ExceptionMatches(PyExc_IndexError))
            PyErr_Clear();
        return -1;
    }
    int64_t found = PyLong_AsLongLong(slot);
    Py_DECREF(slot);
    return found;
}

static int set_slot(const csched_plain_t *plain, int64_t slot, PyObject *entry)
{
    Py_INCREF(entry);
    return PyList_SetItem(plain->table, (Py_ssize_t)slot, entry);
}

static PyObject *nothing(void)
{
    Py_RETURN_NONE;
}

/* The run and the options of a call. */
typedef struct {
    int64_t run;
    const csched_options_t *options; /* NULL: none */
} manner_t;

enum { PAUSE_NS = 20000000 }; /* longer than a thread waits for the GIL while others compute */

/* Counts the time that the caller took for itself, for the advice after the work. The first call of a cell (`left` is
 * 0) has no such time. Gaps are counted by length, and not added up: some are waits for the GIL. */
void csched_plain_count(csched_plain_t *plain, uint64_t start)
{
    uint64_t free_since = plain->left > *plain->waited ? plain->left : *plain->waited;
    uint64_t gap = start > free_since ? start - free_since : 0;
    plain->calls++;
    if (!plain->left)
        return;
    if (gap > PAUSE_NS) {
        plain->pauses += gap;
        return;
    }
    gap |= 4;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(gap);
    plain->gaps[4 * power + (gap >> (power - 2) & 3)]++;
}

/* Stores the future in the table, then submits: so it is there before the task can end. A refusal (the function was
 * replaced, memory) changes nothing: the caller takes the long way, which reports the reason. */
static PyObject *send(csched_plain_t *plain, PyObject *future, int64_t number, manner_t how, const pickle_t *p,
                      uint64_t start)
{
    int64_t slot = take_slot(plain);
    if (slot < 0 || set_slot(plain, slot, future) < 0)
        return PyErr_Occurred() ? NULL : nothing();
    uint64_t pack_ns = p->size ? now_ns() - start : 0;
    int64_t ticket = csched_submit_with(plain->s, (uint32_t)slot, (uint32_t)number, (uint32_t)how.run, p->data, p->size,
                                        pack_ns, how.options);
    if (ticket < 0) {
        PyObject *free = PyLong_FromLongLong(slot);
        PyObject *back = free && set_slot(plain, slot, Py_None) == 0
                             ? PyObject_CallFunctionObjArgs(plain->append, free, NULL)
                             : NULL;
        Py_XDECREF(free);
        Py_XDECREF(back);
        return back ? nothing() : NULL;
    }
    PyObject *known = PyLong_FromLongLong(ticket);
    int rc = known ? PyObject_SetAttr(future, plain->ticket_name, known) : -1;
    Py_XDECREF(known);
    if (rc < 0)
        return NULL;
    csched_plain_count(plain, start);
    plain->left = now_ns();
    PyObject_GC_UnTrack(future);
    Py_INCREF(future);
    return future;
}

static PyObject *plain_call(csched_plain_t *plain, PyObject *function, PyObject *arguments, manner_t how)
{
    uint64_t start = now_ns();
    int clear = clear_to_go(plain, start);
    if (clear <= 0)
        return clear < 0 ? NULL : nothing();
    uint8_t data[MOST_BYTES];
    pickle_t p = {data, 0, MOST_BYTES};
    int64_t number;
    if (!encode(&p, arguments))
        return nothing();
    if ((number = number_of(plain, function, arguments)) <= 0)
        return number < 0 ? NULL : nothing();
    PyObject *future = PyObject_CallFunctionObjArgs(plain->future, plain->owner, NULL);
    PyObject *sent = future ? send(plain, future, number, how, &p, start) : NULL;
    Py_XDECREF(future);
    return sent;
}

static csched_plain_t *plain_of(PyObject *self)
{
    return PyCapsule_GetPointer(PyTuple_GetItem(self, 0), NULL);
}

static PyObject *submit_plain(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    if (count != 4 || !PyTuple_CheckExact(given[1])) {
        PyErr_SetString(PyExc_TypeError, "a plain submit takes a function, a tuple of arguments, a run and options");
        return NULL;
    }
    manner_t how = {.run = PyLong_AsLongLong(given[2]), .options = PyLong_AsVoidPtr(given[3])};
    if (PyErr_Occurred())
        return NULL;
    return how.run < 0 ? nothing() : plain_call(plain_of(self), given[0], given[1], how);
}

static PyObject *submit(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    csched_plain_t *plain = plain_of(self);
    if (count != 3 || !PyTuple_CheckExact(given[1]) || !PyDict_Check(given[2])) {
        PyErr_SetString(PyExc_TypeError, "submit takes a function, a tuple of arguments and a dict of keywords");
        return NULL;
    }
    PyObject *future =
        PyDict_Size(given[2]) ? nothing() : plain_call(plain, given[0], given[1], (manner_t){.run = NO_RUN});
    if (future != Py_None)
        return future;
    Py_DECREF(future);
    return PyObject_CallFunctionObjArgs(plain->long_way, given[0], given[1], given[2], NULL);
}

/* Gives a future to the cycle collector: from now on it may be part of a cycle. */
static PyObject *track(PyObject *self, PyObject *future)
{
    (void)self;
    if (!PyObject_GC_IsTracked(future))
        PyObject_GC_Track(future);
    Py_RETURN_NONE;
}

int csched_plain_submit(csched_plain_t *plain, void *owner, void *out)
{
    static PyMethodDef bound[] = {
        {"submit_plain", (PyCFunction)(void (*)(void))submit_plain, METH_FASTCALL,
         "submit_plain(function, arguments, run, options, /)\n--\n\nA future, or None."},
        {"submit", (PyCFunction)(void (*)(void))submit, METH_FASTCALL,
         "submit(function, arguments, keywords, /)\n--\n\nA future."},
    };
    static PyMethodDef tracked = {"track", track, METH_O, "track(future, /)\n--\n\nIt may be part of a cycle."};
    plain->closed_name = PyUnicode_InternFromString("closed");
    plain->broken_name = PyUnicode_InternFromString("broken");
    plain->filters_name = PyUnicode_InternFromString("filters");
    plain->ticket_name = PyUnicode_InternFromString("_ticket");
    PyObject *capsule = PyCapsule_New(plain, NULL, NULL);
    PyObject *self = capsule ? PyTuple_Pack(2, capsule, (PyObject *)owner) : NULL;
    Py_XDECREF(capsule);
    int rc = self ? append_functions(out, bound, 2, self) : CSCHED_ENOMEM;
    Py_XDECREF(self);
    PyErr_Clear();
    return rc != CSCHED_OK ? rc : append_functions(out, &tracked, 1, NULL);
}
