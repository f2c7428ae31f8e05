#include "policy.h"

/* Where its inputs are, else where the one before went: tasks stay together until a worker has nothing and steals. */
static uint32_t choose(policy_state_t *state, const load_t *loads, uint32_t workers, warm_t warm)
{
    if (warm.at < workers && has_room(&loads[warm.at]))
        return warm.at;
    for (uint32_t tried = 0; tried < workers; tried++) {
        uint32_t i = (state->next + tried) % workers;
        if (has_room(&loads[i]))
            return state->next = i;
    }
    return NO_CHOICE;
}

const policy_t policy_work_stealing = {"work-stealing", choose, steal_half};
