#include "policy.h"

#include <string.h>

const policy_t *policy_named(const char *name)
{
    static const policy_t *const all[] = {&policy_least_loaded, &policy_round_robin, &policy_random};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return 0;
}
