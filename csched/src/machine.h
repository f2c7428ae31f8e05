/* Memory of the machine or the container. */
#ifndef CSCHED_MACHINE_H
#define CSCHED_MACHINE_H

#include <stdint.h>

uint64_t machine_memory(void); /* bytes that the machine or its control group has in all */
uint64_t machine_left(void);   /* bytes still available, less a reserve for other processes */

#endif
