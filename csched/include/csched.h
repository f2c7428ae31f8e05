/* csched: the Cellmill task scheduler.
 *
 * One process, the kernel, owns a csched_t; every worker process owns a csched_worker_t.  They share memory
 * through unnamed memfds (layout.h).  The region between the cffi marks is all that Python sees.
 *
 * Conventions: functions return 0 (or a count) or a negative CSCHED_E code; values come back through the last
 * pointers.  Times are CLOCK_MONOTONIC nanoseconds.  All csched_* functions on one csched_t may be called from
 * any thread at once; the csched_worker_* functions belong to the worker's main thread, unless they say otherwise.
 */
#ifndef CSCHED_H
#define CSCHED_H

#include <stddef.h>
#include <stdint.h>

#define CSCHED_EXPORT __attribute__((visibility("default")))

/* cffi: begin */
enum {
    CSCHED_OK = 0,
    CSCHED_EINVAL = -1,    /* an argument makes no sense */
    CSCHED_ENOMEM = -2,    /* no memory for the scheduler's own structures */
    CSCHED_EFULL = -3,     /* the memory for payloads is full: wait for tasks to end, or spill to a file */
    CSCHED_ESTALE = -4,    /* an input has been collected meanwhile: send its value along instead */
    CSCHED_ESYSTEM = -5,   /* a system call failed: errno tells which */
    CSCHED_ECORRUPT = -6,  /* shared memory does not hold what it must */
    CSCHED_EAGAIN = -7,    /* interrupted by a signal, or nothing there yet */
    CSCHED_ESTOPPED = -8,  /* the scheduler or the worker is shutting down */
    CSCHED_ETOOBIG = -9,   /* larger than what it shall go to can ever hold */
    CSCHED_EDISK = -10,    /* no room on disk for what memory does not hold */
    CSCHED_EHEARD = -11    /* native code has written to the worker's pipes: take that, then publish again */
};

/* how a task ended */
enum {
    CSCHED_VALUE = 0,      /* a pickled value */
    CSCHED_NONE = 1,       /* the value None: no payload */
    CSCHED_ERROR = 2,      /* a pickled exception */
    CSCHED_LOST = 3,       /* its worker died while running it */
    CSCHED_CANCELLED = 4,  /* cancelled before it ran, or stopped */
    CSCHED_DEPENDENCY = 5, /* an input failed or was cancelled: detail is its position */
    CSCHED_TIMEOUT = 6,    /* stopped at its time limit */
    CSCHED_NOROOM = 7,     /* its inputs found no room in memory nor on disk */
    CSCHED_RETRIED = 8,    /* in journeys: an attempt that failed, and another one followed */
    CSCHED_KEEPS = 256     /* or-ed to what a worker publishes: it still refers to the task's inputs in place */
};

/* what csched_worker_next found */
enum { CSCHED_TASK = 1, CSCHED_FUNCTION = 2, CSCHED_CONTROL = 3 }; /* a function of 0 bytes is to be forgotten */

/* kinds of csched_message_t */
enum {
    CSCHED_OUTPUT = 1,  /* what a task printed lies in its worker's pipe, up to its end */
    CSCHED_PARTIAL = 2, /* results of the first elements of a chunk that still runs */
    CSCHED_REPLY = 3,   /* the worker's answer to a control entry */
    CSCHED_LETGO = 5,   /* nothing in the worker refers to the inputs of task `ticket` any more: stays in C */
    CSCHED_OVERDUE = 4, /* a task ran past its time limit on worker `worker`; ticket 0: that worker makes no sense */
    CSCHED_ATTEMPT = 6  /* an attempt failed, `detail` says how: csched_retry or csched_give_up answers */
};

/* what a row of csched_find is: a bit for each */
enum {
    CSCHED_IS_WAITING = 1,   /* for inputs */
    CSCHED_IS_DELAYED = 2,   /* kept back until a time */
    CSCHED_IS_QUEUED = 4,    /* ready, for a worker */
    CSCHED_IS_SENT = 8,      /* in a worker's ring, behind others */
    CSCHED_IS_RUNNING = 16,
    CSCHED_IS_STOPPING = 32, /* it runs, and is to end */
    CSCHED_IS_DONE = 64,
    CSCHED_IS_FAILED = 128,  /* with an error, at its time limit, without room */
    CSCHED_IS_LOST = 256,
    CSCHED_IS_CANCELLED = 512,
    CSCHED_IS_NOT_RUN = 1024, /* an input failed */
    CSCHED_IS_RETRIED = 2048 /* an attempt that failed, and another one followed */
};

/* in which order csched_find gives its rows */
enum {
    CSCHED_BY_NEWS = 0,   /* what happened last, first */
    CSCHED_BY_NEWEST = 1, /* submitted last, first */
    CSCHED_BY_OLDEST = 2,
    CSCHED_BY_RUN = 3,    /* the longest time in user code first */
    CSCHED_BY_QUEUE = 4,  /* the longest time from ready to a worker */
    CSCHED_BY_ATTEMPTS = 5
};

