#include "policy.h"

static uint64_t step(uint64_t x)
{
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
}

enum { TRIES = 8 };

static uint32_t draw(policy_state_t *state, uint32_t below)
{
    state->random = step(state->random);
    return (uint32_t)((state->random >> 32) * below >> 32);
}

/* Uniform among the workers that have room; nothing is taken back.  Most have some, mostly: a few draws among all find
 * one, without a look at every worker. */
static uint32_t choose(policy_state_t *state, const load_t *loads, uint32_t workers, warm_t warm)
{
    (void)warm;
    uint32_t open = 0;
    for (uint32_t tries = 0; workers && tries < TRIES; tries++) {
        uint32_t drawn = draw(state, workers);
        if (has_room(&loads[drawn]))
            return drawn;
    }
    for (uint32_t i = 0; i < workers; i++)
        open += has_room(&loads[i]);
    if (!open)
        return NO_CHOICE;
    uint32_t wanted = draw(state, open);
    for (uint32_t i = 0; i < workers; i++)
        if (has_room(&loads[i]) && wanted-- == 0)
            return i;
    return NO_CHOICE;
}

const policy_t policy_random = {"random", choose, 0};
