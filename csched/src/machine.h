/* How much memory there is, as the container allows and as others leave it. */
#ifndef CSCHED_MACHINE_H
#define CSCHED_MACHINE_H

#include <stdint.h>

uint64_t machine_memory(void); /* bytes this process and its like may use at most */
uint64_t machine_left(void);   /* bytes that can still be taken, less a reserve for other processes */

#endif
