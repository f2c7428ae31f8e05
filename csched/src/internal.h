/* The kernel's scheduler, as its own files see it.  Everything here is private memory under `lock`, unless noted. */
#ifndef CSCHED_INTERNAL_H
#define CSCHED_INTERNAL_H

#include <pthread.h>

#include "account.h"
#include "attempts.h"
#include "backlog.h"
#include "csched.h"
#include "graph.h"
#include "heap.h"
#include "journey.h"
#include "kept_calls.h"
#include "lineage.h"
#include "own.h"
#include "policy.h"
#include "ring.h"
#include "run_times.h"
#include "slowest.h"
#include "state_map.h"

enum { WORKER_FREE, WORKER_STARTING, WORKER_READY, WORKER_LOST };
enum { /* task_t.flags */
       FLAG_OVERDUE = 1,     /* its time limit has been reported */
       FLAG_STOPPING = 2,    /* it was cancelled while it ran */
       FLAG_ASK_RETRY = 4,   /* the submitter decides on each retry (CSCHED_ATTEMPT); without retries: it counts what
                              * failed */
       FLAG_RETRY_ASKED = 8, /* and has not answered yet */
       FLAG_ALONE = 16,      /* it is the only task of its pack (lane.c) */
       FLAG_DEMANDS = 32,    /* it asks for resources */
       FLAG_ALLOCATED = 64,  /* it holds them */
       FLAG_HELD = 128       /* it was ready and had to wait for them, or in a pause */
};

typedef struct { /* one entry of a worker's task ring, as the kernel remembers it */
    uint32_t slot; /* NO_TASK: revoked */
    entry_t *entry;
    uint64_t position; /* of the entry in the ring: tells when its memory has been reused */
} held_t;

typedef struct {
    uint64_t ticket; /* of the task, or a function number (tickets are larger) */
    blob_t *blob;
} pin_t;

typedef struct control { /* a request that waits for room in a worker's ring */
    struct control *next;
    uint32_t topic;
    uint64_t size;
    uint8_t data[];
} control_t;

typedef struct { /* elements of the chunk that a worker runs which are counted already */
    uint64_t ticket; /* 0: none are */
    uint32_t end, failures;
} partial_t;

typedef struct {
    uint32_t state;
    bool retiring;
    bool lane; /* the worker's side is in this process: no region, no socket */
    segment_t *segment;
    uint64_t segment_bytes;
    int control; /* the kernel's end of its socket, for descriptors of regions */
    ring_t tasks, results;
    uint32_t region;
    uint32_t announced;  /* regions below this number have been announced to it */
    uint32_t *announcements; /* pending announcements of dropped regions and new files: number with TAG_ */
    uint32_t announcement_count, announcement_capacity;

    held_t *held; /* first in, first out: the order in which the worker takes them */
    uint32_t held_head, held_count, held_capacity;

    control_t *controls; /* the oldest first; they precede its next task */
    partial_t partial;
    uint64_t overdue; /* the chunk whose element exceeded its limit and was reported */
    uint32_t overdue_element;
    uint32_t condemned_element; /* the element for which it is to be killed; NO_ELEMENT: none */
    uint64_t sent; /* elements sent in all */
    uint64_t last_result; /* time when it came */
    uint64_t ready_at;
    worker_time_t time;
    bool silent; /* it did not begin its tasks, which were taken back; */
    uint64_t silent_at; /* head of its task ring then */
    bool gave_way; /* tasks were taken back for a higher priority, and no result has come since */
    uint64_t finished;
    uint64_t *sent_functions; /* bit set */
    uint32_t sent_function_words;
    uint32_t *forgets; /* dropped functions, not yet told to it by its ring */
    uint32_t forget_count, forget_capacity;
    pin_t *pins; /* what the worker reads in place: functions, inputs of finished tasks that it still refers to */
    uint32_t pin_count, pin_capacity;
    uint64_t *unfreed; /* frees that did not fit into the frees ring */
    uint32_t unfreed_count, unfreed_capacity;
} worker_t;

