/* What only the laboratory (benchmarks/) needs of csched.  It is compiled into a module of its own, which is not
 * installed; the region between the cffi marks is all that Python sees. */
#ifndef CSCHED_LAB_H
#define CSCHED_LAB_H

#include "csched.h"

/* cffi: begin */
typedef struct csched_zero csched_zero_t;

typedef struct { /* one side of a bare ring; private to csched_bare_* */
    void *ends, *data;
    uint64_t fields[4];
    uint32_t peeked;
} csched_bare_t;

/* A ring of messages with nothing else, in zeroed, page-aligned memory shared by two processes.  Each side opens it; one
 * puts, the other takes, without waiting: CSCHED_EFULL, CSCHED_EAGAIN. */
int csched_bare_open(void *memory, uint64_t bytes, csched_bare_t *ring);
int csched_bare_put(csched_bare_t *ring, const void *data, uint64_t size);
int csched_bare_take(csched_bare_t *ring, void *data, uint64_t room); /* spins a little; 1 when there was one */

/* One thread of this process that answers every task of these workers at once with None.
 * fds: those of csched_worker_add, four each; taken over.  Stopped before or after the scheduler is destroyed. */
int csched_zero_start(const int *fds, uint32_t workers, csched_zero_t **zero);
int csched_zero_stop(csched_zero_t *zero);
/* cffi: end */

#endif
