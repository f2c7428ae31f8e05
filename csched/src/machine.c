#define _GNU_SOURCE
#include "machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RESERVE_PART = 16 }; /* 1/16 of the memory stays free: at the last byte the system kills a process */

static int slurp(const char *path, char *text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, capacity - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? 0 : -1;
}

/* The number after `name` in a file of names and numbers, or `otherwise`. */
static uint64_t field(const char *path, const char *name, uint64_t otherwise)
{
    char text[8192];
    const char *at = slurp(path, text, sizeof text) < 0 ? NULL : strstr(text, name);
    if (!at)
        return otherwise;
    char *end;
    at += strlen(name);
    uint64_t value = strtoull(at, &end, 10);
    return end == at ? otherwise : value; /* "max" */
}

/* The folder of this process's control group, version 2 only. */
static int group_folder(char *folder, size_t capacity)
{
    char text[4096];
    char *at = slurp("/proc/self/cgroup", text, sizeof text) < 0 ? NULL : strstr(text, "0::/");
    if (!at)
        return -1;
    at[strcspn(at, "\n")] = 0;
    return snprintf(folder, capacity, "/sys/fs/cgroup%s", at + 3) < (int)capacity ? 0 : -1;
}

static uint64_t group_field(const char *file, const char *name, uint64_t otherwise)
{
    char folder[4096], path[4200];
    if (group_folder(folder, sizeof folder) < 0)
        return otherwise;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return field(path, name, otherwise);
}

uint64_t machine_memory(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t allowed = group_field("memory.max", "", UINT64_MAX);
    return allowed < bytes ? allowed : bytes;
}

uint64_t machine_left(void)
{
    uint64_t whole = machine_memory();
    uint64_t left = field("/proc/meminfo", "MemAvailable:", whole / 1024) * 1024;
    uint64_t allowed = group_field("memory.max", "", UINT64_MAX);
    if (allowed != UINT64_MAX) {
        uint64_t used = group_field("memory.current", "", 0), cached = group_field("memory.stat", "inactive_file", 0);
        used -= cached < used ? cached : used;
        left = used < allowed && allowed - used < left ? allowed - used : used < allowed ? left : 0;
    }
    return left > whole / RESERVE_PART ? left - whole / RESERVE_PART : 0;
}
