/* Runs a fuzz target without libFuzzer: the corpus, then mutations of it, always the same ones.
 *
 *   fuzz_ring [FILE|FOLDER]...     without one: fuzz/corpus/fuzz_ring, and FUZZ_ROUNDS mutations (1,000)
 *
 * What ends the process is left in crash-NAME, to be run alone.  The last line is "PASSED FAILED", for run.sh. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

enum { INPUT_MOST = 4096, FILES_MOST = 1024, ROUNDS = 1000, SECONDS_EACH = 20 };

typedef struct {
    size_t size;
    uint8_t data[INPUT_MOST];
} seed_t;

static seed_t *seeds;
static uint32_t seed_count;
static seed_t *present; /* what the target works on: shared, to be found when it is dead */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static void load(const char *path)
{
    struct stat st;
    struct dirent **names = NULL;
    HOLDS(stat(path, &st) == 0);
    if (!S_ISDIR(st.st_mode)) {
        FILE *file = fopen(path, "rb");
        HOLDS(file && seed_count < FILES_MOST);
        seeds[seed_count].size = fread(seeds[seed_count].data, 1, INPUT_MOST, file);
        seed_count++;
        fclose(file);
        return;
    }
    int count = scandir(path, &names, NULL, by_name);
    for (int i = 0; i < count; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            load(inside);
        free(names[i]);
    }
    free(names);
}

static void run(const seed_t *input)
{
    memcpy(present, input, sizeof *input);
    alarm(SECONDS_EACH);
    uint8_t *exact = malloc(input->size ? input->size : 1);
    HOLDS(exact);
    memcpy(exact, input->data, input->size);
    LLVMFuzzerTestOneInput(exact, input->size);
    free(exact);
    alarm(0);
}

static void change(seed_t *input, uint64_t *random)
{
    uint64_t what = next_random(random), at = input->size ? next_random(random) % input->size : 0;
    const seed_t *other = &seeds[next_random(random) % seed_count];
    switch (what % 5) {
    case 0: /* a byte */
        input->data[at] = (uint8_t)next_random(random);
        break;
    case 1: /* a bit */
        input->data[at] ^= (uint8_t)(1u << (what >> 8) % 8);
        break;
    case 2: /* one more */
        if (input->size && input->size < INPUT_MOST) {
            memmove(input->data + at + 1, input->data + at, input->size++ - at);
            input->data[at] = (uint8_t)next_random(random);
        }
        break;
    case 3: /* one less */
        if (input->size > 1)
            memmove(input->data + at, input->data + at + 1, --input->size - at);
        break;
    default: /* the rest from another one */
        memcpy(input->data + at, other->data, INPUT_MOST - at);
        input->size = at + other->size < INPUT_MOST ? at + other->size : INPUT_MOST;
    }
}

static void run_all(void)
{
    const char *wanted = getenv("FUZZ_ROUNDS");
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15), rounds = wanted ? strtoull(wanted, NULL, 10) : ROUNDS;
    for (uint32_t i = 0; i < seed_count; i++)
        run(&seeds[i]);
    for (uint64_t i = 0; seed_count > 1 && i < rounds; i++) {
        seed_t input = seeds[next_random(&random) % seed_count];
        for (uint64_t changes = 1 + next_random(&random) % 8; changes; changes--)
            change(&input, &random);
        run(&input);
    }
}

static void keep_culprit(const char *program, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%.*scrash-%s", (int)(name - program), program, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(present->data, 1, present->size, file) != present->size)
        return;
    fclose(file);
    fprintf(stderr, "  the input that did it: %s\n", path);
}

int main(int argc, char **argv)
{
    int status;
    seeds = calloc(FILES_MOST, sizeof *seeds);
    present = mmap(NULL, sizeof *present, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HOLDS(seeds && present != MAP_FAILED);
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    char corpus[256];
    snprintf(corpus, sizeof corpus, "fuzz/corpus/%s", name);
    for (int i = 1; i < argc; i++)
        load(argv[i]);
    if (argc < 2)
        load(corpus);
    pid_t child = fork();
    if (child == 0) {
        run_all();
        free(seeds);
        exit(0); /* the leak check runs here */
    }
    int good = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
    if (!good)
        keep_culprit(argv[0], name);
    free(seeds);
    printf("%d %d\n", good, !good);
    return !good;
}
