/* Memory that processes share: unnamed memfds, sealed against shrinking, close-on-exec. */
#ifndef CSCHED_SEGMENT_H
#define CSCHED_SEGMENT_H

#include "layout.h"

int memory_create(const char *label, uint64_t bytes, int *fd);      /* 0 bytes: grows later */
int memory_readonly(int fd, int *readonly);                         /* a second, read-only description */
int memory_map(int fd, uint64_t bytes, bool writable, void **base); /* may reach beyond the file's end */
void memory_unmap(void *base, uint64_t bytes);
int memory_size(int fd, uint64_t *bytes);

uint64_t segment_bytes(uint64_t ring_bytes);
void segment_format(segment_t *segment, uint32_t index, uint64_t ring_bytes, uint64_t arena_bytes);
int segment_check(const segment_t *segment, uint64_t file_bytes);

#define TAG_DROP 0x80000000u /* or-ed to a region's number: it is gone */

/* Descriptor -1: the tag alone.  Receiving: CSCHED_EAGAIN: nothing there, CSCHED_ESTOPPED: closed. */
int fd_send(int socket, uint32_t tag, int fd);
int fd_receive(int socket, uint32_t *tag, int *fd);

/* Futex words lie in shared memory; both return at once when the word differs, and on any signal. */
void futex_wait(shared_u32 *word, uint32_t expected, uint64_t timeout_ns);
void futex_wake(shared_u32 *word);

uint64_t now_ns(void);

#endif
