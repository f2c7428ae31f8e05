#include "policy.h"

#include <string.h>

const policy_t *policy_named(const char *name)
{
    static const policy_t *const all[] = {&policy_least_loaded, &policy_round_robin, &policy_random,
                                          &policy_work_stealing};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return 0;
}

bool steal_half(const load_t *loads, uint32_t workers, theft_t *theft)
{
    uint32_t idle = NO_CHOICE, full = NO_CHOICE;
    for (uint32_t i = 0; i < workers; i++) {
        if (!loads[i].window)
            continue;
        if (!loads[i].held)
            idle = i;
        else if ((full == NO_CHOICE || loads[i].held > loads[full].held) && worth_taking_back(&loads[i]))
            full = i;
    }
    if (idle == NO_CHOICE || full == NO_CHOICE)
        return false;
    *theft = (theft_t){full, loads[full].held / 2};
    return true;
}
