/* Settings that values depend on, compared before each call.  Only in the module that keeps the GIL (build.py).  Which
 * ones, and why: kernel_runtime/cellmill/process_context/settings.py. */
#ifndef CSCHED_PYTHON_SETTINGS_H
#define CSCHED_PYTHON_SETTINGS_H

#include <stdint.h>

/* cffi: begin */
typedef struct {
    void *get;          /* PyContextVar_Get, which the stable interface leaves out */
    void *variables[2]; /* context variables of numpy, NULL: not imported; another object as value is */
    void *values[2];    /* another setting.  Owned */
    void *decimal;      /* context variable of the module decimal; NULL: not imported */
    uint32_t words[24]; /* indices of the 4-byte words of a decimal context that hold its settings, */
    uint32_t word_count;
    uint64_t decimal_seen; /* and a digest of their values */
    void *digits;          /* sys.get_int_max_str_digits */
    int64_t digits_seen;
    int64_t recursion_seen;
    void *modules; /* sys.modules, and its noted size */
    int64_t module_count;
    void *options; /* dict of dicts: options of libraries; NULL: none of them is imported */
    uint64_t options_seen;
    void *dicts[40];         /* these dicts, each after the one that it is in, */
    uint64_t versions[40];   /* their versions (dict_version.h) when the options were noted, */
    uint32_t dict_count;     /* 0: more than that, or versions unknown */
    void *probes;            /* list of functions without arguments; another result is another setting */
    void *probed;            /* list of what they gave.  Owned */
} csched_settings_t; /* borrowed references but for the values */

/* Whether the settings differ from those noted. In a row of calls: checks only what can change within microseconds. */
int csched_settings_changed(csched_settings_t *settings, int in_a_row);
/* Notes the current settings. */
void csched_settings_note(csched_settings_t *settings);
/* Drops the owned references. */
void csched_settings_forget(csched_settings_t *settings);
/* cffi: end */

#endif
