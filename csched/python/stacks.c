#include <Python.h>

#include <time.h>

#include "functions.h"
#include "segment.h"
#include "stacks.h"
#include "worker.h"

enum { MOST_FRAMES = 1000 };

static const double SHORT_INTERVAL = 1e-5; /* seconds */

/* Appends code and line of a frame: -1 with an error set. */
static int append_frame(PyObject *stack, PyObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *line = PyLong_FromLong(PyFrame_GetLineNumber((PyFrameObject *)frame));
    int rc = line && PyList_Append(stack, code) == 0 && PyList_Append(stack, line) == 0 ? 0 : -1;
    Py_DECREF(code);
    Py_XDECREF(line);
    return rc;
}

/* Steals the reference to the frame. */
static PyObject *stack_of(PyObject *frame, Py_ssize_t most)
{
    PyObject *stack = PyList_New(0);
    for (Py_ssize_t i = 0; stack && frame != Py_None && i < most; i++) {
        PyObject *below = append_frame(stack, frame) == 0 ? PyObject_GetAttrString(frame, "f_back") : NULL;
        Py_DECREF(frame);
        frame = below;
        if (!frame)
            Py_CLEAR(stack);
    }
    Py_XDECREF(frame);
    return stack;
}

static PyObject *stacks_of(PyObject *frames, PyObject *idents, Py_ssize_t most)
{
    Py_ssize_t count = PyList_Size(idents);
    PyObject *found = count < 0 ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *frame = PyDict_GetItemWithError(frames, PyList_GetItem(idents, i)); /* borrowed */
        PyObject *stack = NULL;
        if (frame) {
            Py_INCREF(frame);
            stack = stack_of(frame, most);
        } else if (!PyErr_Occurred()) {
            Py_INCREF(Py_None);
            stack = Py_None;
        }
        if (!stack || PyList_SetItem(found, i, stack) < 0)
            Py_CLEAR(found);
    }
    return found;
}

/* By thread; a new reference. */
static PyObject *current_frames(void)
{
    PyObject *current = PySys_GetObject("_current_frames"); /* borrowed */
    PyObject *frames = current ? PyObject_CallNoArgs(current) : NULL;
    if (!frames && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "this interpreter cannot tell the frames of its threads");
    return frames;
}

static PyObject *stacks(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    Py_ssize_t most = count == 2 ? PyLong_AsSsize_t(given[1]) : -1;
    if (most < 1 || !PyList_Check(given[0])) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "stacks: a list of thread identifiers, and a number of frames");
        return NULL;
    }
    int collects = PyGC_Disable(); /* a collection would run finalizers, and byte code with them */
    PyObject *frames = current_frames();
    PyObject *found = frames ? stacks_of(frames, given[0], most) : NULL;
    Py_XDECREF(frames);
    if (collects)
        PyGC_Enable();
    return found;
}

int csched_stacks(void *out)
{
    static PyMethodDef method = {"stacks", (PyCFunction)(void (*)(void))stacks, METH_FASTCALL,
                                 "stacks(idents, most, /)\n--\n\nCode and line of each frame of threads."};
    return append_functions(out, &method, 1, NULL);
}

/* Adds a sample of the main thread, if it is in user code. 1: other threads run Python code as well. */
static int add_sample(csched_worker_t *w, PyObject *samples, uint64_t ident)
{
    uint32_t function;
    uint64_t now = now_ns(), ns = now > w->sampled_at ? now - w->sampled_at : 0;
    w->sampled_at = now;
    PyObject *idents = Py_BuildValue("[K]", (unsigned long long)ident), *frames = idents ? current_frames() : NULL;
    PyObject *found = frames ? stacks_of(frames, idents, MOST_FRAMES) : NULL;
    PyObject *stack = found ? PyList_GetItem(found, 0) : NULL; /* borrowed */
    if (stack && PyList_Check(stack) && csched_worker_in_user_code(w, &function)) {
        PyObject *sample = Py_BuildValue("IKO", function, (unsigned long long)ns, stack);
        if (sample)
            PyList_Append(samples, sample);
        Py_XDECREF(sample);
    }
    int others = frames && PyDict_Size(frames) > 2;
    Py_XDECREF(idents);
    Py_XDECREF(frames);
    Py_XDECREF(found);
    PyErr_Clear();
    return others;
}

typedef struct {
    double before; /* 0: it is what it was */
} interval_t;

static double switch_interval(void)
{
    PyObject *get = PySys_GetObject("getswitchinterval"); /* borrowed */
    PyObject *value = get ? PyObject_CallNoArgs(get) : NULL;
    double seconds = value ? PyFloat_AsDouble(value) : -1;
    Py_XDECREF(value);
    PyErr_Clear();
    return seconds;
}

static void set_switch_interval(double seconds)
{
    PyObject *set = PySys_GetObject("setswitchinterval"); /* borrowed */
    PyObject *none = set ? PyObject_CallFunction(set, "d", seconds) : NULL;
    Py_XDECREF(none);
    PyErr_Clear();
}

static void shorten(interval_t *interval)
{
    double now = interval->before ? 0 : switch_interval();
    if (now <= SHORT_INTERVAL)
        return;
    interval->before = now;
    set_switch_interval(SHORT_INTERVAL);
}

static void restore(interval_t *interval)
{
    if (interval->before && switch_interval() <= SHORT_INTERVAL) /* else user code has set another one */
        set_switch_interval(interval->before);
    interval->before = 0;
}

int csched_worker_take_samples(csched_worker_t *w, void *samples, uint64_t ident, uint32_t rate, uint32_t ms)
{
    uint32_t wanted = csched_worker_profile_wanted(w), function;
    if (!rate)
        return CSCHED_EINVAL;
    struct timespec pause = {.tv_sec = rate == 1, .tv_nsec = rate == 1 ? 0 : 1000000000 / (long)rate};
    uint64_t end = now_ns() + ms * UINT64_C(1000000);
    interval_t interval = {0};
    shorten(&interval);
    PyThreadState *state = PyEval_SaveThread();
    while (now_ns() < end && csched_worker_profile_wanted(w) == wanted) {
        nanosleep(&pause, NULL);
        if (!csched_worker_in_user_code(w, &function)) {
            w->sampled_at = now_ns();
            continue;
        }
        PyEval_RestoreThread(state);
        int collects = PyGC_Disable(); /* see `stacks` */
        if (add_sample(w, samples, ident))
            restore(&interval);
        if (collects)
            PyGC_Enable();
        state = PyEval_SaveThread();
    }
    PyEval_RestoreThread(state);
    restore(&interval);
    return CSCHED_OK;
}
