#include "policy.h"

enum {
    WAKE_NS = 80000,      /* to wake a worker, before which as much work may lie with one that is awake */
    LITTLE_NS = 60000,    /* less work than this counts as so much: then the first worker, so that others may sleep */
    WARM_NS = 20000,      /* so much longer a task may wait where its inputs are warm, */
    FAR_NS = 10000000     /* or where they would come from over a network, beside what their size takes */
};

static uint64_t cost_of(const load_t *load)
{
    uint64_t work = work_ns(load);
    if (!load->awake)
        return work + WAKE_NS;
    return work > LITTLE_NS ? work : LITTLE_NS;
}

/* The least work in hand, where waking a worker counts as work; ties by lowest index. */
static uint32_t choose(policy_state_t *state, const load_t *loads, uint32_t workers, warm_t warm)
{
    (void)state;
    uint32_t best = NO_CHOICE;
    uint64_t best_cost = UINT64_MAX;
    uint64_t elsewhere = warm.fetch_ns + (warm.at < workers && loads[warm.at].far ? FAR_NS : WARM_NS);
    for (uint32_t i = 0; i < workers; i++) {
        if (!has_room(&loads[i]))
            continue;
        uint64_t cost = cost_of(&loads[i]) + (i == warm.at ? 0 : elsewhere);
        if (cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}

const policy_t policy_least_loaded = {"least-loaded", choose, steal_half};
