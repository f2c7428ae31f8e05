/* The page of csched_outside.h, kernel side.  `outside_tend` is called by the helper thread, without the lock. */
#ifndef CSCHED_OUTSIDE_SRC_H
#define CSCHED_OUTSIDE_SRC_H

#include "internal.h"

void outside_tend(csched_t *s);
void outside_end(csched_t *s);    /* the helper has ended: says so on the page */
void outside_close(csched_t *s);
void outside_forked(csched_t *s); /* in a forked child: the page is the parent's */

#endif