enum {
    CSCHED_WHY_OVER = 0, /* or never heard of */
    CSCHED_WHY_RUNNING = 1,
    CSCHED_WHY_STOPPING = 2,
    CSCHED_WHY_INPUTS = 3,
    CSCHED_WHY_DELAYED = 4,
    CSCHED_WHY_PAUSED = 5,
    CSCHED_WHY_NO_WORKER = 6, /* none is ready */
    CSCHED_WHY_QUEUED = 7,
    CSCHED_WHY_SENT = 8 /* in a worker's ring */
};

enum { CSCHED_STAGES = 8 };

/* csched_figures_t.of: the seven intervals between the stages, and these two */
enum { CSCHED_PICKLE = 7, CSCHED_BESIDE = 8, CSCHED_INTERVALS = 9, CSCHED_EVERY_RUN = -1 };
/* states of the map: of a task, and of a cell that stands for one */
enum {
    CSCHED_MAP_NONE = 0,
    CSCHED_MAP_WAITING = 1, /* for inputs, or to be tried again */
    CSCHED_MAP_QUEUED = 2,
    CSCHED_MAP_RUNNING = 3,
    CSCHED_MAP_DONE = 4,
    CSCHED_MAP_FAILED = 5,
    CSCHED_MAP_CANCELLED = 6,
    CSCHED_MAP_LOST = 7,
    CSCHED_MAP_STATES = 8
};
/* A cell that stands for several: how many fifteenths of them are done, 0 and 15 only when none and all are, and
 * whether any failed or was lost, runs, waits for inputs or for a worker, was cancelled. */
enum { CSCHED_CELL_FAILED = 16, CSCHED_CELL_RUNNING = 32, CSCHED_CELL_WAITING = 64, CSCHED_CELL_CANCELLED = 128 };

typedef struct csched csched_t;
typedef struct csched_worker csched_worker_t;
typedef struct csched_zero csched_zero_t;
typedef struct csched_lane csched_lane_t;
typedef struct csched_dag csched_dag_t;
typedef struct csched_timeline csched_timeline_t;

typedef struct {
    uint64_t ring_bytes;    /* of each ring, a power of two; 0: 262,144 */
    uint64_t arena_bytes;   /* the most that one process may hold in payload blocks; 0: the machine's memory */
    uint64_t journey_rows;  /* finished tasks whose stamps are kept, a power of two; 0: 262,144 */
    uint32_t spin_us;       /* how long a waiting kernel thread polls before it sleeps */
    uint32_t helper;        /* 1: start the helper thread */
    uint64_t file_bytes;    /* the most that one process may hold in its file; 0: 128 GiB */
    uint64_t worker_tasks;  /* a worker that was sent so many tasks ends with the last of them; 0: no such limit */
    uint64_t window_ns;     /* work that a worker should have in hand; 0: 2 ms */
    uint32_t window_most;   /* and at most so many tasks; 0: 1,024 */
} csched_config_t;

typedef struct { /* what csched_submit_with takes beside the payload */
    const uint64_t *inputs; /* tickets of the tasks whose results this one takes, in order */
    uint32_t input_count;
    uint32_t count;    /* elements of a chunk, else 1 */
    int32_t priority;  /* -100 .. 100, larger runs first */
    uint32_t retries;  /* how often a task that failed or was lost starts again, at most 255 */
    uint64_t timeout_ns; /* 0: none; counted from the moment the worker takes it */
    uint64_t block;    /* payload in a kernel block at this offset; UINT64_MAX: in line */
    uint64_t not_before; /* kept back until this time; 0: at once */
    uint32_t attempt;  /* how often it was tried before, for its journey */
    uint32_t ask;      /* 1: after each failed attempt that is not the last, CSCHED_ATTEMPT asks what to do */
    uint64_t position; /* in the map, plus one, where it was submitted before; 0: a new one */
} csched_options_t;

typedef struct { /* many tasks at once, for csched_submit_many; `ends` says where the part of each task ends */
    uint32_t count;
    uint32_t run;
    int32_t priority;
    uint32_t reserved;
    const uint32_t *slots;
    const uint32_t *functions;  /* NULL: the function is in the payload */
    const uint64_t *input_ends; /* NULL: no inputs */
    const uint64_t *inputs;     /* tickets, or positions of earlier tasks in this batch */
    const uint64_t *data_ends;  /* NULL: no payloads */
    const void *data;           /* payloads, in line */
    uint64_t *tickets;          /* of each task, stored here */
} csched_batch_t;

