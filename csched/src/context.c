/* A digest of state that the whole process has: it changes with the directory, the environment, the locale or the time
 * zone. */
#define _GNU_SOURCE
#include <locale.h>
#include <time.h>
#include <unistd.h>

#include "csched.h"

static uint64_t mix(uint64_t digest, uint64_t value)
{
    return (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t mix_text(uint64_t digest, const char *text)
{
    for (; text && *text; text++)
        digest = mix(digest, (unsigned char)*text);
    return mix(digest, 0);
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
    digest = mix_text(digest, directory);
    digest = mix_text(digest, setlocale(LC_ALL, NULL));
    digest = mix_text(mix_text(digest, tzname[0]), tzname[1]);
    return mix(digest, (uint64_t)timezone);
}
