#include <Python.h>
#include <string.h>

#include "functions.h"
#include "plain_data.h"

enum { DEEPEST = 16, LARGEST = 16384 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as pickle writes numbers");

bool plain_put_code(pickle_t *p, uint8_t opcode, const void *data, size_t size)
{
    if (p->room - p->size < size + 1)
        return false;
    p->data[p->size++] = opcode;
    if (size)
        memcpy(p->data + p->size, data, size);
    p->size += size;
    return true;
}

static bool put_long(pickle_t *p, PyObject *value)
{
    int overflow;
    int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow)
        return false;
    if (number >= 0 && number < 256)
        return plain_put_code(p, 'K', &number, 1);
    if (number >= 0 && number < 65536)
        return plain_put_code(p, 'M', &number, 2);
    if (number >= INT32_MIN && number <= INT32_MAX)
        return plain_put_code(p, 'J', &number, 4);
    uint8_t sized[9] = {8};
    memcpy(sized + 1, &number, 8);
    return plain_put_code(p, 0x8a, sized, sizeof sized);
}

static bool put_double(pickle_t *p, PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    uint64_t bits;
    memcpy(&bits, &number, 8);
    bits = __builtin_bswap64(bits);
    return plain_put_code(p, 'G', &bits, 8);
}

/* Writes a length of one or four bytes, then that many bytes. */
static bool put_sized(pickle_t *p, uint8_t brief, uint8_t opcode, const char *data, Py_ssize_t size)
{
    uint32_t length = (uint32_t)size;
    if ((size_t)size > p->room - p->size ||
        !plain_put_code(p, size < 256 ? brief : opcode, &length, size < 256 ? 1 : 4) ||
        p->room - p->size < (size_t)size)
        return false;
    memcpy(p->data + p->size, data, (size_t)size);
    p->size += (size_t)size;
    return true;
}

static bool put_text(pickle_t *p, PyObject *value)
{
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(value, &size);
    if (data)
        return put_sized(p, 0x8c, 'X', data, size);
    PyErr_Clear(); /* lone surrogates */
    return false;
}

static bool put_bytes(pickle_t *p, PyObject *value)
{
    char *data;
    Py_ssize_t size;
    return PyBytes_AsStringAndSize(value, &data, &size) == 0 && put_sized(p, 'C', 'B', data, size);
}

/* How a nested container is reached: by one reference, or through a shared one. */
typedef struct {
    int depth;
    bool several;
} reach_t;

static bool put_value(pickle_t *p, PyObject *value, reach_t reach);

static bool put_list(pickle_t *p, PyObject *list, reach_t reach)
{
    Py_ssize_t count = PyList_Size(list);
    if (!plain_put_code(p, ']', NULL, 0) || !count)
        return !count;
    if (!plain_put_code(p, '(', NULL, 0))
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!put_value(p, PyList_GetItem(list, i), reach))
            return false;
    return plain_put_code(p, 'e', NULL, 0);
}

static bool put_dict(pickle_t *p, PyObject *dict, reach_t reach)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!plain_put_code(p, '}', NULL, 0) || !PyDict_Size(dict))
        return !PyDict_Size(dict);
    if (!plain_put_code(p, '(', NULL, 0))
        return false;
    while (PyDict_Next(dict, &at, &key, &value))
        if (!put_value(p, key, reach) || !put_value(p, value, reach))
            return false;
    return plain_put_code(p, 'u', NULL, 0);
}

static bool put_tuple(pickle_t *p, PyObject *tuple, reach_t reach)
{
    static const uint8_t ends[] = {')', 0x85, 0x86, 0x87};
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > 3 && !plain_put_code(p, '(', NULL, 0))
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!put_value(p, PyTuple_GetItem(tuple, i), reach))
            return false;
    return plain_put_code(p, count > 3 ? 't' : ends[count], NULL, 0);
}

