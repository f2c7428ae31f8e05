/* Settings that values depend on, looked at before each call: whether they are as they were.  Only in the module that
 * keeps the GIL (see build.py).  What is looked at, and why, says kernel_runtime/cellmill/settings.py. */
#ifndef CSCHED_PYTHON_SETTINGS_H
#define CSCHED_PYTHON_SETTINGS_H

#include <stdint.h>

/* cffi: begin */
typedef struct {
    void *get;          /* PyContextVar_Get, which the stable interface leaves out */
    void *variables[2]; /* context variables of numpy, NULL: it is not imported; a value that is another object is */
    void *values[2];    /* another setting.  Owned */
    void *decimal;      /* context variable of the module decimal; NULL: it is not imported */
    uint32_t words[24]; /* in which places, of 4 bytes, a decimal context holds its settings, */
    uint32_t word_count;
    uint64_t decimal_seen; /* and a digest of them */
    void *digits;          /* sys.get_int_max_str_digits */
    int64_t digits_seen;
    int64_t recursion_seen;
    void *modules; /* sys.modules, and how many there were */
    int64_t module_count;
    void *options; /* dict of dicts: options of pandas and matplotlib; NULL: neither is imported */
    uint64_t options_seen;
    void *dicts[40];         /* these dicts, each after the one that it is in, */
    uint64_t versions[40];   /* and their states (dict_version.h) when the options were as they were seen, */
    uint32_t dict_count;     /* 0: there are more, or states are not known */
} csched_settings_t; /* borrowed references but for the values */

/* Whether they are others than those that were noted.  In a row: only what could be changed within a moment. */
int csched_settings_changed(csched_settings_t *settings, int in_a_row);
/* They are as they should be now. */
void csched_settings_note(csched_settings_t *settings);
/* Lets go of what it owns. */
void csched_settings_forget(csched_settings_t *settings);
/* cffi: end */

#endif
