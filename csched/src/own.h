/* Payloads that their reader may write to.
 *
 * Readers map the regions of others copy on write: a page that is written becomes the reader's own, and
 * from then on it does not show what its owner writes there.  So the data of such a payload begins and ends with pages
 * of its own (payload.py).  When its holder releases it, written pages are dropped before the kernel learns of the
 * release, so that the next block in that place is visible.  One holder in a process reads in place.  A second one of
 * the same payload has a mapping of its own (in the kernel, also for its own blocks) or a copy (in workers: of what
 * was sent, which a second mapping of the region shows, whatever the first holder has written).
 *
 * Who may call at once: one thread (the kernel: under the lock).
 * What full means: an error, no table or mapping is to be had: the caller copies.
 * What a killed reader leaves behind: nothing; its pages go with it.
 */
#ifndef CSCHED_OWN_H
#define CSCHED_OWN_H

#include "layout.h"

typedef struct {
    uint64_t *of; /* addresses held in place, hashed; 0: free */
    uint64_t count, capacity;
    uint64_t apart;   /* mappings of their own */
    int pagemap;      /* of this process, 0: not opened, -1: there is none */
    bool left;        /* in a forked child: its pages are copies */
    shared_u32 reads; /* some regions could only be mapped to read */
} own_t;

typedef struct { /* a held part of a payload */
    uint64_t address, size; /* in the mapping of its region */
    int fd;                 /* its file, -1: it cannot be mapped again */
    uint64_t offset;
    bool foreign; /* the region is another process's, mapped to copy */
} place_t;

/* Maps other processes' memory copy on write, or read-only if the system refuses to commit so much memory. */
int own_map(own_t *own, int fd, uint64_t bytes, void **base);
int own_map_over(own_t *own, void *at, int fd, uint64_t bytes);

int own_take(own_t *own, const place_t *place, uint64_t *mapped); /* in place, or in a mapping of its own */
void own_drop(own_t *own, uint64_t address, uint64_t size, uint64_t mapped); /* what own_take gave */
void own_leave(own_t *own);
void own_close(own_t *own);

#endif
