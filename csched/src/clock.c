/* The one clock of all stamps. */
#include "segment.h"
#include "internal.h"

CSCHED_EXPORT uint64_t csched_now(void)
{
    return now_ns();
}