typedef struct { /* a finished task, 56 bytes, read by struct.unpack in Python: keep in step with FORMAT there */
    uint32_t slot;
    uint16_t status;
    uint16_t worker;
    uint32_t detail;  /* CSCHED_DEPENDENCY: position of the input; CSCHED_LOST: the element that ran; else failures */
    uint32_t count;
    uint64_t blob;    /* CSCHED_LOST, CSCHED_TIMEOUT: the arguments; to be retained if views outlive the commit */
    uint64_t address; /* of the payload in this process */
    uint64_t size;
    uint64_t run_ns;  /* from start to finish of user code; CSCHED_TIMEOUT: the limit */
    uint32_t function;
    uint32_t run;
} csched_completion_t;

typedef struct {
    uint32_t kind;
    uint32_t worker;
    uint32_t slot;
    uint32_t detail; /* CSCHED_OUTPUT: unused; PARTIAL: elements; REPLY: the request's number */
    uint32_t run;    /* of the task */
    uint32_t function; /* CSCHED_ATTEMPT: of the task */
    uint64_t ticket;
    uint64_t blob;
    uint64_t address;
    uint64_t size;
    uint64_t limit_ns; /* CSCHED_ATTEMPT: the time limit of the task */
} csched_message_t;

typedef struct { /* 96 bytes: one row of the journey ring */
    uint64_t ticket;
    uint32_t run;
    uint32_t function;
    uint32_t element; /* position within its chunk */
    uint16_t worker;
    uint8_t status;
    uint8_t attempt;
    uint64_t stamps[8]; /* submitted ready dispatched received started finished returned resolved; 0: unknown */
    float pack_ns;      /* time spent pickling in the kernel */
    uint32_t position;  /* in the map, its lower half: in the order of submission */
} csched_journey_t;

typedef struct { /* 64 bytes: tasks that a worker ran one after the other, or one of them */
    uint64_t start, end;
    uint64_t ticket; /* of the first */
    uint32_t count;  /* tasks, an estimate when only a sample was read */
    uint32_t failed; /* of them: with an error, or past their time limit */
    uint32_t cut;    /* of them: lost with their worker, or stopped */
    uint16_t worker;
    uint16_t running; /* 1: it still runs, `end` is now */
    uint32_t functions[3]; /* UINT32_MAX: none */
    uint8_t shares[4]; /* of its length that each of them took, in 255ths; the last: all other functions */
    uint32_t place;  /* of the span among all: what comes later for the same place replaces it */
    uint32_t reserved;
} csched_span_t;

typedef struct {
    uint64_t count, sum, median, p95, p99, largest; /* tasks that tell, and nanoseconds */
} csched_figure_t;

typedef struct { /* of one function */
    uint32_t function; /* UINT32_MAX: of the functions beyond those that are told apart */
    uint32_t reserved;
    uint64_t tasks, failed, cut; /* attempts count as tasks */
    csched_figure_t of[9];
} csched_figures_t;

typedef struct {
    uint64_t now;
    uint64_t fold;      /* number of this fold */
    uint64_t tasks;     /* of this piece of work that have been folded */
    uint64_t sampled;   /* of them: known from a sample only */
    uint64_t dropped;   /* overwritten before they were read; their number may hold some of earlier work */
    uint64_t forgotten; /* tasks without a span, of a pool with very many workers */
    uint64_t threshold; /* spans shorter than this hold several tasks */
    uint32_t generation; /* another one: the spans' places are not what they were */
    uint32_t spans, functions;
    uint32_t behind;    /* 1: there is more to read */
} csched_timeline_state_t;
typedef struct { /* what csched_map is asked for, and answers */
    uint64_t first, last; /* positions from, and up to: wanted, then told */
    uint64_t next;     /* positions ever given */
    uint64_t counts[8]; /* of those told, by state */
    uint32_t span;     /* positions a cell, a power of two, at most 65,536 */
    uint32_t cells;    /* written */
} csched_map_t;

typedef struct {
    uint64_t submitted, waiting, queued, running, succeeded, failed, cancelled;
    uint64_t arena_used, arena_size; /* of the kernel's memory for payloads */
    uint64_t file_used, file_size;   /* of its file */
    uint64_t journeys, completions;
    uint32_t workers, ready_workers;
    uint64_t stopping; /* of those that run: cancelled, and not over yet */
} csched_stats_t;

typedef struct {
    uint64_t submitted, succeeded, failed, cancelled;
    uint64_t stopping; /* cancelled, still running, and not counted as cancelled yet */
} csched_run_t;

typedef struct { /* a task that runs and shall end */
    uint64_t ticket;
    uint64_t since; /* when its worker took it */
    uint32_t worker;
    uint32_t element; /* of a chunk, when it is meant alone; else 2^32-1 */
} csched_target_t;

typedef struct {
    uint32_t state; /* 0 free, 1 starting, 2 ready, 3 lost */
    uint32_t held;  /* tasks in its ring, the running one included */
    uint64_t ticket; /* of the task it runs, 0: none */
    uint64_t since;  /* when that one started */
    uint32_t run, function, element; /* of it */
    uint32_t stopping; /* 1: it is to end */
    uint64_t finished; /* tasks so far */
} csched_worker_info_t;

