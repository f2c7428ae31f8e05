#include "policy.h"

/* The fewest tasks held; awake workers before sleeping ones as long as they hold little; ties by lowest index. */
static uint32_t choose(policy_state_t *state, const load_t *loads, uint32_t workers)
{
    (void)state;
    uint32_t best = NO_CHOICE, best_cost = UINT32_MAX;
    for (uint32_t i = 0; i < workers; i++) {
        if (loads[i].held >= loads[i].window)
            continue;
        uint32_t cost = 2 * loads[i].held + !loads[i].awake;
        if (cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}

const policy_t policy_least_loaded = {"least-loaded", choose};
