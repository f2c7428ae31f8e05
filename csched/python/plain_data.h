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
 * a subclass of bytes whose instances the cycle collector does not track, as a map may have millions of them;
 * pack(items, first, kind, packed) -> (next, bytes): appends each item from index `first` on to the list `packed`: a
 * number, text or the like as it is, others as a `kind` of the bytes that `plain_put` writes.  Stops at the first item
 * that is not plain data or is larger than 16 kB.  `next`: index of that item; `bytes`: how many were written. */
int csched_plain_data(void *out);
/* cffi: end */

typedef struct {
    uint8_t *data;
    size_t size, room;
} pickle_t;

/* Writes a pickle opcode and its argument; false: no room. */
bool plain_put_code(pickle_t *p, uint8_t opcode, const void *data, size_t size);

/* Writes opcodes that push a copy of the value, without PROTO and STOP and without memo, so that bytes of several
 * values may be concatenated. false: not plain data, no room, or a list or dict in it has a second reference and would
 * be duplicated. */
bool plain_put(pickle_t *p, PyObject *value);

/* A new reference to the packed form of a map's item (see csched_plain_data); adds its size to *bytes. NULL without an
 * error set: not plain data. */
PyObject *plain_packed(PyObject *item, PyObject *kind, Py_ssize_t *bytes);

#endif
