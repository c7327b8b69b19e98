/* Interposes on the C library (LD_PRELOAD) and counts the calls that change files (open for writing, write, rename, unlink, mkdir
 * and others), for relative paths and paths below PEL_FAULT_UNDER.
 *
 *   PEL_FAULT=count:FILE   writes the number of such calls to FILE at exit
 *   PEL_FAULT=kill:N       kills the program with SIGKILL at call N; a write has then written half of its bytes
 *   PEL_FAULT=full:N       from call N on the disk is full: calls that need space fail with ENOSPC
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { OFF, COUNT, KILL, FULL };
static enum mode mode;
static long at;
static const char *report, *under;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("PEL_FAULT");
    under = getenv("PEL_FAULT_UNDER");
    if (fault == NULL) return;
    if (strncmp(fault, "count:", 6) == 0) { mode = COUNT; report = fault + 6; }
    if (strncmp(fault, "kill:", 5) == 0) { mode = KILL; at = atol(fault + 5); }
    if (strncmp(fault, "full:", 5) == 0) { mode = FULL; at = atol(fault + 5); }
}

__attribute__((destructor)) static void end(void) {
    if (mode != COUNT) return;
    mode = OFF;
    FILE *file = fopen(report, "w");
    if (file == NULL) return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Counts a call. Returns 1 if it must fail with ENOSPC, 2 if it must kill the program, else 0. */
static int fault_of(int needs_space) {
    if (mode == OFF) return 0;
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (mode == KILL && call == at) return 2;
    return mode == FULL && call >= at && needs_space;
}

static void die(void) { kill(getpid(), SIGKILL); pause(); }

static int counts_path(const char *path) {
    if (mode == OFF || path == NULL) return 0;
    return path[0] != '/' || (under != NULL && strncmp(path, under, strlen(under)) == 0);
}

/* Only regular files; printing is not counted. */
static int counts_file(int file) {
    struct stat about;
    return mode != OFF && file > 2 && fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

#define BEFORE(counted, needs_space, failed) \
    if (counted) { \
        switch (fault_of(needs_space)) { \
        case 1: errno = ENOSPC; return failed; \
        case 2: die(); \
        } \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); mode_t bits = va_arg(more, mode_t); va_end(more); \
        int writes = flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR); \
        BEFORE(writes && counts_path(path), (flags & O_CREAT) != 0, -1) \
        return REAL(name)(path, flags, bits); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); mode_t bits = va_arg(more, mode_t); va_end(more); \
        int writes = flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR); \
        BEFORE(writes && counts_path(path), (flags & O_CREAT) != 0, -1) \
        return REAL(name)(folder, path, flags, bits); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void *bytes, size_t size) {
    if (counts_file(file)) {
        switch (fault_of(1)) {
        case 1: errno = ENOSPC; return -1;
        case 2:
            if (size > 1) REAL(write)(file, bytes, size / 2);
            die();
        }
    }
    return REAL(write)(file, bytes, size);
}

ssize_t writev(int file, const struct iovec *pieces, int count) {
    BEFORE(counts_file(file), 1, -1)
    return REAL(writev)(file, pieces, count);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t place) {
    BEFORE(counts_file(file), 1, -1)
    return REAL(pwrite)(file, bytes, size, place);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t place) {
    BEFORE(counts_file(file), 1, -1)
    return REAL(pwrite64)(file, bytes, size, place);
}
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t size, unsigned flags) {
    BEFORE(counts_file(to), 1, -1)
    return REAL(copy_file_range)(from, a, to, b, size, flags);
}
ssize_t sendfile(int to, int from, off_t *place, size_t size) {
    BEFORE(counts_file(to), 1, -1)
    return REAL(sendfile)(to, from, place, size);
}
ssize_t sendfile64(int to, int from, off64_t *place, size_t size) {
    BEFORE(counts_file(to), 1, -1)
    return REAL(sendfile64)(to, from, place, size);
}
int ftruncate(int file, off_t size) { BEFORE(counts_file(file), 1, -1) return REAL(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { BEFORE(counts_file(file), 1, -1) return REAL(ftruncate64)(file, size); }
int fsync(int file) { BEFORE(counts_file(file), 1, -1) return REAL(fsync)(file); }
int fdatasync(int file) { BEFORE(counts_file(file), 1, -1) return REAL(fdatasync)(file); }

int rename(const char *from, const char *to) { BEFORE(counts_path(to), 0, -1) return REAL(rename)(from, to); }
int renameat(int a, const char *from, int b, const char *to) {
    BEFORE(counts_path(to), 0, -1)
    return REAL(renameat)(a, from, b, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    BEFORE(counts_path(to), 0, -1)
    return REAL(renameat2)(a, from, b, to, flags);
}
int link(const char *from, const char *to) { BEFORE(counts_path(to), 1, -1) return REAL(link)(from, to); }
int symlink(const char *from, const char *to) { BEFORE(counts_path(to), 1, -1) return REAL(symlink)(from, to); }
int unlink(const char *path) { BEFORE(counts_path(path), 0, -1) return REAL(unlink)(path); }
int unlinkat(int folder, const char *path, int flags) {
    BEFORE(counts_path(path), 0, -1)
    return REAL(unlinkat)(folder, path, flags);
}
int mkdir(const char *path, mode_t bits) { BEFORE(counts_path(path), 1, -1) return REAL(mkdir)(path, bits); }
int mkdirat(int folder, const char *path, mode_t bits) {
    BEFORE(counts_path(path), 1, -1)
    return REAL(mkdirat)(folder, path, bits);
}
int rmdir(const char *path) { BEFORE(counts_path(path), 0, -1) return REAL(rmdir)(path); }
