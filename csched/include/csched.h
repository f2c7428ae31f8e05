/* csched: the Cellmill task scheduler.
 *
 * One process, the kernel, owns a csched_t; every worker process owns a csched_worker_t.  They share memory
 * through unnamed memfds (layout.h).  The region between the cffi marks, here and in csched_views.h, is all that Python
 * sees.
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
    CSCHED_PINS = 256     /* or-ed to the status that a worker publishes: it still reads the task's inputs in place */
};

/* what csched_worker_next found */
enum { CSCHED_TASK = 1, CSCHED_FUNCTION = 2, CSCHED_CONTROL = 3 }; /* a function of 0 bytes is to be forgotten */

/* kinds of csched_message_t */
enum {
    CSCHED_OUTPUT = 1,  /* what a task printed lies in its worker's pipe, up to its end */
    CSCHED_PARTIAL = 2, /* results of the first elements of a chunk that still runs */
    CSCHED_REPLY = 3,   /* the worker's answer to a control entry */
    CSCHED_UNPIN = 5,   /* the worker no longer reads the inputs of task `ticket` in place; not passed to Python */
    CSCHED_OVERDUE = 4, /* a task ran past its time limit on worker `worker`; ticket 0: that worker makes no sense */
    CSCHED_ATTEMPT = 6  /* an attempt failed, `detail` says how: csched_retry or csched_give_up answers */
};

enum { CSCHED_STAGES = 8 };

typedef struct csched csched_t;
typedef struct csched_worker csched_worker_t;
typedef struct csched_zero csched_zero_t;
typedef struct csched_lane csched_lane_t;
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

typedef struct { /* a task asks for so much of a resource (memory, a gpu, a licence), in units of the caller's */
    uint32_t resource; /* below 64 */
    uint32_t reserved;
    uint64_t amount;
} csched_need_t;

typedef struct {
    uint64_t total, used;
    uint64_t holders; /* tasks that have some now */
} csched_resource_t;

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
    uint32_t beside; /* a function that its worker has to know beside its own: see csched_function_needs; 0: none */
    uint32_t need_count;
    const csched_need_t *needs; /* held from its dispatch until each attempt ends; at most 8, of different resources */
} csched_options_t;

typedef struct { /* many tasks at once, for csched_submit_many; `ends` says where the part of each task ends */
    uint32_t count;
    uint32_t run;
    int32_t priority;
    uint32_t reserved;
    const uint32_t *slots;
    const uint32_t *functions; /* NULL: the function is in the payload */
    const uint64_t *input_ends; /* NULL: no inputs */
    const uint64_t *inputs; /* tickets, or positions of earlier tasks in this batch */
    const uint64_t *data_ends; /* NULL: no payloads */
    const void *data; /* payloads, in line */
    uint64_t *tickets; /* of each task, stored here */
} csched_batch_t;

typedef struct { /* a finished task, 56 bytes, read by struct.unpack in Python: keep in step with FORMAT there */
    uint32_t slot;
    uint16_t status;
    uint16_t worker;
    uint32_t detail; /* CSCHED_DEPENDENCY: position of the input; CSCHED_LOST: the element that ran; else failures */
    uint32_t count;
    uint64_t blob; /* CSCHED_LOST, CSCHED_TIMEOUT: the arguments; to be retained if views outlive the commit */
    uint64_t address; /* of the payload in this process */
    uint64_t size;
    uint64_t run_ns; /* from start to finish of user code; CSCHED_TIMEOUT: the limit */
    uint32_t function;
    uint32_t run;
} csched_completion_t;

typedef struct {
    uint32_t kind;
    uint32_t worker;
    uint32_t slot;
    uint32_t detail; /* CSCHED_OUTPUT: unused; PARTIAL: elements; REPLY: the request's number */
    uint32_t run; /* of the task */
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
    float pack_ns; /* time spent pickling in the kernel */
    uint32_t position; /* in the map, its lower half: in the order of submission */
} csched_journey_t;

typedef struct {
    uint64_t submitted, waiting, queued, running, succeeded, failed, cancelled;
    uint64_t arena_used, arena_size; /* of the kernel's memory for payloads */
    uint64_t file_used, file_size; /* of its file */
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
    uint32_t held; /* tasks in its ring, the running one included */
    uint64_t ticket; /* of the task it runs, 0: none */
    uint64_t since; /* when that one started */
    uint32_t run, function, element; /* of it */
    uint32_t stopping; /* 1: it is to end */
    uint64_t finished; /* tasks so far */
} csched_worker_info_t;

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

/* workers: fds = segment, doorbell, control socket, arena (all close-on-exec, to be passed on and closed) */
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
/* A function just added refers to earlier ones, which workers get before it.  With any of them it is dropped, too.  One of
 * 0 bytes only stands for what it needs. */
