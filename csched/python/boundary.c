#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

#include "boundary.h"
#include "csched.h"
#include "vectorcall.h"

typedef struct {
    PyObject_HEAD PyObject *function, *attributes, *weak;
    PyObject *finished; /* for methods that return a future's result: the state of a finished future, or NULL */
    PyObject *through; /* for methods that submit: name of the attribute for (function, arguments, keywords), or NULL */
    vectorcallfunc pass_on;
} boundary_t;

/* Live as long as the interpreter: the wrapper type, `shorten`, and types.MethodType. */
static PyObject *boundary_type, *shortening, *method_type;
static PyObject *state_name, *exception_name, *result_name, *given_name;

/* Removes Cellmill's frames from the current error. */
static void shorten_raised(void)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback)
        PyException_SetTraceback(error, traceback);
    PyObject *done = PyObject_CallFunctionObjArgs(shortening, error, NULL);
    if (done || !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_Restore(type, error, PyException_GetTraceback(error));
    } else { /* an interrupt that came just now is raised instead */
        Py_DECREF(type);
        Py_DECREF(error);
    }
    Py_XDECREF(done);
    Py_XDECREF(traceback);
}

static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *value = PyObject_Call(((boundary_t *)self)->function, arguments, keywords);
    if (!value && !PyErr_ExceptionMatches(PyExc_StopIteration))
        shorten_raised();
    return value;
}

static bool is_fixed(PyObject *value)
{
    return value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) ||
           PyBool_Check(value) || PyBytes_CheckExact(value);
}

/* Notes that a value which can be changed is given away; false: elements of a map want it packed before, or an error is
 * set. No other thread runs in between. */
static bool note_given(PyObject *future)
{
    PyObject *given = PyObject_GetAttr(future, given_name);
    bool noted = given == Py_True || (given == Py_None && PyObject_SetAttr(future, given_name, Py_True) == 0);
    Py_XDECREF(given);
    return noted;
}

/* The result of a finished future, the usual case. NULL: another state, or an error is set. */
static PyObject *result_of(PyObject *future, PyObject *finished)
{
    PyObject *state = PyObject_GetAttr(future, state_name);
    PyObject *error = state == finished ? PyObject_GetAttr(future, exception_name) : NULL;
    PyObject *value = error == Py_None ? PyObject_GetAttr(future, result_name) : NULL;
    if (value && !is_fixed(value) && !note_given(future))
        Py_CLEAR(value);
    Py_XDECREF(error);
    Py_XDECREF(state);
    return value;
}

/* executor.submit(function, ...) */
static PyObject *submit(PyObject *through, PyObject *const *given, Py_ssize_t count)
{
    PyObject *take = PyObject_GetAttr(given[0], through);
    PyObject *arguments = take ? PyTuple_New(count - 2) : NULL, *keywords = arguments ? PyDict_New() : NULL;
    for (Py_ssize_t i = 2; keywords && i < count; i++) {
        Py_INCREF(given[i]);
        PyTuple_SetItem(arguments, i - 2, given[i]);
    }
    PyObject *value = keywords ? PyObject_CallFunctionObjArgs(take, given[1], arguments, keywords, NULL) : NULL;
    Py_XDECREF(take);
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    return value;
}

/* The same by vectorcall, without an argument tuple. */
static PyObject *pass_on(PyObject *self, PyObject *const *given, size_t flagged, PyObject *keywords)
{
    const boundary_t *b = (const boundary_t *)self;
    Py_ssize_t count = (Py_ssize_t)(flagged & ~((size_t)1 << (8 * sizeof flagged - 1)));
    PyObject *value = NULL;
    if (b->finished && count == 1 && !keywords && (value = result_of(given[0], b->finished)))
        return value;
    PyErr_Clear(); /* it is raised again below */
    if (b->through && count >= 2 && !keywords)
        value = submit(b->through, given, count);
    else
        value = PyObject_Vectorcall(b->function, given, flagged, keywords);
    if (!value && !PyErr_ExceptionMatches(PyExc_StopIteration))
        shorten_raised();
    return value;
}

static PyObject *bind(PyObject *self, PyObject *object, PyObject *type)
{
    if (object && object != Py_None)
        return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
    Py_INCREF(self);
    return self;
}

/* Pickled by name, as functions are. */
static PyObject *reduce(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyObject_GetAttrString(self, "__qualname__");
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((boundary_t *)self)->function);
    Py_VISIT(((boundary_t *)self)->attributes);
    return 0;
}

static int clear(PyObject *self)
{
    Py_CLEAR(((boundary_t *)self)->function);
    Py_CLEAR(((boundary_t *)self)->attributes);
    Py_CLEAR(((boundary_t *)self)->finished);
    Py_CLEAR(((boundary_t *)self)->through);
    return 0;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((boundary_t *)self)->weak)
        PyObject_ClearWeakRefs(self);
    clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static int make_type(void)
{
    static PyMemberDef members[] = {
        {"__dictoffset__", T_PYSSIZET, offsetof(boundary_t, attributes), READONLY, NULL},
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(boundary_t, pass_on), READONLY, NULL},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(boundary_t, weak), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyGetSetDef fields[] = {
        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyMethodDef methods[] = {
        {"__reduce__", reduce, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_call, call},       {Py_tp_descr_get, bind},  {Py_tp_traverse, traverse},
        {Py_tp_clear, clear},     {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods},
        {Py_tp_members, members}, {Py_tp_getset, fields},   {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "cellmill.function",
        .basicsize = sizeof(boundary_t),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_VECTORCALL,
        .slots = slots,
    };
    PyObject *types = PyImport_ImportModule("types");
    method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    state_name = PyUnicode_InternFromString("_state");
    exception_name = PyUnicode_InternFromString("_exception");
    result_name = PyUnicode_InternFromString("_result");
    given_name = PyUnicode_InternFromString("_given");
    boundary_type = method_type ? PyType_FromSpec(&spec) : NULL;
    return boundary_type ? CSCHED_OK : CSCHED_ENOMEM;
}

static PyObject *make(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyTypeObject *type = (PyTypeObject *)boundary_type;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    boundary_t *made = count == 3 ? (boundary_t *)alloc(type, 0) : NULL;
    if (!made) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a function, and two names or None");
        return NULL;
    }
    PyObject **kept[] = {&made->function, &made->finished, &made->through};
    for (int i = 0; i < 3; i++)
        if (given[i] != Py_None) {
            Py_INCREF(given[i]);
            *kept[i] = given[i];
        }
    made->pass_on = pass_on;
    return (PyObject *)made;
}

int csched_boundary(void *shorten, void *out)
{
    static PyMethodDef made = {"made", (PyCFunction)(void (*)(void))make, METH_FASTCALL,
                               "made(function, finished, through, /)\n--\n\nWhat is called in its place."};
    if (!boundary_type && make_type() != CSCHED_OK) {
        PyErr_Clear();
        return CSCHED_ENOMEM;
    }
    Py_INCREF((PyObject *)shorten);
    Py_XDECREF(shortening);
    shortening = shorten;
    PyObject *function = PyCFunction_New(&made, NULL);
    int rc = function ? PyList_Append(out, function) : -1;
    Py_XDECREF(function);
    PyErr_Clear();
    return rc ? CSCHED_ENOMEM : CSCHED_OK;
}
