/* A digest of the state that child processes inherit: it changes with the directory or the environment. */
#define _GNU_SOURCE
#include <unistd.h>

#include "csched.h"

static uint64_t mix(uint64_t digest, uint64_t value)
{
    return (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Digests the addresses of the environment's strings, since setting a variable allocates a new one. The C library may
 * reuse a freed address, so callers compare the strings themselves from time to time. */
CSCHED_EXPORT uint64_t csched_context_digest(void)
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
