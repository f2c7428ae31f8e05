/* The attempts of the present piece of work, with the times at which they came from stage to stage: what idle.c follows.  A
 * chunk of a map is one, however many elements it has.  Under the scheduler's lock.
 * What full means: no more are kept of this piece of work, and a reader learns that. */
#ifndef CSCHED_ATTEMPTS_H
#define CSCHED_ATTEMPTS_H

#include <stdbool.h>

#include "account.h"
#include "csched_views.h"
#include "graph.h"

enum { ATTEMPTS_MOST = 1 << 18 };

typedef struct {
    csched_spell_t *at; /* ATTEMPTS_MOST of them; NULL until the first one */
    uint32_t count;
    uint32_t number; /* of the piece of work, as accounts_t has it */
    bool missed; /* some were not kept */
} attempts_t;

void attempts_close(attempts_t *attempts);
/* `task` has been on worker `index`, with this result. */
void attempts_ended(attempts_t *attempts, const accounts_t *accounts, const task_t *task, const result_entry_t *entry,
                    uint32_t index);
/* Copies up to `most` attempts of the piece of work with this number from `first` on; returns how many, and 0 where these
 * are all, or CSCHED_ESTALE where not all are kept. */
int attempts_read(const attempts_t *attempts, uint32_t number, uint32_t first, uint32_t most, csched_spell_t *spells);

#endif
