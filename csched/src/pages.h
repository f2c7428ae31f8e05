/* Large tables of which mostly little is used: zeroed pages of the system, which cost nothing until they are touched.  Not
 * calloc: after the first one that is freed, the C library keeps such memory, and clears all of it for the next.  Not used for
 * small tables: at least a page each. */
#ifndef CSCHED_PAGES_H
#define CSCHED_PAGES_H

#include <stddef.h>

void *pages_open(size_t bytes); /* NULL: no memory */
void pages_close(void *at, size_t bytes); /* of pages_open; NULL does nothing */

#endif
