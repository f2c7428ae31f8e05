/* Journey rows as bytes for files: each row as what differs from the one before, in variable-length integers.
 *
 * A row is two bytes that say which fields differ from what is expected, then these fields.  Expected are the previous
 * row's values, the next position, and of an element the next place in its chunk.  Stamps are told from the one before
 * in the row, which is near.  Pickling is kept in whole nanoseconds.  Elements of a chunk that follow one another are
 * one row and, for each of the others, how long it took: they are found while rows are read, as a map of short tasks
 * ends a row in some hundred nanoseconds.  Nothing here needs a scheduler or a lock, but the functions at the end. */
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

/* Whether a row is the next element of a group's chunk, which began where the last one ended. */
static bool goes_on(const csched_group_t *group, const csched_journey_t *row)
{
    const csched_journey_t *first = &group->row;
    uint32_t after = group->more + 1;
    return row->ticket == first->ticket && row->stamps[4] == group->ended && row->stamps[5] >= row->stamps[4] &&
           row->element == first->element + after && row->position == first->position + after &&
           row->run == first->run && row->function == first->function && row->worker == first->worker &&
           row->status == first->status && row->attempt == first->attempt &&
           !memcmp(&row->pack_ns, &first->pack_ns, sizeof row->pack_ns) &&
           !memcmp(row->stamps, first->stamps, 4 * sizeof *row->stamps) &&
           !memcmp(row->stamps + 6, first->stamps + 6, 2 * sizeof *row->stamps);
}

static void fold(csched_look_t *look, const csched_journey_t *row)
{
    csched_group_t *group = look->groups + look->count;
    look->rows++;
    if (look->count && goes_on(group - 1, row)) {
        group--;
        uint8_t *at = look->took + look->bytes, *end = put(at, row->stamps[5] - row->stamps[4]);
        look->bytes += (uint32_t)(end - at);
        group->bytes += (uint32_t)(end - at);
        group->more++;
    } else {
        *group = (csched_group_t){.row = *row, .at = look->bytes};
        look->count++;
    }
    group->began = row->stamps[4];
    group->ended = row->stamps[5];
}

static bool is_full(const csched_look_t *look)
{
    return look->rows == look->most || look->count == look->most_groups;
}

CSCHED_EXPORT int csched_rows_fold(csched_look_t *look, const csched_journey_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_full(look))
            return CSCHED_EFULL;
        fold(look, &rows[i]);
    }
    return CSCHED_OK;
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
        look->dropped += journey_missed(&s->journey, &look->cursor);
        const csched_journey_t *row = NULL;
        for (uint32_t i = 0; i < STEP && !is_full(look); i++, look->cursor++) {
            if (!(row = journey_resolved_row(&s->journey, look->cursor)))
                break;
            fold(look, row);
        }
        pthread_mutex_unlock(&s->lock);
        more = row && !is_full(look);
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
