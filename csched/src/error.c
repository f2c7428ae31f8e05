#include "csched.h"

CSCHED_EXPORT const char *csched_error_name(int code)
{
    static const char *const names[] = {"ok",        "invalid argument", "out of memory", "full",    "stale dependency",
                                        "system",    "corrupt memory",   "try again",     "stopped", "too large",
                                        "disk full", "output is there"};
    const int count = sizeof names / sizeof *names;
    return code <= 0 && code > -count ? names[-code] : "unknown error";
}
