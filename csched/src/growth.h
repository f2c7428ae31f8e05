/* Arrays that grow by one row at a time, as runs are opened: their room is a power of two. */
#ifndef CSCHED_GROWTH_H
#define CSCHED_GROWTH_H

#include <stddef.h>
#include <stdlib.h>

/* Returns an array of `count` rows with room for `wanted` (> count), the new ones not yet set; NULL: no memory, and the
 * array stays as it is. */
static inline void *rows_grow(void *rows, size_t count, size_t wanted, size_t size)
{
    size_t room = 1;
    while (room < wanted)
        room *= 2;
    return count > room / 2 ? rows : realloc(rows, room * size);
}

#endif
