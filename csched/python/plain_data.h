/* Plain data as a pickle: numbers, text, bytes, None, and lists, dicts and tuples of these.  Only in the module that keeps
 * the GIL (see build.py). */
#ifndef CSCHED_PYTHON_PLAIN_DATA_H
#define CSCHED_PYTHON_PLAIN_DATA_H

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csched.h"

/* cffi: begin */
/* Appends a type and a function to the list `out`:
 * a kind of bytes that the cycle collector does not see, unlike those that a class statement makes: of a map's elements
 * there are very many;
 * pack(items, first, kind, packed) -> (next, bytes): appends to the list `packed` of each item from place `first` on the
 * item itself, where it is a number, text or the like, else a `kind` of the bytes that `plain_put` writes; up to the
 * first that is not plain data, or is larger than 16 kB.  `bytes`: how many it wrote. */
int csched_plain_data(void *out);
/* cffi: end */

typedef struct {
    uint8_t *data;
    size_t size, room;
} pickle_t;

/* An opcode of pickle's and what belongs to it; false: there is no room. */
bool plain_put_code(pickle_t *p, uint8_t opcode, const void *data, size_t size);

/* The opcodes that leave a copy of the value on the stack, no more: neither a head nor an end.  They remember nothing, so
 * that bytes of several values may follow one another.  false: it is not plain data, or there is no room, or one of
 * its lists or dicts is referred to from a second place, which would be two in the copy. */
bool plain_put(pickle_t *p, PyObject *value);

/* A new reference to what stands for an item among those of a map (see csched_plain_data), and adds to *bytes; NULL with
 * no error set: it is not plain data. */
PyObject *plain_packed(PyObject *item, PyObject *kind, Py_ssize_t *bytes);

#endif
