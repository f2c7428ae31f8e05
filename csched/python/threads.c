#include <Python.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "segment.h"
#include "threads.h"
#include "worker.h"

enum { SLICE_MS = 500 }; /* of one sleep, which work, requests and retiring end at once */

int csched_thread_attach(const int fds[4], csched_worker_t **worker)
{
    int rc = csched_worker_attach(fds, worker);
    if (rc == CSCHED_OK)
        shutdown(fds[2], SHUT_RD); /* no thread listens for regions: there are no payloads */
    return rc;
}

/* Waits for a task, a request, or the end, without the GIL. */
static int wait_for_item(csched_thread_t *t, csched_item_t *item)
{
    PyThreadState *state = PyEval_SaveThread();
    csched_poll(t->s, 0); /* drains this thread's results, so that dependents are sent, perhaps to it */
    int rc;
    do
        rc = csched_worker_next(t->w, t->spin_us, SLICE_MS, item);
    while (rc == CSCHED_EAGAIN || (rc == CSCHED_OK && item->kind == CSCHED_FUNCTION));
    PyEval_RestoreThread(state);
    t->acquired++;
    return rc;
}

/* Stores an attribute; steals the reference. */
static void store(PyObject *call, const char *name, PyObject *value)
{
    if (!value || PyObject_SetAttrString(call, name, value) < 0)
        PyErr_Clear();
    Py_XDECREF(value);
}

static PyObject *taken_exception(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

/* Calls it as the task of this ticket. Between the return of user code and the end of this function no byte code runs,
 * so that a late interrupt is withdrawn before it can hit other code. */
static PyObject *invoke(csched_thread_t *t, PyObject *call, uint64_t ticket)
{
    PyObject *function = PyObject_GetAttrString(call, "invoke");
    PyObject *args = function ? PyObject_GetAttrString(call, "args") : NULL;
    PyObject *kwargs = args ? PyObject_GetAttrString(call, "kwargs") : NULL;
    PyObject *value = NULL;
    if (kwargs) {
        t->ticket = ticket;
        value = PyObject_Call(function, args, kwargs == Py_None ? NULL : kwargs);
        t->ticket = 0;
        if (t->raised)
            PyThreadState_SetAsyncExc((unsigned long)t->ident, NULL);
        t->raised = 0;
        if (!t->abandoned)
            csched_worker_finished(t->w);
    }
    Py_XDECREF(function);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return value;
}

static uint32_t failures_of(PyObject *call)
{
    PyObject *count = PyObject_GetAttrString(call, "failures");
    unsigned long found = count ? PyLong_AsUnsignedLong(count) : 0;
    Py_XDECREF(count);
    PyErr_Clear();
    return (uint32_t)found;
}

/* Publishes; the ring is full only if no thread drains, so this thread then drains itself. */
static int publish(csched_thread_t *t, uint32_t status, uint32_t failures)
{
    int rc;
    while ((rc = csched_worker_publish(t->w, status, failures, NULL, 0, NO_BLOCK)) == CSCHED_EAGAIN) {
        PyThreadState *state = PyEval_SaveThread();
        csched_poll(t->s, 0);
        PyEval_RestoreThread(state);
        t->acquired++;
    }
    return rc < 0 ? rc : CSCHED_OK;
}

/* Whether tasks depend on this result: they are sent before the next task begins. */
static bool is_urgent(const csched_worker_t *w)
{
    return w->current && w->current->attempt & ENTRY_URGENT;
}

/* Sends what the task printed, before its result. */
static void end_output(csched_thread_t *t)
{
    if (!t->spoke)
        return;
    t->spoke = 0;
    PyObject *none = PyObject_CallNoArgs(t->end_of_task);
    Py_XDECREF(none);
    PyErr_Clear();
}

static int run(csched_thread_t *t, const csched_item_t *item)
{
    PyObject *slot = PyLong_FromUnsignedLong(item->slot);
    PyObject *call = slot ? PyDict_GetItemWithError(t->calls, slot) : NULL; /* borrowed */
    Py_XDECREF(slot);
    if (!call) {
        PyErr_Clear();
        return publish(t, CSCHED_ERROR, 1);
    }
    Py_INCREF(call);
    bool urgent = is_urgent(t->w);
    if (item->inputs)
        csched_worker_started(t->w);
    PyObject *value = NULL;
    if (csched_worker_interrupted(t->w)) {
        csched_worker_heard(t->w);
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    } else {
        t->attempt = item->flags;
        value = invoke(t, call, item->ticket);
    }
    int rc = CSCHED_OK;
    if (t->abandoned) {
        Py_XDECREF(value);
        PyErr_Clear();
    } else if (value) {
        uint32_t failures = failures_of(call);
        store(call, "value", value);
        end_output(t);
        rc = publish(t, CSCHED_NONE, failures);
    } else {
        store(call, "error", taken_exception());
        end_output(t);
        rc = publish(t, CSCHED_ERROR, 1);
    }
    Py_DECREF(call);
    t->served++;
    if (urgent && !t->abandoned)
        csched_poll(t->s, 0);
    return rc;
}

int csched_thread_serve(csched_thread_t *t, csched_item_t *item)
{
    int rc = CSCHED_OK;
    while (rc == CSCHED_OK && !t->abandoned) {
        rc = csched_worker_next(t->w, 0, 0, item);
        if (rc == CSCHED_EAGAIN)
            rc = wait_for_item(t, item);
        if (rc == CSCHED_OK && item->kind == CSCHED_CONTROL)
            return CSCHED_CONTROL;
        if (rc == CSCHED_OK && item->kind == CSCHED_TASK)
            rc = run(t, item);
    }
    return rc;
}

/* Whether it runs user code of this attempt. */
static bool is_in(const csched_thread_t *t, uint64_t ticket, uint32_t attempt)
{
    return ticket && t->ticket == ticket && t->attempt == attempt;
}

int csched_thread_interrupt(csched_thread_t *t, uint64_t ticket, uint32_t attempt)
{
    if (!is_in(t, ticket, attempt))
        return 0;
    t->raised = 1;
    csched_worker_heard(t->w); /* the interrupt will be raised: user code cannot continue without it */
    return PyThreadState_SetAsyncExc((unsigned long)t->ident, PyExc_KeyboardInterrupt) == 1;
}

int csched_thread_abandon(csched_thread_t *t, uint32_t index, uint64_t ticket, uint32_t attempt)
{
    if (!is_in(t, ticket, attempt) || csched_worker_condemn(t->s, index, ticket, attempt, NO_ELEMENT) != 1)
        return 0;
    t->abandoned = 1;
    return 1;
}
