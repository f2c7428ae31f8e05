/* Plain submits: calls with small arguments go from the interpreter to the scheduler without Python code in between.
 * Only in the module that keeps the GIL (build.py). */
#ifndef CSCHED_PYTHON_SUBMIT_H
#define CSCHED_PYTHON_SUBMIT_H

#include "csched.h"
#include "settings.h"

/* cffi: begin */
typedef struct {
    csched_t *s;
    uint64_t looked;      /* when the process context was last compared as a whole */
    uint64_t look_ns;     /* for how long that is valid */
    uint64_t left;        /* when the last submit returned */
    uint64_t *waited;     /* when a wait for results last ended; read only */
    uint64_t calls;       /* submits so far */
    uint64_t pauses;      /* nanoseconds between them, or after a wait, in which the caller did something long, */
    uint32_t gaps[160];   /* and how many others were so short: 4 for each power of 2 ns */
    uint64_t in_a_row_ns; /* a submit so soon after another needs no check: nothing can have changed */
    void *owner;          /* of the futures: the backend */
    void *gate;           /* whether it takes tasks: .closed and .broken */
    uint64_t asked;       /* how often a look at everything was asked for */
    void *noted;          /* list of one item: the tuple that holds what csched_plain_note was given */
    uint64_t digest;      /* the process context that workers have: csched_context_digest then, */
    void *path;           /* a list that was equal to sys.path; NULL: the next call looks at everything */
    void *warnings;       /* the namespace of that module, */
    void *filters;        /* the list that its `filters` were, */
    void *first_filter;   /* the first of them, and how many */
    int64_t filter_count;
    void *log_cache, *log_key; /* a dict, and under which key */
    void *log_mark;            /* it holds this as long as no log level was changed */
    void *log_handlers;        /* list: of the root logger, and how many */
    int64_t handler_count;
    void *settings;       /* csched_settings_t: what workers have */
    void *long_way;       /* (function, arguments, keywords) -> a future: whatever is no plain call */
    void *captures;       /* dict: function -> capsule of its captured state and number (capture.h) */
    void *check;          /* (function, arguments) raises TypeError if they do not fit */
    void *number;         /* function -> its number, 0: it is pickled with the arguments */
    void *future;         /* (owner) -> a future */
    void *table;          /* list: slot -> future */
    void *pop, *append;   /* takes a free slot or raises IndexError; gives one back */
    void *closed_name, *broken_name, *filters_name,
        *ticket_name; /* filled in by csched_plain_submit, with what it owns */
} csched_plain_t; /* borrowed references; it and they outlive the function made from it. What is noted together is set
                   * by csched_plain_note, in one step: Python code may be interrupted between two. */

/* Appends three functions to the list `out`; the first two keep `owner` alive, which keeps `plain`.
 * (function, arguments, run, options) -> a future, or None: no plain call, or something is to be looked after first.
 * The options are the address of a csched_options_t, or 0: a call without any.
 * (function, arguments, keywords) -> a future in any case: of a task in no run.
 * (future) -> None: the cycle collector is to look at it from now on.  Plain futures are kept from it until something is
 * stored in them that may refer to them: it would go through every one that waits, again and again. */
int csched_plain_submit(csched_plain_t *plain, void *owner, void *out);
/* Notes the context that workers have: a tuple of the path, the arguments (a list that was equal to sys.argv), and the
 * objects from `warnings` to `log_handlers` above; the digest and both counts; and `asked` when the look began. */
int csched_plain_note(csched_plain_t *plain, void *parts, uint64_t digest, int64_t filter_count, int64_t handler_count,
                      uint64_t asked);
/* a call that began at `start` and goes another way */
void csched_plain_count(csched_plain_t *plain, uint64_t start);
/* cffi: end */

#endif
