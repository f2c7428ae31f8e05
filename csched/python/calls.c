#include <Python.h>
#include <stdbool.h>

#include "calls.h"
#include "layout.h"

enum { RAISED = CSCHED_RAISED, RETURNED = CSCHED_RETURNED, PUBLISH = 3 };
enum { FOR_READING = 0x100 }; /* PyBUF_READ, which older stable headers lack */
enum { BARE_PICKLE = 0x80, MEMOIZE = 0x94, TUPLE1 = 0x85, TUPLE2 = 0x86, TUPLE3 = 0x87 };

typedef struct {
    uint32_t status;
    PyObject *data; /* bytes, or NULL */
} answer_t;

/* Whether a pickle is one of a tuple, by its last opcodes: a tuple ends with a tuple opcode and MEMOIZE, a list or dict
 * with an append opcode or, if empty, with its MEMOIZE alone. */
static bool is_plain(const csched_item_t *item)
{
    if (item->kind != CSCHED_TASK || item->inputs || !item->function)
        return false;
    if (!item->size)
        return true;
    const uint8_t *data = (const uint8_t *)(uintptr_t)item->address;
    if (item->size < 5 || data[0] != BARE_PICKLE || data[item->size - 2] != MEMOIZE)
        return false;
    uint8_t last = data[item->size - 3];
    return last == TUPLE1 || last == TUPLE2 || last == TUPLE3 || last == 't';
}

/* Borrowed; NULL if the number is not known (yet). */
static PyObject *function_of(const csched_calls_t *calls, uint32_t number)
{
    PyObject *key = PyLong_FromUnsignedLong(number);
    if (!key) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *function = PyDict_GetItemWithError(calls->functions, key);
    Py_DECREF(key);
    if (!function)
        PyErr_Clear();
    return function;
}

/* Puts the current exception aside, with its traceback. */
static int raised(const csched_calls_t *calls)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    if (!value || PyList_Append(calls->aside, value) < 0)
        PyErr_Clear(); /* out of memory: the caller finds nothing aside */
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return RAISED;
}

static PyObject *called(csched_worker_t *w, const csched_calls_t *calls, PyObject *function, const csched_item_t *item)
{
    if (!item->size)
        return PyObject_CallNoArgs(function);
    PyObject *view = PyMemoryView_FromMemory((char *)(uintptr_t)item->address, (Py_ssize_t)item->size, FOR_READING);
    PyObject *arguments = view ? PyObject_CallFunctionObjArgs(calls->loads, view, NULL) : NULL;
    Py_XDECREF(view);
    if (!arguments)
        return NULL;
    csched_worker_started(w);
    PyObject *value = PyObject_Call(function, arguments, NULL);
    Py_DECREF(arguments); /* before the result is published: they may hold memory, or have finalizers */
    return value;
}

static int aside(const csched_calls_t *calls, PyObject *value)
{
    int rc = PyList_Append(calls->aside, value);
    Py_DECREF(value);
    return rc < 0 ? raised(calls) : RETURNED;
}

/* Runs one plain call. PUBLISH: the answer is small and in *answer. */
static int call(csched_worker_t *w, const csched_calls_t *calls, PyObject *function, const csched_item_t *item,
                answer_t *answer)
{
    Py_INCREF(function);
    PyObject *value = called(w, calls, function, item);
    Py_DECREF(function);
    if (!value)
        return raised(calls);
    if (PyList_Size(calls->printed) > 0)
        return aside(calls, value);
    if (value == Py_None) {
        Py_DECREF(value);
        *answer = (answer_t){CSCHED_NONE, NULL};
        return PUBLISH;
    }
    csched_worker_finished(w);
    PyObject *data = PyObject_CallFunctionObjArgs(calls->encode, value, NULL);
    if (!data) {
        Py_DECREF(value);
        return raised(calls);
    }
    if (!PyBytes_Check(data)) {
        Py_DECREF(data);
        return aside(calls, value);
    }
    Py_DECREF(value);
    *answer = (answer_t){CSCHED_VALUE, data};
    return PUBLISH;
}

/* Publishes an answer and takes the next item; an answer for which there is no room is put aside. */
static int turn(csched_worker_t *w, const csched_calls_t *calls, answer_t *answer, uint32_t spin_us,
                csched_item_t *item)
{
    char *data = NULL;
    Py_ssize_t size = 0;
    if (answer->data)
        PyBytes_AsStringAndSize(answer->data, &data, &size);
    int rc = csched_worker_turn(w, answer->status, 0, data, (uint64_t)size, NO_BLOCK, spin_us, 0, item);
    if ((rc == CSCHED_EFULL || rc == CSCHED_EOUTPUT) &&
        PyList_Append(calls->aside, answer->data ? answer->data : Py_None) < 0)
        rc = raised(calls);
    Py_XDECREF(answer->data);
    return rc;
}

int csched_worker_calls(csched_worker_t *w, const csched_calls_t *calls, uint32_t most, uint32_t spin_us,
                        csched_item_t *item)
{
    int rc = csched_worker_next(w, spin_us, 0, item);
    for (uint32_t n = 0; rc == CSCHED_OK && n < most && is_plain(item); n++) {
        PyObject *function = function_of(calls, item->function);
        if (!function)
            break;
        answer_t answer = {CSCHED_NONE, NULL};
        if ((rc = call(w, calls, function, item, &answer)) != PUBLISH)
            break;
        rc = turn(w, calls, &answer, spin_us, item);
    }
    return rc;
}
