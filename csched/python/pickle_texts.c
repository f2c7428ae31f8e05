#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "pickle_texts.h"

enum { LONGEST = 4096, DEEPEST = 4 }; /* bytes of a text that may be a name; pickles in pickles */
enum { TEXT = 0x8c, MEMOIZE = 0x94, STACK_GLOBAL = 0x93, PROTO = 0x80, FRAME = 0x95 };

/* The form of each opcode's argument: 1 + its size in bytes, or one of these; 0: no opcode. */
enum { SIZE_1 = 16, SIZE_4, SIZE_8, LINE, TWO_LINES };
static const uint8_t FORMS[256] = {
    ['('] = 1,          [')'] = 1,         ['.'] = 1,       ['0'] = 1,       ['1'] = 1,      ['2'] = 1,
    ['N'] = 1,          ['R'] = 1,         ['Q'] = 1,       [']'] = 1,       ['a'] = 1,      ['b'] = 1,
    ['d'] = 1,          ['e'] = 1,         ['l'] = 1,       ['o'] = 1,       ['s'] = 1,      ['t'] = 1,
    ['u'] = 1,          ['}'] = 1,         [0x81] = 1,      [0x85] = 1,      [0x86] = 1,     [0x87] = 1,
    [0x88] = 1,         [0x89] = 1,        [0x8f] = 1,      [0x90] = 1,      [0x91] = 1,     [0x92] = 1,
    [STACK_GLOBAL] = 1, [MEMOIZE] = 1,     [0x97] = 1,      [0x98] = 1,      ['K'] = 2,      ['h'] = 2,
    ['q'] = 2,          [PROTO] = 2,       [0x82] = 2,      ['M'] = 3,       [0x83] = 3,     ['J'] = 5,
    ['j'] = 5,          ['r'] = 5,         [0x84] = 5,      ['G'] = 9,       [FRAME] = 9,    ['C'] = SIZE_1,
    ['U'] = SIZE_1,     [0x8a] = SIZE_1,   [TEXT] = SIZE_1, ['B'] = SIZE_4,  ['T'] = SIZE_4, ['X'] = SIZE_4,
    [0x8b] = SIZE_4,    [0x8d] = SIZE_8,   [0x8e] = SIZE_8, [0x96] = SIZE_8, ['F'] = LINE,   ['I'] = LINE,
    ['L'] = LINE,       ['P'] = LINE,      ['S'] = LINE,    ['V'] = LINE,    ['g'] = LINE,   ['p'] = LINE,
    ['c'] = TWO_LINES,  ['i'] = TWO_LINES,
};

/* The opcodes whose argument may be a name, and those whose argument may be a pickle. */
static const bool NAMES[256] = {[TEXT] = true, ['X'] = true, [0x8d] = true, ['S'] = true, ['T'] = true,
                                ['U'] = true,  ['V'] = true, ['c'] = true,  ['i'] = true, ['P'] = true};
static const bool BYTES[256] = {['B'] = true, ['C'] = true, [0x8e] = true, [0x96] = true};

typedef struct {
    uint8_t *data;
    size_t size;
} texts_t;

/* The end of an opcode and its argument, whose contents begin at *body; NULL: none, or beyond the end. */
static const uint8_t *opcode_end(const uint8_t *at, const uint8_t *end, const uint8_t **body)
{
    uint8_t form = FORMS[*at++];
    size_t left = (size_t)(end - at), size = form - 1u;
    if (form >= LINE) {
        for (int lines = form - LINE + 1; at && lines; lines--) {
            at = memchr(at, '\n', (size_t)(end - at));
            at = at ? at + 1 : NULL;
        }
        return at;
    }
    if (form >= SIZE_1) {
        static const uint8_t widths[] = {1, 4, 8};
        uint8_t width = widths[form - SIZE_1];
        uint64_t told = 0;
        if (left < width)
            return NULL;
        memcpy(&told, at, width);
        at += width;
        left -= width;
        size = told;
    }
    *body = at;
    return form && size <= left ? at + size : NULL;
}

static void keep(texts_t *texts, const uint8_t *from, const uint8_t *to)
{
    memcpy(texts->data + texts->size, from, (size_t)(to - from));
    texts->size += (size_t)(to - from);
}

/* false: it is no pickle. There is room for all of it. */
static bool put_texts(texts_t *texts, const uint8_t *at, const uint8_t *end, int depth)
{
    bool after_text = false;
    while (at < end) {
        const uint8_t *body = at, *next = opcode_end(at, end, &body);
        if (!next)
            return false;
        bool is_short = next - body <= LONGEST, is_name = NAMES[*at] && is_short;
        if (*at == '.')
            return next == end;
        if (BYTES[*at] && !is_short) {
            size_t before = texts->size;
            if (*body == PROTO && (depth == DEEPEST || !put_texts(texts, body, next, depth + 1))) {
                texts->size = before;
                keep(texts, body, next);
            }
        } else if (is_name || BYTES[*at] || *at == STACK_GLOBAL || (*at == MEMOIZE && after_text)) {
            keep(texts, at, next);
        }
        after_text = is_name || (after_text && *at == FRAME);
        at = next;
    }
    return false;
}

static PyObject *texts(PyObject *self, PyObject *pickle)
{
    char *data;
    Py_ssize_t size;
    (void)self;
    if (PyBytes_Check(pickle) && PyBytes_AsStringAndSize(pickle, &data, &size) == 0) {
        const uint8_t *begin = (const uint8_t *)data;
        texts_t found = {malloc((size_t)size), 0}; /* pages that are not written are never there */
        PyObject *made = NULL;
        if (found.data && put_texts(&found, begin, begin + size, 0))
            made = PyBytes_FromStringAndSize((char *)found.data, (Py_ssize_t)found.size);
        free(found.data);
        if (made || PyErr_Occurred())
            return made;
    }
    Py_INCREF(pickle);
    return pickle;
}

int csched_pickle_texts(void *out)
{
    static PyMethodDef method = {"texts", texts, METH_O, "texts(pickle, /)\n--\n\nThe texts of a pickle."};
    return append_functions(out, &method, 1, NULL);
}