/* how the tasks of a picture of dependencies stand */
enum {
    CSCHED_DAG_WAITING = 0,
    CSCHED_DAG_QUEUED = 1,
    CSCHED_DAG_RUNNING = 2,
    CSCHED_DAG_DONE = 3, /* also where the journey ring has forgotten how it ended */
    CSCHED_DAG_FAILED = 4,
    CSCHED_DAG_CANCELLED = 5,
    CSCHED_DAG_SKIPPED = 6, /* an input failed or was cancelled */
    CSCHED_DAG_STATES = 7
};
#define CSCHED_DAG_SEVERAL 4294967295 /* in place of a function's number: not known, or more than one */

typedef struct {
    uint32_t nodes, edges;
    uint32_t partial;   /* 1: this work has had more edges than are kept, the oldest are missing */
    uint32_t reserved;
    uint64_t structure; /* another number when there are other nodes or edges */
    uint64_t changes;   /* another number when a state changed, too */
} csched_dag_info_t;

typedef struct { /* tasks of one function at one depth, 48 bytes */
    uint32_t function;
    uint32_t depth;
    float seconds; /* run time of all */
    uint32_t reserved;
    uint32_t counts[8]; /* by state */
} csched_dag_group_t;

typedef struct { /* an edge between groups */
    uint32_t from, to, count;
} csched_dag_link_t;
typedef struct { /* what csched_find looks for: every condition that is there must hold */
    uint32_t kinds;         /* bit mask of CSCHED_IS_ */
    uint32_t order;         /* CSCHED_BY_ */
    uint32_t by_run, run;   /* by_run 1: of this run alone */
    const uint64_t *functions; /* bit set of function numbers; a task of one of these, */
    uint32_t function_words;
    uint32_t ticket_count;
    const uint64_t *tickets; /* or one of these: tickets, or serial numbers (below 2^32); sorted */
    uint32_t by_text;       /* 1: functions and tickets are looked at */
    uint32_t by_position;   /* 1: of the one at this position of the map alone, its attempts, the latest first */
    uint64_t position;
    uint32_t offset;        /* rows that are left out, the best ones: at most 100,000 */
    uint32_t reserved;
} csched_query_t;

typedef struct { /* 128 bytes: an attempt that is over (of each element), or a task that is not (its elements in one) */
    csched_journey_t journey; /* what is not known yet is 0; `received` of one that runs: since when */
    uint32_t kind; /* CSCHED_IS_ */
    uint32_t count; /* elements it stands for */
    int32_t priority; /* of those that are not over */
    uint32_t reserved;
    uint64_t key; /* what it is ordered by */
    uint64_t matched; /* in the first row: all that matched, however many rows were asked for; of a position: more */
} csched_row_t;

typedef struct { /* why a task waits, or what it does instead */
    uint32_t reason; /* CSCHED_WHY_ */
    uint32_t run, function, count;
    int32_t priority;
    uint32_t worker; /* in whose ring it stands, or that runs it; UINT32_MAX: none */
    uint32_t inputs, missing; /* that it takes, and of those: not there yet */
    uint32_t named; /* of those: how many are in `waits_for` */
    uint32_t attempt, retries;
    uint32_t workers, ready; /* that there are, and of those: started */
    uint32_t asked; /* 1: kept back until who submitted it has decided */
    uint64_t waits_for[8]; /* tickets */
    uint64_t higher, same,
        others; /* queued: elements before it, of a higher priority; of its own run; and of other runs
                                    * with the same priority, with whom it takes turns */
    uint64_t ahead; /* sent: tasks before it in that worker's ring */
    uint64_t ticket; /* sent: what runs there now, 0: nothing */
    uint64_t since; /* that, or it, began; or it has been ready */
    uint64_t until; /* kept back until then */
} csched_why_t;

typedef struct { /* a task that has not been committed yet */
    uint64_t ticket;
    uint64_t address, size; /* failed: its payload, in place until it is committed */
    uint32_t run, function, worker, attempt;
} csched_ended_t;

typedef struct { /* what csched_worker_next hands to a worker; valid until the next call of it */
    uint32_t kind, slot, function, count;
    uint64_t ticket;
    uint64_t address, size; /* of the payload */
    uint32_t inputs; /* number of results of other tasks that come with it */
    uint32_t flags;
} csched_item_t;

/* A task, function or request on its way through a lane, 48 bytes: keep in step with PACKED in Python.  Its bytes lie in
 * the pack's data at `at`; of a task with inputs these follow, at the next multiple of 8: each its status (4 bytes), 4
 * bytes of 0, its size (8), and its bytes, filled up to a multiple of 8. */