static bool put_value(pickle_t *p, PyObject *value, reach_t reach)
{
    PyTypeObject *kind = Py_TYPE(value);
    if (value == Py_None)
        return plain_put_code(p, 'N', NULL, 0);
    if (kind == &PyLong_Type)
        return put_long(p, value);
    if (kind == &PyFloat_Type)
        return put_double(p, value);
    if (kind == &PyUnicode_Type)
        return put_text(p, value);
    if (kind == &PyBool_Type)
        return plain_put_code(p, value == Py_True ? 0x88 : 0x89, NULL, 0);
    if (kind == &PyBytes_Type)
        return put_bytes(p, value);
    bool several = reach.several || (reach.depth && Py_REFCNT(value) > 1);
    if (reach.depth == DEEPEST)
        return false;
    if (kind == &PyTuple_Type)
        return put_tuple(p, value, (reach_t){reach.depth + 1, several});
    if (several)
        return false;
    return kind == &PyList_Type   ? put_list(p, value, (reach_t){reach.depth + 1, false})
           : kind == &PyDict_Type ? put_dict(p, value, (reach_t){reach.depth + 1, false})
                                  : false;
}

bool plain_put(pickle_t *p, PyObject *value)
{
    return put_value(p, value, (reach_t){0});
}

/* -- the elements of a map */

static bool is_atom(PyObject *value)
{
    PyTypeObject *kind = Py_TYPE(value);
    return kind == &PyLong_Type || kind == &PyFloat_Type || kind == &PyUnicode_Type || kind == &PyBool_Type ||
           kind == &PyBytes_Type || value == Py_None;
}

PyObject *plain_packed(PyObject *item, PyObject *kind, Py_ssize_t *bytes)
{
    uint8_t data[LARGEST];
    pickle_t p = {data, 0, LARGEST};
    if (is_atom(item)) {
        Py_INCREF(item);
        return item;
    }
    if (!plain_put(&p, item))
        return NULL;
    /* equals kind(bytes), in a third of the time */
    PyObject *made = PyType_GenericAlloc((PyTypeObject *)kind, (Py_ssize_t)p.size);
    if (made)
        memcpy(PyBytes_AsString(made), p.data, p.size);
    *bytes += (Py_ssize_t)p.size;
    return made;
}

static PyObject *pack(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (count != 4 || !PyList_Check(given[0]) || !PyList_Check(given[3])) {
        PyErr_SetString(PyExc_TypeError, "pack takes a list, a place in it, a type and a list");
        return NULL;
    }
    Py_ssize_t next = PyLong_AsSsize_t(given[1]), bytes = 0;
    if (next < 0 && PyErr_Occurred())
        return NULL;
    for (; next < PyList_Size(given[0]); next++) {
        PyObject *made = plain_packed(PyList_GetItem(given[0], next), given[2], &bytes);
        int rc = made ? PyList_Append(given[3], made) : 0;
        Py_XDECREF(made);
        if (rc < 0 || PyErr_Occurred())
            return NULL;
        if (!made)
            break;
    }
    return Py_BuildValue("nn", next, bytes);
}

static PyObject *packed_kind(void)
{
    PyType_Slot none[] = {{0, NULL}};
    PyType_Spec spec = {.name = "cellmill.pieces.Plain", .flags = Py_TPFLAGS_DEFAULT, .slots = none};
    PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyBytes_Type);
    PyObject *kind = bases ? PyType_FromSpecWithBases(&spec, bases) : NULL;
    Py_XDECREF(bases);
    return kind;
}

int csched_plain_data(void *out)
{
    static PyMethodDef method = {"pack", (PyCFunction)(void (*)(void))pack, METH_FASTCALL,
                                 "pack(items, first, kind, packed, /)\n--\n\nWhere it ended, and bytes."};
    PyObject *kind = packed_kind();
    int rc = !kind || PyList_Append(out, kind) < 0;
    Py_XDECREF(kind);
    PyErr_Clear();
    return rc ? CSCHED_ENOMEM : append_functions(out, &method, 1, NULL);
}
