#include "policy.h"

/* In turn; nothing is taken back. */
static uint32_t choose(policy_state_t *state, const load_t *loads, uint32_t workers, warm_t warm)
{
    (void)warm;
    for (uint32_t tried = 0; tried < workers; tried++) {
        uint32_t i = (state->next + tried) % workers;
        if (has_room(&loads[i])) {
            state->next = (i + 1) % workers;
            return i;
        }
    }
    return NO_CHOICE;
}

const policy_t policy_round_robin = {"round-robin", choose, 0};
