/* Payloads that their reader may write to.
 *
 * Readers map the regions of others copy on write: a page that is written becomes the reader's own, and
 * from then on it shows nothing of what its owner puts there.  So what lies in such a payload begins and ends with a
 * page of its own (payload.py), and when its holder lets go of it, pages that were written are dropped before the kernel
 * hears of it: the next block in that place is seen as it is.  One holder in a process reads in place; a second one
 * of the same payload has a mapping of its own (the kernel, who reads its own blocks so, too) or a copy (workers).
 *
 * Who may call at once: one thread (the kernel: under the lock).
 * What full means: an error, no table or mapping is to be had: the caller copies.
 * What a killed reader leaves behind: nothing; its pages go with it.
 */
#ifndef CSCHED_OWN_H
#define CSCHED_OWN_H

#include "layout.h"

typedef struct {
    uint64_t *of; /* addresses that are held in place, hashed; 0: none */
    uint64_t count, capacity;
    uint64_t apart;   /* mappings of their own */
    int pagemap;      /* of this process, 0: not opened, -1: there is none */
    bool left;        /* in a forked child: its pages are copies */
    shared_u32 reads; /* some regions could only be mapped to read */
} own_t;

typedef struct { /* a payload's part that is held */
    uint64_t address, size; /* where its region is mapped */
    int fd;                 /* and where it lies in which file, -1: none to map anew */
    uint64_t offset;
    bool foreign; /* the region is another process's, mapped to copy */
} place_t;

/* Maps what others write: to copy, or where the system refuses to promise so much memory, to read. */
int own_map(own_t *own, int fd, uint64_t bytes, void **base);
int own_map_over(own_t *own, void *at, int fd, uint64_t bytes);

int own_take(own_t *own, const place_t *place, uint64_t *mapped); /* in place, or in a mapping of its own */
void own_drop(own_t *own, uint64_t address, uint64_t size, uint64_t mapped); /* what own_take gave */
void own_leave(own_t *own);
void own_close(own_t *own);

#endif