typedef struct {
    uint32_t kind; /* CSCHED_TASK, CSCHED_FUNCTION, CSCHED_CONTROL */
    uint32_t function; /* of a request: its number */
    uint64_t ticket;
    uint32_t count, inputs;
    uint32_t alone; /* 1: it has the lane for itself */
    uint32_t reserved;
    uint64_t at, size;
} csched_packed_t;

typedef struct { /* what came of it, 56 bytes: keep in step with OUTCOME in Python */
    uint32_t kind; /* CSCHED_TASK: of the oldest task without one; CSCHED_CONTROL: a reply, `failures` its number */
    uint32_t status;
    uint32_t failures;
    uint32_t marks; /* when each element of a chunk began: 8 bytes each, before the bytes of the result */
    uint64_t ticket;
    uint64_t size; /* of the result */
    uint64_t received, started, finished; /* by the clock of who ran it */
} csched_outcome_t;

typedef struct { /* one side of a bare ring; private to csched_bare_* */
    void *ends, *data;
    uint64_t fields[4];
    uint32_t peeked;
} csched_bare_t;

/* errors */
const char *csched_error_name(int code);

/* the kernel's end: life */
int csched_create(const csched_config_t *config, csched_t **scheduler);
int csched_close(csched_t *s); /* takes no more tasks; those it has go on */
int csched_stop(csched_t *s); /* takes no more tasks and lets its workers go; payloads stay readable */
int csched_destroy(csched_t *s); /* stops, and unmaps everything: no view of a payload may be left */
int csched_forked(csched_t *s); /* in a forked child: lets go of everything but the payloads that are looked at */
int csched_set_policy(csched_t *s, const char *name);
int csched_stats(csched_t *s, csched_stats_t *stats);
uint64_t csched_now(void);
uint64_t csched_surroundings(void); /* another one when this process's directory or environment has changed */

/* workers: fds = segment, bell, control socket, arena (all close-on-exec, to be passed on and closed) */
int csched_worker_add(csched_t *s, uint32_t *index, int fds[4]);
int csched_worker_lost(csched_t *s, uint32_t index); /* it is dead: give its work to others */
int csched_worker_retire(csched_t *s, uint32_t index); /* no new work; it stops when its ring is empty */
int csched_worker_info(csched_t *s, uint32_t index, csched_worker_info_t *info);
int csched_worker_condemn(csched_t *s, uint32_t index, uint64_t ticket, uint32_t element); /* see stop.c; 1: kill it */
int csched_worker_overhear(csched_t *s, uint32_t index,
                           uint64_t ticket); /* its native output is read here: say when it ends */
/* Take the turn, or give it up: 1 when it is one's own.  Who has it reads what native code of this worker has written,
 * and the worker sends frames in its own only: so the two come in the order in which they were made. */
int csched_output_turn(csched_t *s, uint32_t index, int take);
int csched_control(csched_t *s, uint32_t index, uint32_t number, const void *data, uint64_t size);

/* functions and payload blocks */
int csched_function_add(csched_t *s, const void *data, uint64_t size, uint64_t block, uint32_t *function);
int csched_function_drop(csched_t *s, uint32_t function); /* takes no new tasks, and goes with its last one */
int csched_block_alloc(csched_t *s, uint64_t size, uint64_t *offset, uint64_t *address);
int csched_block_spill(csched_t *s, uint64_t size, uint64_t *offset, uint64_t *address); /* in a file: may take long */
int csched_block_fill(csched_t *s, uint64_t at, const void *data, uint64_t size); /* within a block: offsets count on */
int csched_block_free(csched_t *s, uint64_t offset);

/* tasks: slots belong to the caller, who takes them from csched_reserve and may use one again after its commit */
int csched_reserve(csched_t *s, uint32_t slots); /* makes slots 0 .. slots-1 usable */
int64_t csched_submit(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, const void *data, uint64_t size,
                      uint64_t pack_ns); /* the task's ticket, or an error */
int64_t csched_submit_block(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, uint64_t block, uint64_t size,
                            uint64_t pack_ns); /* its payload lies in a kernel block */
int64_t csched_submit_with(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, const void *data, uint64_t size,
                           uint64_t pack_ns, const csched_options_t *options);
/* how many of the batch, in order, were submitted; an error when the first one could not be.  Without the GIL. */
int csched_submit_many(csched_t *s, const csched_batch_t *batch);
int csched_cancel(csched_t *s, uint64_t ticket); /* 1: it will not run; 0: too late */
int csched_cancel_run(csched_t *s, uint32_t run); /* how many were cancelled */
int csched_cancel_all(csched_t *s);
int csched_task_state(csched_t *s, uint64_t ticket); /* 0 unknown or over, 1 waiting, 2 queued, 3 running, 4 stopping */
uint32_t csched_task_run(csched_t *s, uint64_t ticket); /* UINT32_MAX: it has none, or is over */
uint32_t csched_serial(csched_t *s); /* of the latest ticket: its upper half */

