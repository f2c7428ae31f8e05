/* Payloads in memory of the kernel or of a region, counted by reference.  Called under the scheduler's lock. */
#ifndef CSCHED_BLOB_H
#define CSCHED_BLOB_H

#include "internal.h"

int blob_from_bytes(const void *data, uint64_t size, blob_t **blob);
int blob_from_block(csched_t *s, uint32_t region, uint64_t offset, uint64_t size, blob_t **blob);
void blob_retain(blob_t *blob); /* NULL is None: no effect */
void blob_release(csched_t *s, blob_t *blob);
const uint8_t *blob_data(const csched_t *s, const blob_t *blob);
int region_add(csched_t *s, int fd, int readonly, void *base, uint32_t worker, uint32_t *region);
void region_close(csched_t *s, region_t *r); /* unmaps it even if blobs refer to it */
void region_orphan(csched_t *s, uint32_t region); /* its process is dead: it is unmapped with its last blob */
/* sends pending announcements of regions, as many as its socket takes */
void regions_announce(csched_t *s, worker_t *worker);
int kernel_spill(csched_t *s, uint64_t size, uint64_t *offset); /* allocates a block in the kernel's file */
void frees_flush(worker_t *worker);
/* references held for a worker that still reads them, until it unpins them or dies */
int pin_inputs(worker_t *worker, const task_t *task);
int pin_function(worker_t *worker, uint32_t function, blob_t *blob);
void unpin(csched_t *s, worker_t *worker, uint64_t ticket); /* 0: everything */

#endif
