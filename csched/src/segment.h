/* Memory that processes share: unnamed memfds, sealed against shrinking, and unnamed files; all close-on-exec. */
#ifndef CSCHED_SEGMENT_H
#define CSCHED_SEGMENT_H

#include "layout.h"

int memory_create(const char *label, uint64_t bytes, int *fd);      /* 0 bytes: grows later */
int memory_readonly(int fd, int *readonly);                         /* a second, read-only description */

/* How: to read, to write (both true and false say so), or what is written is a copy of its own, page by page. */
enum { MAP_READS = 0, MAP_WRITES = 1, MAP_COPIES = 2 };
int memory_map(int fd, uint64_t bytes, int how, void **base);     /* may reach beyond the file's end */
int memory_map_over(void *at, int fd, uint64_t bytes, int how);   /* in the place of a part of such a mapping */
int memory_map_part(int fd, uint64_t from, uint64_t bytes, void **base); /* of so many bytes from there on; copies */
/* For forked children, in the same place: copy on write of the file, or a copy made at once. */
int memory_map_private(void *at, int fd, uint64_t bytes);
int memory_copy_private(void *at, uint64_t bytes);
void memory_unmap(void *base, uint64_t bytes);
int memory_size(int fd, uint64_t *bytes);
int memory_grow(int fd, uint64_t from, uint64_t to); /* CSCHED_EFULL: the machine has not so much left */

int file_create(int *fd);                          /* on disk: in $TMPDIR, /var/tmp or /tmp; CSCHED_EDISK */
int file_grow(int fd, uint64_t from, uint64_t to); /* CSCHED_EDISK: the disk is full */

uint64_t segment_bytes(uint64_t ring_bytes);
void segment_format(segment_t *segment, uint32_t index, uint64_t ring_bytes, uint64_t arena_bytes, uint64_t file_bytes);
int segment_check(const segment_t *segment, uint64_t file_bytes);

bool output_turn(segment_t *segment, uint32_t who, bool take); /* TURN_; true: it is theirs now */

#define TAG_DROP 0x80000000u /* or-ed to a region's number: it is gone */
#define TAG_FILE 0x40000000u /* the same: its file comes; from a worker: its own, with number 0 */

/* Descriptor -1: the tag alone.  Receiving: CSCHED_EAGAIN: nothing there, CSCHED_ESTOPPED: closed. */
int fd_send(int socket, uint32_t tag, int fd);
int fd_receive(int socket, uint32_t *tag, int *fd);

/* Futex words lie in shared memory; both return at once when the word differs, and on any signal. */
void futex_wait(shared_u32 *word, uint32_t expected, uint64_t timeout_ns);
void futex_wake(shared_u32 *word);

uint64_t now_ns(void);

#endif
