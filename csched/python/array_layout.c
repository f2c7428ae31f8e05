#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#include "array_layout.h"

/* PyArrayObject_fields, the same in numpy 1 and 2. */
typedef struct {
    PyObject head;
    const char *memory;
    int dimensions;
    const Py_ssize_t *shape, *strides;
    PyObject *base, *dtype;
} fields_t;

bool array_layout_same(const array_layout_t *layout, PyObject *array)
{
    const fields_t *now = (const fields_t *)array;
    if (now->memory != layout->memory || now->dimensions != layout->dimensions || now->dtype != layout->dtype)
        return false;
    for (Py_ssize_t i = 0; i < layout->dimensions; i++)
        if (now->shape[i] != layout->lengths[i] || now->strides[i] != layout->lengths[layout->dimensions + i])
            return false;
    return true;
}

static bool large_enough(PyObject *array)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)Py_TYPE(array), "__basicsize__");
    bool enough = size && PyLong_AsSsize_t(size) >= (Py_ssize_t)sizeof(fields_t);
    Py_XDECREF(size);
    return enough;
}

array_layout_t *array_layout_of(PyObject *array, PyObject *told)
{
    unsigned long long address;
    PyObject *shape, *strides, *dtype;
    if (!PyArg_ParseTuple(told, "KO!O!O", &address, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &dtype))
        return NULL;
    Py_ssize_t count = PyTuple_Size(shape);
    array_layout_t *made = malloc(sizeof *made + 2 * sizeof *made->lengths * (size_t)count);
    if (!made || PyTuple_Size(strides) != count || !large_enough(array)) {
        free(made);
        return NULL;
    }
    *made = (array_layout_t){.memory = (const char *)(uintptr_t)address, .dtype = dtype, .dimensions = count};
    for (Py_ssize_t i = 0; i < count; i++) {
        made->lengths[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        made->lengths[count + i] = PyLong_AsSsize_t(PyTuple_GetItem(strides, i));
    }
    if (!PyErr_Occurred() && array_layout_same(made, array))
        return made;
    free(made);
    return NULL;
}
