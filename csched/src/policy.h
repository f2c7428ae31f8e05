/* Which worker takes the next task: state in, choice out, no side effects but the policy's own. */
#ifndef CSCHED_POLICY_H
#define CSCHED_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define NO_CHOICE UINT32_MAX

typedef struct {
    uint32_t held;   /* tasks in its ring, the running one included */
    uint32_t window; /* the most it should hold now; 0: it takes nothing */
    bool awake;      /* it looks at its ring: a new task needs no system call */
} load_t;

typedef struct {
    uint32_t next;   /* round robin */
    uint64_t random; /* xorshift state, never 0 */
} policy_state_t;

typedef struct {
    const char *name;
    /* a worker with held < window, or NO_CHOICE when there is none */
    uint32_t (*choose)(policy_state_t *state, const load_t *loads, uint32_t workers);
} policy_t;

extern const policy_t policy_least_loaded, policy_round_robin, policy_random;

const policy_t *policy_named(const char *name); /* NULL: no such */

#endif
