/* Captured state: notes what a function refers to when it is pickled, and compares later. Only in the module that keeps
 * the GIL (build.py). */
#ifndef CSCHED_PYTHON_CAPTURE_H
#define CSCHED_PYTHON_CAPTURE_H

#include <stdbool.h>

#include "csched.h"

/* cffi: begin */
/* What is compared of `object`, with `value`; by identity unless noted. */
enum {
    CSCHED_ITEM, /* a dict's value of `key`; `value` is the marker of absence if there is none */
    CSCHED_CELL, /* the content of a closure's cell */
    CSCHED_ATTRIBUTE, /* the attribute `key` */
    CSCHED_EQUAL, /* the attribute `key`, by == */
    CSCHED_LIST, /* the members of a list: `value` is a tuple of them */
    CSCHED_DICT, /* keys and values of a dict: `value` is a tuple of them in turn */
    CSCHED_ITERABLE, /* the items of an iterable: `value` is a tuple of them */
    CSCHED_BUFFER, /* the bytes of an object with the buffer protocol: `value` is a bytes object, or an address */
    CSCHED_ARRAY, /* the same for a numpy array, and its layout: `key` is (address, shape, strides, dtype) */
    CSCHED_CALL, /* key() is true as long as nothing has changed */
};

/* Appends three functions to the list `out`.
 * capture(entries, absent, number, least, most) -> a capsule; entries: a list of (kind, object, key, value), which it
 * keeps; least, most: how many positional arguments certainly fit the function, if it is one.
 * changed(capsule) -> the index of the first entry that differs, or -1.
 * memory(object) -> the bytes of an object with the buffer protocol, as CSCHED_BUFFER compares them. */
int csched_captures(void *out);
/* cffi: end */

/* The function's number, 0 if its captured state differs, -1: an error is set. */
int64_t capture_number(PyObject *capsule);
/* Whether a call with `count` positional arguments certainly fits the function. */
bool capture_takes(PyObject *capsule, Py_ssize_t count);
/* Index of the first entry that differs; -1: none; -2: an error is set. */
Py_ssize_t capture_first_difference(PyObject *capsule);

#endif