/* stopping: cancels what has not begun and marks what runs, which the caller then signals (see stop.c) */
int csched_stop_task(csched_t *s, uint64_t ticket, csched_target_t *target); /* 1: cancelled; 2: it runs; 0: over */
/* number of targets.  `after`: only tasks with later serial numbers, 0: all; `cancelled`: how many had not begun */
int csched_stop_run(csched_t *s, uint32_t run, uint32_t after, csched_target_t *targets, uint32_t most,
                    uint32_t *cancelled);
int csched_interrupt(csched_t *s, uint64_t ticket, uint32_t element,
                     csched_target_t *target); /* 1: it runs, and is to hear it; of a chunk this element, 2^32-1: all */
/* 1: signal again; 0: it was heard; CSCHED_EAGAIN: the task, or this element, is over */
int csched_unheard(csched_t *s, uint64_t ticket, uint32_t element);

/* answers to CSCHED_ATTEMPT */
int csched_retry(csched_t *s, uint64_t ticket, uint64_t delay_ns);
int csched_give_up(csched_t *s, uint64_t ticket, uint32_t status); /* it ends so, without a payload */
int csched_task_worker(csched_t *s, uint64_t ticket); /* the worker that runs it, or -1 */
int csched_pause(csched_t *s, int on);

/* results: peek with collect, hand over, then commit the same number.  One collector at a time. */
int csched_poll(csched_t *s, uint32_t spin_us); /* drains; number of completions and messages that are there */
int csched_wait(csched_t *s, uint32_t timeout_ms); /* the same, sleeping; call it without the GIL */
/* the same for the result of one task: others only wake it when work depends on them, and after some milliseconds */
int csched_wait_for(csched_t *s, uint64_t ticket, uint32_t timeout_ms);
int csched_wait_background(csched_t *s, uint32_t timeout_ms); /* sleeps until results lie there uncollected */
int csched_collect(csched_t *s, uint32_t most, csched_completion_t *completions);
int csched_commit(csched_t *s, uint32_t count);
/* collect and commit in one, for who needs no results: the slots that are free now */
int csched_discard(csched_t *s, uint32_t most, uint32_t *slots);
int csched_messages(csched_t *s, uint32_t most, csched_message_t *messages);
int csched_messages_commit(csched_t *s, uint32_t count);
int csched_blob_retain(csched_t *s, uint64_t blob);
int csched_blob_release(csched_t *s, uint64_t blob);
int csched_wake(csched_t *s); /* wakes every waiting thread */

/* runs and journeys */
int csched_run_open(csched_t *s, uint32_t *run);
int csched_run_counts(csched_t *s, uint32_t run, csched_run_t *counts);
int csched_run_adjust(csched_t *s, uint32_t run, int64_t submitted, int64_t succeeded, int64_t failed,
                      int64_t cancelled);
int csched_run_close(csched_t *s, uint32_t run);
int csched_journeys(csched_t *s, uint64_t *cursor, uint32_t most, csched_journey_t *rows, uint64_t *dropped);

/* the tasks with inputs or dependents, as a view draws them: the newest 65,536 edges and more.  One picture belongs to
 * one thread at a time, and goes before its scheduler; a look takes some milliseconds: without the GIL. */
int csched_depended(csched_t *s, uint64_t ticket, uint32_t function, const uint64_t *inputs,
                    uint32_t count); /* its inputs were over, and their values went along */
int csched_dag_open(csched_t *s, csched_dag_t **dag);
int csched_dag_close(csched_dag_t *dag);
/* `since`: only tasks with later serial numbers and their inputs; 0: all */
int csched_dag_look(csched_dag_t *dag, uint32_t since, csched_dag_info_t *info);
/* one element of each column a node; NULL: not wanted.  Inputs come before what takes them, so that the depth is the
 * longest path from a task without inputs. */
int csched_dag_nodes(const csched_dag_t *dag, uint64_t *tickets, uint32_t *functions, uint32_t *depths, uint8_t *states,
                     float *seconds);
int csched_dag_edges(const csched_dag_t *dag, uint32_t *pairs); /* positions of the nodes: from, to */
/* Folded into at most `most` groups: of one function and one depth, or of 2, 4, 8... depths where those are too many;
 * the caller frees neither.  `span`: the depths of a group.  Valid until the next look or fold. */
int csched_dag_fold(csched_dag_t *dag, uint32_t most, const csched_dag_group_t **groups, uint32_t *group_count,
                    const csched_dag_link_t **links, uint32_t *link_count, uint32_t *span);
/* The journeys of one piece of work, folded for views: who calls it, from one thread at a time, need not be who runs
 * tasks.  A call holds the scheduler's lock for well below a millisecond at a time. */
