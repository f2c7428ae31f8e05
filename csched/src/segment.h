/* Memory that processes share: unnamed memfds, sealed against shrinking, and unnamed files; all close-on-exec. */
#ifndef CSCHED_SEGMENT_H
#define CSCHED_SEGMENT_H

#include "layout.h"

int memory_create(const char *label, uint64_t bytes, int *fd);      /* 0 bytes: grows later */
int memory_readonly(int fd, int *readonly);                         /* a second, read-only descriptor */

/* How to map: read-only (false), writable (true), or private copies of written pages. */
enum { MAP_READS = 0, MAP_WRITES = 1, MAP_COPIES = 2 };
int memory_map(int fd, uint64_t bytes, int how, void **base);     /* may extend beyond the file's end */
int memory_map_over(void *at, int fd, uint64_t bytes, int how);   /* replaces a part of such a mapping */
int memory_map_part(int fd, uint64_t from, uint64_t bytes, void **base); /* `bytes` bytes at `from`; MAP_COPIES */
/* For forked children, at the same address: copy on write of the file, or a copy made at once. */
int memory_map_private(void *at, int fd, uint64_t bytes);
int memory_copy_private(void *at, uint64_t bytes);
void memory_unmap(void *base, uint64_t bytes);
int memory_size(int fd, uint64_t *bytes);
int memory_grow(int fd, uint64_t from, uint64_t to); /* CSCHED_EFULL: the machine has too little memory left */

int file_create(int *fd);                          /* on disk: in $TMPDIR, /var/tmp or /tmp; CSCHED_EDISK */
int file_grow(int fd, uint64_t from, uint64_t to); /* CSCHED_EDISK: the disk is full */

uint64_t segment_bytes(uint64_t ring_bytes);
void segment_format(segment_t *segment, uint32_t index, uint64_t ring_bytes, uint64_t arena_bytes, uint64_t file_bytes);
int segment_check(const segment_t *segment, uint64_t file_bytes);

bool output_turn(segment_t *segment, uint32_t who, bool take); /* `who`: TURN_; true: `who` has it now */

#define TAG_DROP 0x80000000u /* or-ed to a region's number: it is dropped */
#define TAG_FILE 0x40000000u /* the same: its file follows; from a worker: its own file, number 0 */
#define TAG_PROFILE 0x20000000u /* no region: the segment's word `profile` has changed */

/* fd -1: sends the tag alone. fd_receive: CSCHED_EAGAIN: nothing available, CSCHED_ESTOPPED: closed. */
int fd_send(int socket, uint32_t tag, int fd);
int fd_receive(int socket, uint32_t *tag, int *fd);

/* For words in shared memory. futex_wait returns at once if the word differs, and on any signal. */
void futex_wait(shared_u32 *word, uint32_t expected, uint64_t timeout_ns);
void futex_wake(shared_u32 *word);

uint64_t now_ns(void);

#endif
