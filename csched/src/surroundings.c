/* What a process's children inherit beside its code: a digest that changes when the directory or the environment does. */
#define _GNU_SOURCE
#include <unistd.h>

#include "csched.h"

static uint64_t mix(uint64_t digest, uint64_t value)
{
    return (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The environment by its strings' addresses: a variable set anew has a new one (the C library may use an old one again
 * for what was freed, so look at the strings themselves from time to time). */
CSCHED_EXPORT uint64_t csched_surroundings(void)
{
    char directory[4096];
    uint64_t digest = 0;
    for (char **entry = environ; entry && *entry; entry++)
        digest = mix(digest, (uint64_t)(uintptr_t)*entry);
    if (!getcwd(directory, sizeof directory))
        directory[0] = 0;
    for (const char *c = directory; *c; c++)
        digest = mix(digest, (unsigned char)*c);
    return digest;
}