int csched_timeline_open(csched_timeline_t **timeline);
int csched_timeline_close(csched_timeline_t *t);
/* anew: tasks submitted since then, of one run or (CSCHED_EVERY_RUN) of all */
int csched_timeline_begin(csched_timeline_t *t, csched_t *s, uint64_t since, int64_t run);
int csched_timeline_fold(csched_timeline_t *t, csched_t *s, csched_timeline_state_t *state); /* what came since */
/* number of spans that changed after fold `after`; UINT64_MAX: all */
int csched_timeline_spans(const csched_timeline_t *t, uint64_t after, uint32_t most, csched_span_t *spans);
int csched_timeline_figures(const csched_timeline_t *t, uint32_t most, csched_figures_t *figures);
int csched_timeline_running(csched_t *s, uint32_t most, csched_span_t *spans); /* a span for each task that runs */
/* tasks that ran between these times, of those whose journeys are kept, one span each; when there are more than `most`
 * an even choice of them.  `found`: how many there are */
int csched_timeline_window(csched_t *s, uint64_t from, uint64_t to, uint32_t most, csched_span_t *spans,
                           uint64_t *found);
/* the state map: a byte for each task, or element of a chunk, in the order of submission; the newest 4,194,304 */
int csched_map(csched_t *s, csched_map_t *wanted, uint8_t *cells, uint32_t most); /* to be called without the GIL */
uint64_t csched_map_next(csched_t *s); /* positions ever given */
int csched_map_add(csched_t *s, uint32_t count, uint32_t state); /* those of tasks that never come to be submitted */
/* outcomes that the scheduler does not see: of elements within a chunk */
int csched_map_set(csched_t *s, uint64_t position, uint32_t count, uint32_t state);
uint64_t csched_task_position(csched_t *s, uint32_t slot); /* of its first element; 2^64-1: there is no such task */
/* PackBits: n < 128 is followed by n + 1 cells, n > 128 by one that comes 257 - n times.  How many bytes: at most
 * count + count / 128 + 1 */
uint32_t csched_map_pack(const uint8_t *cells, uint32_t count, uint8_t *packed);
/* questions, for views.  They look at all there is in steps that hold the lock for well below a millisecond, so what they
 * see of different tasks may differ by some; without the GIL. */
int csched_find(csched_t *s, const csched_query_t *query, uint32_t most, csched_row_t *rows); /* how many, best first */
int csched_why(csched_t *s, uint64_t ticket, csched_why_t *why);
/* of tasks that have not begun: 1 or the number of elements; 0: too late.  Those behind them in rings come back first */
int csched_set_priority(csched_t *s, uint64_t ticket, int32_t priority);
int64_t csched_set_run_priority(csched_t *s, uint32_t run, int32_t priority);
int csched_ended(csched_t *s, uint32_t slot, csched_ended_t *ended);
/* the size of the payload of a task that is not over, copied if there is room for it */
int64_t csched_payload(csched_t *s, uint64_t ticket, void *data, uint64_t room);
/* Elements of a chunk that is over and not committed: how they ended, which only their results tell; for journeys. */
int csched_mark_elements(csched_t *s, uint32_t slot, uint32_t status, const uint32_t *elements, uint32_t count);

/* for benchmarks: a ring of messages with nothing else, in zeroed, page-aligned memory shared by two processes.  Each
 * side opens it; one puts, the other takes, without waiting: CSCHED_EFULL, CSCHED_EAGAIN. */
int csched_bare_open(void *memory, uint64_t bytes, csched_bare_t *ring);
int csched_bare_put(csched_bare_t *ring, const void *data, uint64_t size);
int csched_bare_take(csched_bare_t *ring, void *data, uint64_t room); /* spins a little; 1 when there was one */

/* a worker's end */
int csched_worker_attach(const int fds[4], csched_worker_t **worker);
int csched_worker_detach(csched_worker_t *w);
int csched_worker_watch(csched_worker_t *w, int kernel_pidfd); /* starts the thread that dies with the kernel */
int csched_worker_forked(csched_worker_t *w); /* in a child forked by a task: what it publishes reaches nobody */
int csched_worker_ready(csched_worker_t *w);
int csched_worker_next(csched_worker_t *w, uint32_t spin_us, uint32_t timeout_ms, csched_item_t *item);
int csched_worker_input(csched_worker_t *w, uint32_t position, uint32_t *status, uint64_t *address, uint64_t *size);
int csched_worker_started(csched_worker_t *w); /* stamps; all inputs are unpickled */
int csched_worker_finished(csched_worker_t *w); /* stamps; user code is over */
int csched_worker_element(csched_worker_t *w, uint32_t element); /* that runs from now on; 2^32-1: none of them */
uint64_t csched_worker_since_flush(csched_worker_t *w); /* ns since this task's last result or start */
int csched_worker_alloc(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address);
int csched_worker_spill(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address); /* in a file */
int csched_worker_fill(csched_worker_t *w, uint64_t at, const void *data, uint64_t size);
int csched_worker_free(csched_worker_t *w, uint64_t offset);
int csched_worker_let_go(csched_worker_t *w, uint64_t ticket); /* after a result with CSCHED_KEEPS */
/* 1: the task had its result already, which stands; a block stays the caller's.
 * A task with neither payload nor inputs starts when it is received; one that was not reported finished ends here. */
