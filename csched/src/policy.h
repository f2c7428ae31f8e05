/* Which worker takes the next task, and what is taken back for those that have nothing: state in, assignments out. */
#ifndef CSCHED_POLICY_H
#define CSCHED_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define NO_CHOICE UINT32_MAX

typedef struct {
    uint32_t held;       /* tasks in its ring, the running one included */
    uint32_t window;     /* the most it should hold now; 0: it takes nothing */
    uint64_t mean_ns;    /* of its recent tasks; 0: unknown */
    uint64_t running_ns; /* how long it had been at its present task at the last look; 0: a result came since */
    bool awake;          /* it looks at its ring: a new task needs no system call */
    bool far;            /* it is a lane: what is warm there comes to others over a network */
} load_t;

typedef struct {
    uint32_t next;   /* round robin; work stealing, where it is the thief once tasks came back for it */
    uint64_t random; /* xorshift state, never 0 */
} policy_state_t;

typedef struct {
    uint32_t at;       /* the worker where a task's inputs are; NO_CHOICE: they are anywhere */
    uint64_t fetch_ns; /* about as long it takes to bring them elsewhere, as far as their size is known */
} warm_t;

typedef struct {
    uint32_t from;
    uint32_t count; /* the newest of what it has not begun */
} theft_t;

typedef struct {
    const char *name;
    /* a worker with held < window, or NO_CHOICE when there is none */
    uint32_t (*choose)(policy_state_t *state, const load_t *loads, uint32_t workers, warm_t warm);
    /* nothing is ready: shall a worker give some back for one that holds nothing?  NULL: never */
    bool (*steal)(const load_t *loads, uint32_t workers, theft_t *theft);
} policy_t;

extern const policy_t policy_least_loaded, policy_round_robin, policy_random, policy_work_stealing;

const policy_t *policy_named(const char *name); /* NULL: no such */

/* Moving tasks costs about as much as this much work: less than that stays where it is. */
enum { STEAL_NS = 50000 };

static inline bool has_room(const load_t *load)
{
    return load->held < load->window;
}

static inline bool worth_taking_back(const load_t *load)
{
    return load->held >= 2 && (load->mean_ns * load->held > STEAL_NS || load->running_ns > STEAL_NS);
}

enum { UNKNOWN_NS = 1000000 }; /* a task of which nothing is known: each to a worker of its own */

static inline uint64_t usual_ns(const load_t *load)
{
    return load->mean_ns ? load->mean_ns : UNKNOWN_NS;
}

/* What is left of its present task: the rest of what tasks take there, or as much again when it has taken longer already.
 * Where nothing is known of them, it is as if the present one had just begun. */
static inline uint64_t present_ns(const load_t *load)
{
    uint64_t usual = usual_ns(load), running = load->running_ns;
    return running >= usual ? running : load->mean_ns ? usual - running : usual;
}

/* What is left of all that it holds. */
static inline uint64_t work_ns(const load_t *load)
{
    return load->held ? present_ns(load) + (load->held - 1) * usual_ns(load) : 0;
}

/* Its present task takes far longer than tasks do there: what waits behind it was sent by a wrong guess. */
enum { STUCK_TIMES = 8 };

static inline bool is_stuck(const load_t *load, uint64_t least_ns)
{
    return load->running_ns > least_ns && load->running_ns / STUCK_TIMES > load->mean_ns;
}

bool steal_half(const load_t *loads, uint32_t workers, theft_t *theft); /* of the fullest, when one has nothing */

#endif