typedef struct { /* memory of one process, the kernel (0) or a worker; numbers are not reused */
    uint8_t *base;
    int readonly; /* descriptor to hand out, -1: gone */
    int fd;       /* to read its size */
    int file;     /* the same for its file, -1: none yet */
    uint64_t file_bytes;
    uint32_t worker; /* NO_CHOICE once its process is dead */
    uint64_t live;   /* blobs in it */
    uint64_t viewed; /* references given out by csched_blob_retain: kept in a forked child */
} region_t;

typedef struct {
    blob_t *blob;
    uint32_t *needs; /* functions that it refers to, of smaller numbers */
    uint32_t need_count;
    uint32_t tasks; /* unfinished tasks, and functions that need it */
    bool dropped;   /* no new task may call it; freed with the last one */
    bool needed;    /* some function refers to it */
    backlog_t backlog;
} function_t;

typedef struct {
    uint64_t opened;    /* when; 0: it is closed */
    uint32_t cancelled; /* by a command from outside: serial number of its latest task then */
} run_life_t;

typedef struct outside outside_t;

typedef struct {
    csched_message_t *of;
    uint32_t head, count, capacity;
} messages_t;

struct csched {
    pthread_mutex_t lock;
    csched_config_t config;
    graph_t graph;
    journey_t journey;
    lineage_t lineage;
    state_map_t state_map;
    heap_t heap;
    own_t own; /* payloads that Python may write to */

    region_t *regions;
    uint32_t region_count;
    function_t *functions; /* [0]: the function is in the payload */
    uint32_t function_count;

    worker_t **workers;
    load_t *loads; /* one per worker, for the policy */
    uint32_t worker_count;
    const policy_t *policy;
    policy_state_t policy_state;
    bool paused, closed;
    uint64_t resumed;       /* when the last pause ended */
    uint64_t looked_at;     /* when recall_from_behind last looked at what runs */
    uint64_t passed_ticket; /* the first task in the queue, and how often another one went before it (look_ahead) */
    uint32_t passed;
    uint64_t fetch_ns; /* that bringing a KiB from one lane to another takes, by what it has taken (fetch_learn) */
    uint32_t profile; /* the same word in the segment of each worker */
    shared_u32 stopped;

    list_t completions; /* task slots, linked by next */
    uint32_t completion_count;
    messages_t messages;
    uint32_t *delayed; /* slots of delayed tasks */
    uint32_t delayed_count, delayed_capacity;

    csched_run_t *runs;
    run_life_t *run_lives; /* by run */
    uint32_t run_count;
    uint32_t all_cancelled; /* as run_life_t.cancelled, of tasks in no run */
    uint32_t *run_free;
    uint32_t run_free_count;
    csched_stats_t stats;
    accounts_t accounts;
    attempts_t attempts;
    run_times_t run_times;
    slowest_t slowest;
    kept_calls_t kept_calls;
    uint64_t next_tick;
    uint64_t next_trim;
    uint64_t now; /* set by clock_refresh: called by a thread that has taken the lock, before it readies tasks */

    int doorbell; /* eventfd: workers ring it when kernel_sleeping is set in their segment */
    shared_u32 waiting;   /* threads in csched_wait */
    shared_u32 sleepers;  /* threads asleep on the doorbell */
    shared_u32 available; /* completions and messages; written under the lock, read without it */
    shared_u32 helper_word, helper_deep, helper_stop;
    shared_u32 background_word;
    shared_u32 prompt; /* the resolver is woken for each result: csched_wait_background */
    shared_u64 outstanding;
    shared_u64 last_poll, last_collect;
    outside_t *outside; /* NULL: no process looks from outside; lasts until csched_destroy */
    shared_u32 has_outside;
    pthread_t helper;
    bool helper_runs;
};

static inline uint64_t clock_refresh(csched_t *s)
{
    return s->now = csched_now();
}

/* Called under the lock, so load and store need not be one atomic step. */
static inline void available_add(csched_t *s, uint32_t more)
{
    u32_store_relaxed(&s->available, u32_relaxed(&s->available) + more);
}

static inline task_t *task_at(csched_t *s, uint32_t slot)
{
    return graph_task(&s->graph, slot);
}

static inline uint64_t region_bytes(const csched_t *s)
{
    return s->config.arena_bytes + s->config.file_bytes;
}

/* csched.c */
void lock_init(csched_t *s);

#endif