int csched_worker_publish(csched_worker_t *w, uint32_t status, uint32_t failures, const void *data, uint64_t size,
                          uint64_t block);
/* publish, then next, with one look at the clock for both; CSCHED_EFULL: there was no room for the result, again */
int csched_worker_turn(csched_worker_t *w, uint32_t status, uint32_t failures, const void *data, uint64_t size,
                       uint64_t block, uint32_t spin_us, uint32_t timeout_ms, csched_item_t *item);
int csched_worker_emit(csched_worker_t *w, uint32_t kind, uint32_t detail, const void *data, uint64_t size,
                       uint64_t block);
int csched_worker_interrupted(csched_worker_t *w); /* 1: the kernel wants the task in hand ended; from any handler */
int csched_worker_overdue(csched_worker_t *w); /* 1: and of its elements only the one in hand, past its limit */
int csched_worker_heard(csched_worker_t *w); /* KeyboardInterrupt is being raised in it; from any handler */
uint64_t csched_worker_current(csched_worker_t *w); /* ticket of the task in user code now; any thread or handler */
uint64_t csched_worker_index(csched_worker_t *w);
uint32_t csched_worker_place(csched_worker_t *w); /* the element of a chunk that runs now */
/* Read ends of the pipes that are this process's descriptors 1 and 2; before a result they are looked at, if the last
 * look was 50 us ago or more.  The C library's stdout goes there line by line. */
int csched_worker_listen(csched_worker_t *w, const int native[2]);
int csched_worker_output_turn(csched_worker_t *w, int take); /* see csched_output_turn */

/* A lane: a worker that lives elsewhere, on somebody else's cluster.  Its end of the rings belongs to one thread of this
 * process, its relay, which puts tasks into packs and publishes what comes back (lane.c).  Without the GIL. */
int csched_lane_open(csched_t *s, uint32_t *index, csched_lane_t **lane);
int csched_lane_close(csched_lane_t *l); /* with what it has taken and not published: csched_worker_lost */
int csched_lane_ready(csched_lane_t *l); /* tasks may come */
/* Number of records of the next pack; 0: nothing lies there, or it was woken.  `most`: tasks; `idle`: nothing that was
 * taken is outstanding.  CSCHED_ETOOBIG: the first does not fit, `used` says what it takes; CSCHED_EAGAIN: the first
 * has to wait until nothing is outstanding. */
int csched_lane_take(csched_lane_t *l, uint32_t timeout_ms, uint32_t most, void *data, uint64_t room,
                     csched_packed_t *records, uint32_t record_most, uint64_t *used);
/* Outcomes of the oldest tasks, in the order in which they were taken.  `ahead_ns`: of the clock that stamped them,
 * against ours.  How many were published; fewer: the next one finds no room in memory or on disk. */
int csched_lane_publish(csched_lane_t *l, uint32_t count, const csched_outcome_t *outcomes, const void *data,
                        int64_t ahead_ns);
/* The oldest `count` tasks have not been run: they go back to the queue.  `alone` 1: one of them may have killed who
 * ran them, each gets a lane for itself. */
int csched_lane_give_back(csched_lane_t *l, uint32_t count, uint32_t alone);
int csched_lane_take_back(csched_lane_t *l, uint32_t count); /* the same of the newest */
uint32_t csched_lane_outstanding(const csched_lane_t *l); /* tasks that were taken and have no outcome */
uint32_t csched_lane_oldest(const csched_lane_t *l, uint32_t most, uint64_t *tickets); /* of them */
/* Who ran the oldest task ended in it, in this element of a chunk (2^32-1: nobody knows): csched_worker_lost follows. */
int csched_lane_blame(csched_lane_t *l, uint32_t element);
int csched_lane_wait(csched_lane_t *l, uint32_t timeout_ms); /* until it is woken */
int csched_lane_wake(csched_lane_t *l); /* any thread */

/* for benchmarks: one thread of this process that answers every task of these workers at once with None.
 * fds: those of csched_worker_add, four each; taken over.  Stopped before or after the scheduler is destroyed. */
int csched_zero_start(const int *fds, uint32_t workers, csched_zero_t **zero);
int csched_zero_stop(csched_zero_t *zero);
/* cffi: end */

#ifdef CSCHED_FAULTS
/* cffi: faults begin */
/* In a build for tests alone: points of a worker's path at which it ends by a signal (src/fault.h). */
const char *csched_fault_point(uint32_t number); /* its name; NULL: there are no more */
int csched_fault_loses(uint32_t number); /* who dies there loses the task in hand: 0 no, 1 yes, 2 that depends */
int csched_fault_arm(csched_t *s, uint32_t worker, const char *point, uint32_t visit, int signal);
/* cffi: faults end */
#endif

#endif
