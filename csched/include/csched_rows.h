/* csched, for records: journey rows on their way into files, and back.  Included by csched.h.
 */
#ifndef CSCHED_ROWS_H
#define CSCHED_ROWS_H

#include "csched.h"

/* cffi: begin */
enum { CSCHED_PACKED_MOST = 128, CSCHED_TOOK_MOST = 10 }; /* bytes of a packed row, and of a duration, at most */

typedef struct { /* rows that follow one another: a first one, and elements of its chunk */
    csched_journey_t row; /* the first; its ticket is 0 when they are taken */
    uint64_t began, ended; /* of the last one */
    uint32_t more; /* rows after the first: each begins where the one before ends, and is alike else */
    uint32_t at, bytes; /* where the times that each of these took are, as integers of variable length */
    uint32_t reserved;
} csched_group_t;

typedef struct { /* what one look reads */
    csched_group_t *groups; /* room for `most_groups` of them */
    uint8_t *took; /* room for `most` times CSCHED_TOOK_MOST bytes */
    uint32_t most, most_groups; /* rows and groups, at most */
    uint32_t rows, count, bytes; /* rows that were read, groups, bytes in `took` */
    uint64_t cursor; /* number of the next row */
    uint64_t dropped; /* rows that were overwritten before they could be read */
} csched_look_t;

/* Reads the rows that came since, in the order of csched_journeys; the lock is held for a few at a time. */
int csched_rows_look(csched_t *s, csched_look_t *look);
/* Adds rows to what is there, as csched_rows_look does. */
int csched_rows_fold(csched_look_t *look, const csched_journey_t *rows, uint32_t count);
/* The other way round; nothing of it may be taken. */
int csched_rows_unfold(const csched_look_t *look, csched_journey_t *rows);

typedef struct {
    uint32_t next; /* the first group that is not taken yet, or the number of groups; to begin with 0 */
    uint32_t count; /* rows that were packed */
    uint32_t functions; /* how many different functions they have; more than 64 are not all told */
    uint32_t function[64];
} csched_rows_packed_t;

/* Packs those rows of a look, from group `packed->next` on, that are of that run and were submitted from `since` on and
 * before `until`; returns the bytes, at most CSCHED_PACKED_MOST for each group and what is in `took`. They are taken. Without `out` they are only
 * taken. */
int64_t csched_rows_pack(csched_look_t *look, uint32_t run, uint64_t since, uint64_t until, char *out,
                         csched_rows_packed_t *packed);
/* The other way round, of bytes that may be anybody's: CSCHED_ECORRUPT unless they are `count` rows. */
int csched_rows_unpack(const char *data, uint64_t size, uint32_t run, uint32_t count, csched_journey_t *rows);
/* Appends rows of a file to the journeys of a scheduler that has no tasks, to fold them. */
int csched_rows_restore(csched_t *s, const csched_journey_t *rows, uint32_t count);

/* cffi: end */

#endif