int csched_function_needs(csched_t *s, uint32_t function, const uint32_t *needs, uint32_t count);
int64_t csched_function_users(csched_t *s, uint32_t function); /* tasks and functions; CSCHED_ESTALE: it has gone */
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

/* How much there is of a resource: 0 before.  CSCHED_EINVAL: a task that is not over asks for more. */
int csched_resource_set(csched_t *s, uint32_t resource, uint64_t total);
int csched_resource_info(csched_t *s, uint32_t resource, csched_resource_t *info);

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

/* A part of a payload that begins with a page and owns its last one, for one holder, who may write to it: at `mapped`,
 * until it is disowned; what was written is gone then.  An error: copy it.  `payload` is not looked at: who calls keeps
 * the payload by it for that long. */
int csched_own(csched_t *s, uint64_t address, uint64_t size, uint64_t *mapped);
int csched_disown(csched_t *s, const char *payload, uint64_t address, uint64_t size, char *mapped);
int csched_wake(csched_t *s); /* wakes every waiting thread */

/* runs and journeys */
int csched_run_open(csched_t *s, uint32_t *run);
int csched_run_counts(csched_t *s, uint32_t run, csched_run_t *counts);
int csched_run_adjust(csched_t *s, uint32_t run, int64_t submitted, int64_t succeeded, int64_t failed,
                      int64_t cancelled);
int csched_run_close(csched_t *s, uint32_t run);
int csched_journeys(csched_t *s, uint64_t *cursor, uint32_t most, csched_journey_t *rows, uint64_t *dropped);

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
int csched_worker_forks(csched_worker_t *w, int begins); /* 1 before a task forks a child, 0 after it in the worker */
int csched_worker_forked(csched_worker_t *w); /* in a child forked by a task: what it publishes reaches no kernel */
int csched_worker_ready(csched_worker_t *w);
int csched_worker_next(csched_worker_t *w, uint32_t spin_us, uint32_t timeout_ms, csched_item_t *item);
int csched_worker_await(csched_worker_t *w, uint32_t timeout_ms); /* CSCHED_OK: there may be something for next */
int csched_worker_input(csched_worker_t *w, uint32_t position, uint32_t *status, uint64_t *address, uint64_t *size);
int csched_worker_started(csched_worker_t *w); /* stamps; all inputs are unpickled */
int csched_worker_finished(csched_worker_t *w); /* stamps; user code is over */
int csched_worker_element(csched_worker_t *w, uint32_t element); /* that runs from now on; 2^32-1: none of them */
uint64_t csched_worker_since_flush(csched_worker_t *w); /* ns since this task's last result or start */
int csched_worker_alloc(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address);
int csched_worker_spill(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address); /* in a file */
int csched_worker_fill(csched_worker_t *w, uint64_t at, const void *data, uint64_t size);
int csched_worker_free(csched_worker_t *w, uint64_t offset);
int csched_worker_own(csched_worker_t *w, uint64_t address, uint64_t size, uint64_t *mapped); /* see csched_own */
int csched_worker_disown(csched_worker_t *w, uint64_t address, uint64_t size, char *mapped);
int csched_worker_unpin(csched_worker_t *w,
                        uint64_t ticket); /* ends what CSCHED_PINS began, for a task or a function */
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

/* A lane: a worker that lives elsewhere, on a cluster.  Its end of the rings belongs to one thread of this
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
/* Who ran the oldest task ended in it, in this element of a chunk (2^32-1: unknown): csched_worker_lost follows. */
int csched_lane_blame(csched_lane_t *l, uint32_t element);
int csched_lane_wait(csched_lane_t *l, uint32_t timeout_ms); /* until it is woken */
int csched_lane_wake(csched_lane_t *l); /* any thread */

/* for benchmarks: one thread of this process that answers every task of these workers at once with None.
 * fds: those of csched_worker_add, four each; taken over.  Stopped before or after the scheduler is destroyed. */
int csched_zero_start(const int *fds, uint32_t workers, csched_zero_t **zero);
int csched_zero_stop(csched_zero_t *zero);
/* cffi: end */

#include "csched_views.h"

#ifdef CSCHED_FAULTS
/* cffi: faults begin */
/* In a build for tests alone: points of a worker's path at which it ends by a signal (src/fault.h). */
const char *csched_fault_point(uint32_t number); /* its name; NULL: there are no more */
int csched_fault_loses(uint32_t number); /* who dies there loses the task in hand: 0 no, 1 yes, 2 that depends */
int csched_fault_arm(csched_t *s, uint32_t worker, const char *point, uint32_t visit, int signal);
/* cffi: faults end */
#endif

#endif
