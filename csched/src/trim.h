/* Memory without use.  Under the scheduler's lock, but where it says otherwise. */
#ifndef CSCHED_TRIM_H
#define CSCHED_TRIM_H

#include "internal.h"

void trim(csched_t *s, uint64_t now); /* memory without use goes back to the system; not under the lock */

#endif
