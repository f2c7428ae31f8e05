#include <Python.h>

#include "aside.h"
#include "worker.h"

/* The body of a thread beside the main one. */
static void call(void *function)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *done = PyObject_CallNoArgs(function);
    if (!done)
        PyErr_WriteUnraisable(function);
    Py_XDECREF(done);
    PyGILState_Release(state);
}

int csched_worker_sampler(csched_worker_t *w, void *sampler)
{
    w->sampler.run = call;
    w->sampler.argument = sampler;
    return CSCHED_OK;
}

int csched_worker_sender(csched_worker_t *w, void *sender)
{
    w->sender.run = call;
    w->sender.argument = sender;
    return CSCHED_OK;
}
