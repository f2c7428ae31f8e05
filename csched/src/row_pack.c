/* Journey rows as bytes for files: each row as what differs from the one before, in variable-length integers.
 *
 * A row is two bytes that say which fields differ from what is expected, then these fields.  Expected are the previous
 * row's values, the next position, and of an element the next place in its chunk.  Stamps are told from the one before
 * in the row, which is near.  Pickling is kept in whole nanoseconds.  Elements of a chunk that follow one another are
 * one row and, for each of the others, how long it took.  The journey ring knows which these are (journey_t.took), so a
 * look does not read their rows: a map of short tasks ends one in some hundred nanoseconds.  Nothing here needs a
 * scheduler or a lock, but the functions at the end. */
#include "csched.h"

#include <string.h>

#include "internal.h"

enum { TICKET = 1, FUNCTION = 2, ELEMENT = 4, WORKER = 8, STATUS = 16, PICKLING = 32, POSITION = 64, MORE = 128 };
enum { STAMPS = 8, STEP = 512 /* rows copied under the lock at a time */, FUNCTIONS = 64 };

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)-(int64_t)(difference >> 63);
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (uint64_t)-(int64_t)(value & 1);
}

static uint8_t *put(uint8_t *at, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_row(uint8_t *at, const csched_journey_t *row, const csched_journey_t *last)
{
    uint8_t *masks = at, fields = 0, stamps = 0;
    at += 2;
    if (row->ticket != last->ticket) {
        fields |= TICKET;
        at = put(at, zigzag((row->ticket >> 32) - (last->ticket >> 32)));
        at = put(at, zigzag((row->ticket & UINT32_MAX) - (last->ticket & UINT32_MAX)));
    }
    if (row->function != last->function) {
        fields |= FUNCTION;
        at = put(at, row->function);
    }
    if (row->element != (row->ticket == last->ticket ? last->element + 1 : 0)) {
        fields |= ELEMENT;
        at = put(at, row->element);
    }
    if (row->worker != last->worker) {
        fields |= WORKER;
        at = put(at, row->worker);
    }
    if (row->status != last->status || row->attempt != last->attempt) {
        fields |= STATUS;
        *at++ = row->status;
        *at++ = row->attempt;
    }
    uint64_t pickling = (uint64_t)row->pack_ns;
    if (pickling != (uint64_t)last->pack_ns) {
        fields |= PICKLING;
        at = put(at, pickling);
    }
    if (row->position != last->position + 1) {
        fields |= POSITION;
        at = put(at, zigzag((uint64_t)row->position - last->position));
    }
    uint64_t near = last->stamps[0];
    for (int i = 0; i < STAMPS; i++) {
        if (row->stamps[i] != last->stamps[i]) {
            stamps |= (uint8_t)(1 << i);
            at = put(at, zigzag(row->stamps[i] - near));
        }
        near = row->stamps[i] ? row->stamps[i] : near;
    }
    masks[0] = fields;
    masks[1] = stamps;
    return at;
}

static uint8_t *put_group(uint8_t *at, const csched_group_t *group, const uint8_t *took, csched_journey_t *last)
{
    uint8_t *masks = at;
    at = put_row(at, &group->row, last);
    *last = group->row;
    if (!group->more)
        return at;
    masks[0] |= MORE;
    at = put(at, group->more);
    memcpy(at, took + group->at, group->bytes);
    last->element += group->more;
    last->position += group->more;
    last->stamps[4] = group->began;
    last->stamps[5] = group->ended;
    return at + group->bytes;
}

/* The element of the same chunk that begins where the other one ends. */
static csched_journey_t next_element(const csched_journey_t *last, uint64_t took)
{
    csched_journey_t row = *last;
    row.element++;
    row.position++;
    row.stamps[4] = last->stamps[5];
    row.stamps[5] += took;
    return row;
}

/* What is left to be read; `at` is NULL once it did not hold what it must. */
typedef struct {
    const uint8_t *at, *end;
} reader_t;

static uint64_t take(reader_t *in)
{
    uint64_t value = 0;
    for (int shift = 0; in->at && shift < 64; shift += 7) {
        if (in->at == in->end)
            break;
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    in->at = NULL;
    return 0;
}

/* Returns how many elements follow it. */
static uint32_t take_row(reader_t *in, csched_journey_t *row, const csched_journey_t *last)
{
    uint32_t fields = 0, stamps = 0;
    if (in->at && in->end - in->at >= 2) {
        fields = *in->at++;
        stamps = *in->at++;
    } else {
        in->at = NULL;
    }
    *row = *last;
    if (fields & TICKET) {
        uint64_t serial = (row->ticket >> 32) + unzigzag(take(in));
        uint64_t slot = (row->ticket & UINT32_MAX) + unzigzag(take(in));
        row->ticket = serial << 32 | (slot & UINT32_MAX);
    }
    if (fields & FUNCTION)
        row->function = (uint32_t)take(in);
    row->element = fields & ELEMENT ? (uint32_t)take(in) : row->ticket == last->ticket ? last->element + 1 : 0;
    if (fields & WORKER)
        row->worker = (uint16_t)take(in);
    if (fields & STATUS) {
        if (in->at && in->end - in->at >= 2) {
            row->status = *in->at++;
            row->attempt = *in->at++;
        } else {
            in->at = NULL;
        }
    }
    if (fields & PICKLING)
        row->pack_ns = (float)take(in);
    row->position = last->position + (fields & POSITION ? (uint32_t)unzigzag(take(in)) : 1);
    uint64_t near = last->stamps[0];
    for (int i = 0; i < STAMPS; i++) {
        if (stamps & 1u << i)
            row->stamps[i] = near + unzigzag(take(in));
        near = row->stamps[i] ? row->stamps[i] : near;
    }
    uint64_t more = fields & MORE ? take(in) : 0;
    return more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
}

static void note_function(csched_rows_packed_t *packed, uint32_t function)
{
    for (uint32_t i = 0; i < packed->functions && i < FUNCTIONS; i++)
        if (packed->function[i] == function)
            return;
    if (packed->functions < FUNCTIONS)
        packed->function[packed->functions] = function;
    if (packed->functions <= FUNCTIONS)
        packed->functions++;
}

CSCHED_EXPORT int64_t csched_rows_pack(csched_look_t *look, uint32_t run, uint64_t since, uint64_t until, char *out,
                                       csched_rows_packed_t *packed)
{
    csched_journey_t last = {0};
    uint8_t *at = (uint8_t *)out;
    uint32_t first = look->count;
    packed->count = packed->functions = 0;
    for (uint32_t i = packed->next; i < look->count; i++) {
        csched_group_t *group = &look->groups[i];
        csched_journey_t *row = &group->row;
        if (!row->ticket)
            continue;
        if (row->run != run || row->stamps[0] < since || row->stamps[0] >= until) {
            first = i < first ? i : first;
            continue;
        }
        if (at) {
            if (!packed->count || row->function != last.function)
                note_function(packed, row->function);
            at = put_group(at, group, look->took, &last);
            packed->count += 1 + group->more;
        }
        row->ticket = 0;
    }
    packed->next = first;
    return at ? at - (uint8_t *)out : 0;
}

CSCHED_EXPORT int csched_rows_unpack(const char *data, uint64_t size, uint32_t run, uint32_t count,
                                     csched_journey_t *rows)
{
    reader_t in = {(const uint8_t *)data, (const uint8_t *)data + size};
    csched_journey_t last = {0};
    for (uint32_t i = 0; i < count;) {
        uint32_t more = take_row(&in, &rows[i], &last);
        last = rows[i];
        rows[i++].run = run;
        if (!in.at || more > count - i)
            return CSCHED_ECORRUPT;
        for (; more && in.at; more--, i++) {
            last = rows[i] = next_element(&last, take(&in));
            rows[i].run = run;
        }
        if (!in.at)
            return CSCHED_ECORRUPT;
    }
    return in.at == in.end ? CSCHED_OK : CSCHED_ECORRUPT;
}

/* Rows are compared two words at a time, without branches: nearly all rows of a map pass all comparisons. */
typedef uint64_t pair_t __attribute__((vector_size(16), aligned(8), may_alias));
enum { WORDS = sizeof(csched_journey_t) / sizeof(uint64_t) };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half of a word is the field that comes first");
_Static_assert(offsetof(csched_journey_t, element) == 16 && offsetof(csched_journey_t, stamps) == 24 &&
                   offsetof(csched_journey_t, pack_ns) == 88 && offsetof(csched_journey_t, position) == 92,
               "words of ALIKE");
/* The bits that elements of a chunk have in common: all but those of element, began, ended and position. */
static const uint64_t ALIKE[WORDS] = {[0] = UINT64_MAX, [1] = UINT64_MAX, [2] = UINT64_MAX << 32, [3] = UINT64_MAX,
                                      [4] = UINT64_MAX, [5] = UINT64_MAX, [6] = UINT64_MAX,       [7] = 0,
                                      [8] = 0,          [9] = UINT64_MAX, [10] = UINT64_MAX,      [11] = UINT32_MAX};

/* Whether a row is the element that follows another one in its chunk, and began as that one ended. */
static inline bool goes_on(const csched_journey_t *last, const csched_journey_t *row)
{
    const pair_t *a = (const pair_t *)last, *b = (const pair_t *)row, *alike = (const pair_t *)ALIKE;
    pair_t pair = (a[0] ^ b[0]) & alike[0];
#pragma GCC unroll 5
    for (int i = 1; i < WORDS / 2; i++)
        pair |= (a[i] ^ b[i]) & alike[i];
    uint64_t differs = pair[0] | pair[1] | (row->element ^ (last->element + 1)) |
                       (row->position ^ (last->position + 1)) | (row->stamps[4] ^ last->stamps[5]);
    return !differs && row->stamps[5] >= row->stamps[4];
}

/* Takes rows into a group as long as they are the next elements of its chunk; returns how many. */
static uint32_t fold_elements(csched_look_t *look, csched_group_t *group, const csched_journey_t *rows, uint32_t count)
{
    csched_journey_t before = group->row;
    const csched_journey_t *last = &before;
    uint8_t *start = look->took + look->bytes, *at = start;
    uint32_t folded = 0;
    before.element += group->more;
    before.position += group->more;
    before.stamps[5] = group->ended;
    for (; folded < count && goes_on(last, &rows[folded]); folded++) {
        last = &rows[folded];
        at = put(at, last->stamps[5] - last->stamps[4]);
    }
    if (folded) {
        group->began = last->stamps[4];
        group->ended = last->stamps[5];
    }
    look->rows += folded;
    look->bytes += (uint32_t)(at - start);
    group->bytes += (uint32_t)(at - start);
    group->more += folded;
    return folded;
}

/* As `fold_elements`, by what the journey ring says of rows: they are not looked at. */
static uint32_t fold_known(csched_look_t *look, csched_group_t *group, const uint32_t *took, uint32_t count)
{
    uint8_t *start = look->took + look->bytes, *at = start;
    uint64_t began = group->began, ended = group->ended;
    uint32_t folded = 0;
    for (; folded < count && took[folded] != APART; folded++) {
        at = put(at, took[folded]);
        began = ended;
        ended += took[folded];
    }
    group->began = began;
    group->ended = ended;
    look->rows += folded;
    look->bytes += (uint32_t)(at - start);
    group->bytes += (uint32_t)(at - start);
    group->more += folded;
    return folded;
}

static void begin_group(csched_look_t *look, const csched_journey_t *row)
{
    csched_group_t *group = &look->groups[look->count++];
    group->row = *row;
    group->began = row->stamps[4];
    group->ended = row->stamps[5];
    group->at = look->bytes;
    group->more = group->bytes = group->reserved = 0;
    look->rows++;
}

/* Takes rows as far as there is room; returns how many. `took`: of the same rows, see journey_t; NULL: they are compared. */
static uint32_t fold(csched_look_t *look, const csched_journey_t *rows, const uint32_t *took, uint32_t count)
{
    uint32_t done = 0, room = look->most - look->rows;
    count = count < room ? count : room;
    while (done < count) {
        csched_group_t *last = look->count ? &look->groups[look->count - 1] : NULL;
        if (last && took)
            done += fold_known(look, last, took + done, count - done);
        else if (last && last->row.ticket == rows[done].ticket)
            done += fold_elements(look, last, rows + done, count - done);
        if (done == count || look->count == look->most_groups)
            break;
        begin_group(look, &rows[done++]);
    }
    return done;
}

CSCHED_EXPORT int csched_rows_fold(csched_look_t *look, const csched_journey_t *rows, uint32_t count)
{
    return fold(look, rows, NULL, count) == count ? CSCHED_OK : CSCHED_EFULL;
}

CSCHED_EXPORT int csched_rows_unfold(const csched_look_t *look, csched_journey_t *rows)
{
    for (uint32_t i = 0; i < look->count; i++) {
        const csched_group_t *group = &look->groups[i];
        reader_t in = {look->took + group->at, look->took + group->at + group->bytes};
        *rows++ = group->row;
        for (uint32_t more = group->more; more; more--, rows++)
            *rows = next_element(rows - 1, take(&in));
    }
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_rows_look(csched_t *s, csched_look_t *look)
{
    look->rows = look->count = look->bytes = 0;
    look->dropped = 0;
    for (bool more = true; more;) {
        pthread_mutex_lock(&s->lock);
        uint64_t missed = journey_missed(&s->journey, &look->cursor);
        if (missed) /* what follows is not the next row of what was read */
            *journey_took(&s->journey, look->cursor) = APART;
        look->dropped += missed;
        uint32_t rows = journey_resolved_rows(&s->journey, look->cursor, STEP);
        uint32_t folded =
            rows ? fold(look, journey_row(&s->journey, look->cursor), journey_took(&s->journey, look->cursor), rows)
                 : 0;
        look->cursor += folded;
        more = rows && folded == rows;
        pthread_mutex_unlock(&s->lock);
    }
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_rows_restore(csched_t *s, const csched_journey_t *rows, uint32_t count)
{
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < count; i++)
        *journey_append(&s->journey) = rows[i];
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}
