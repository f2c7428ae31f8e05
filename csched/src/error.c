#include "csched.h"

CSCHED_EXPORT const char *csched_error_name(int code)
{
    static const char *const names[] = {"ok",     "invalid argument", "out of memory", "full",    "stale dependency",
                                        "system", "corrupt memory",   "try again",     "stopped", "too large"};
    int index = -code;
    return index >= 0 && index < (int)(sizeof names / sizeof *names) ? names[index] : "unknown error";
}
