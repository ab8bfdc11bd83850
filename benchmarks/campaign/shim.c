/* A disk that fails on request, for LD_PRELOAD: every call by which a process changes what lies under
   one folder is counted, and at the n-th something happens. SQLite's calls pass here as all others do.

   fault_arm() begins to count. With a journal folder, what every change replaced is kept there until
   it was synced, so that a power cut can be played afterwards (power.py). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { OFF, COUNT, IO_ERROR, GONE, FULL, SHORT, TEAR, KILL };
enum kind { WRITE, SYNC, NAME, SHRINK };

static enum mode mode = OFF;
static char prefix[PATH_MAX], kept[PATH_MAX];
static size_t length;
static long count, at;
static char kinds[1 << 16]; /* of the changes, in their order */
static int journal = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

struct record {
    char op; /* w write, t truncate, s sync, c create, m make folder, r rename, u unlink, d rmdir */
    char pad[7];
    int64_t inode, folder, offset, size, old_bytes, new_bytes, path_bytes, other_bytes;
};

static int under(const char *path) {
    return !strncmp(path, prefix, length) && (path[length] == '/' || !path[length]);
}

static int open_path(int fd, char *path) {
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = 0;
    return n > 0;
}

static int inside(int fd, char *path) { return mode != OFF && open_path(fd, path) && under(path); }

static int named(int folder, const char *name, char *path) {
    char base[PATH_MAX] = "";
    if (mode == OFF || !name) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        if (folder == AT_FDCWD ? !getcwd(base, sizeof base) : !open_path(folder, base)) return 0;
        if (strlen(base) + strlen(name) + 2 > PATH_MAX) return 0;
        strcpy(path, base), strcat(path, "/"), strcat(path, name);
    }
    return under(path);
}

/* What becomes of a change: 0 it happens, 1 only half of it, -1 it fails and errno says why. */
static int fate(enum kind kind) {
    long n = ++count;
    if (n <= (long)sizeof kinds) kinds[n - 1] = "wsnu"[kind];
    if (mode == IO_ERROR && n == at) { errno = EIO; return -1; }
    if (mode == GONE && n >= at) { errno = EIO; return -1; }
    if (mode == FULL && n >= at && kind != SHRINK) { errno = ENOSPC; return -1; }
    if (mode == SHORT && n == at) return kind == WRITE;
    if (mode == TEAR && n == at && kind == WRITE) return 1;
    if ((mode == KILL || mode == TEAR) && n == at) kill(getpid(), SIGKILL);
    return 0;
}

static void put(const void *bytes, size_t n) {
    while (n) {
        ssize_t done = syscall(SYS_write, journal, bytes, n);
        if (done <= 0) abort();
        bytes = (const char *)bytes + done, n -= done;
    }
}

static void note(struct record r, const char *path, const char *other, const void *old, const void *new) {
    r.path_bytes = path ? strlen(path) : 0, r.other_bytes = other ? strlen(other) : 0;
    put(&r, sizeof r), put(path, r.path_bytes), put(other, r.other_bytes);
    put(old, r.old_bytes), put(new, r.new_bytes);
}

static int64_t folder_of(const char *path) {
    char folder[PATH_MAX];
    struct stat about;
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return stat(folder, &about) ? 0 : (int64_t)about.st_ino;
}

/* Keep a second name of a file, so that it outlives its first one. */
static int64_t keep(const char *path, int fd) {
    char link[PATH_MAX + 32], from[40];
    struct stat about;
    if (path ? lstat(path, &about) : fstat(fd, &about)) return 0;
    if (!S_ISREG(about.st_mode)) return about.st_ino;
    snprintf(link, sizeof link, "%s/%lld", kept, (long long)about.st_ino);
    if (path) {
        syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, link, 0);
    } else {
        snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
        syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, link, AT_SYMLINK_FOLLOW);
    }
    return about.st_ino;
}

static void note_write(int fd, const void *bytes, size_t n, off_t offset) {
    if (journal < 0) return;
    struct stat about;
    char link[40];
    struct record r = {.op = 'w', .inode = keep(NULL, fd), .offset = offset, .new_bytes = n};
    if (fstat(fd, &about)) return;
    r.size = about.st_size;
    char *old = malloc(n ? n : 1);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd); /* fd itself may not be readable */
    int reader = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    ssize_t found = reader < 0 ? 0 : syscall(SYS_pread64, reader, old, n, offset);
    if (reader >= 0) syscall(SYS_close, reader);
    r.old_bytes = found < 0 ? 0 : found;
    note(r, NULL, NULL, old, bytes);
    free(old);
}

static void note_size(int fd, off_t size) {
    if (journal < 0) return;
    struct stat about;
    struct record r = {.op = 't', .inode = keep(NULL, fd), .offset = size};
    if (fstat(fd, &about)) return;
    r.size = about.st_size;
    size_t n = about.st_size > size ? about.st_size - size : 0;
    char *old = malloc(n ? n : 1), link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int reader = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    ssize_t found = reader < 0 ? 0 : syscall(SYS_pread64, reader, old, n, size);
    if (reader >= 0) syscall(SYS_close, reader);
    r.old_bytes = found < 0 ? 0 : found;
    note(r, NULL, NULL, old, NULL);
    free(old);
}

static void note_name(char op, int64_t inode, int64_t replaced, const char *path, const char *other) {
    if (journal < 0) return;
    struct record r = {.op = op, .inode = inode, .offset = replaced};
    r.folder = folder_of(other ? other : path);
    note(r, path, other, NULL, NULL);
}

void fault_arm(const char *folder, const char *journal_folder, int how, long n) {
    snprintf(prefix, sizeof prefix, "%s", folder);
    length = strlen(prefix), count = 0, at = n, journal = -1;
    if (journal_folder && *journal_folder) {
        char path[PATH_MAX + 8];
        snprintf(kept, sizeof kept, "%s", journal_folder);
        snprintf(path, sizeof path, "%s/journal", kept);
        journal = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    mode = how;
}

long fault_count(void) { return count; }

const char *fault_kinds(void) { return kinds; }

void fault_disarm(void) { mode = OFF; }

#define LOCKED(call) ({ pthread_mutex_lock(&turn); long done = (call); int error = errno; \
                        pthread_mutex_unlock(&turn); errno = error; done; })

static long written(int fd, const void *bytes, size_t n, off_t offset, int here) {
    int half = fate(WRITE);
    if (half < 0) return -1;
    size_t part = half && n > 1 ? n / 2 : n;
    off_t where = offset;
    if (here) {
        where = syscall(SYS_lseek, fd, 0, SEEK_CUR);
        int flags = fcntl(fd, F_GETFL);
        struct stat about;
        if (flags & O_APPEND && !fstat(fd, &about)) where = about.st_size;
    }
    note_write(fd, bytes, part, where);
    long done = here ? syscall(SYS_write, fd, bytes, part) : syscall(SYS_pwrite64, fd, bytes, part, offset);
    if (half && mode == TEAR) kill(getpid(), SIGKILL);
    return done;
}

ssize_t write(int fd, const void *bytes, size_t n) {
    char path[PATH_MAX];
    if (!inside(fd, path)) return syscall(SYS_write, fd, bytes, n);
    return LOCKED(written(fd, bytes, n, 0, 1));
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t offset) {
    char path[PATH_MAX];
    if (!inside(fd, path)) return syscall(SYS_pwrite64, fd, bytes, n, offset);
    return LOCKED(written(fd, bytes, n, offset, 0));
}
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset) { return pwrite64(fd, bytes, n, offset); }

ssize_t writev(int fd, const struct iovec *parts, int n) {
    char path[PATH_MAX];
    if (!inside(fd, path)) return syscall(SYS_writev, fd, parts, n);
    ssize_t total = 0;
    for (int i = 0; i < n; i++) {
        ssize_t done = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (done < 0) return total ? total : -1;
        total += done;
        if ((size_t)done < parts[i].iov_len) break;
    }
    return total;
}

/* Copies between files become a read and a write, which are counted like others. */
static ssize_t copied(int to, int from, off64_t *offset, size_t n) {
    char bytes[1 << 16];
    if (n > sizeof bytes) n = sizeof bytes;
    ssize_t found = offset ? syscall(SYS_pread64, from, bytes, n, *offset) : syscall(SYS_read, from, bytes, n);
    if (found <= 0) return found;
    ssize_t done = write(to, bytes, found);
    if (done > 0 && offset) *offset += done;
    return done;
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t n) {
    char path[PATH_MAX];
    if (!inside(to, path)) return syscall(SYS_sendfile, to, from, offset, n);
    return copied(to, from, offset, n);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t n) { return sendfile64(to, from, offset, n); }

ssize_t copy_file_range(int from, off64_t *in, int to, off64_t *out, size_t n, unsigned flags) {
    char path[PATH_MAX];
    if (!inside(to, path) || out) return syscall(SYS_copy_file_range, from, in, to, out, n, flags);
    return copied(to, from, in, n);
}

static int synced(int fd, int data) {
    struct stat about;
    if (fate(SYNC) < 0) return -1;
    if (journal >= 0 && !fstat(fd, &about)) {
        struct record r = {.op = 's', .inode = about.st_ino};
        note(r, NULL, NULL, NULL, NULL);
    }
    (void)data; /* the disk is played, so nobody need wait for the real one */
    return 0;
}
int fsync(int fd) {
    char path[PATH_MAX];
    return inside(fd, path) ? LOCKED(synced(fd, 0)) : syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
    char path[PATH_MAX];
    return inside(fd, path) ? LOCKED(synced(fd, 1)) : syscall(SYS_fdatasync, fd);
}
int msync(void *begin, size_t n, int flags) {
    if (mode != OFF && LOCKED(fate(SYNC)) < 0) return -1;
    return syscall(SYS_msync, begin, n, flags);
}

static int cut(int fd, off_t size) {
    struct stat about;
    int grows = !fstat(fd, &about) && size > about.st_size;
    if (fate(grows ? NAME : SHRINK) < 0) return -1;
    note_size(fd, size);
    return syscall(SYS_ftruncate, fd, size);
}
int ftruncate64(int fd, off64_t size) {
    char path[PATH_MAX];
    return inside(fd, path) ? LOCKED(cut(fd, size)) : syscall(SYS_ftruncate, fd, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int renamed(int from, const char *old, int to, const char *new, unsigned flags, const char *a, const char *b) {
    if (fate(NAME) < 0) return -1;
    int64_t inode = 0, replaced = 0;
    if (journal >= 0) inode = keep(a, -1), replaced = keep(b, -1);
    int done = syscall(SYS_renameat2, from, old, to, new, flags);
    if (!done) note_name('r', inode, replaced, a, b);
    return done;
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    char a[PATH_MAX], b[PATH_MAX];
    int one = named(from, old, a), other = named(to, new, b);
    if (!one && !other) return syscall(SYS_renameat2, from, old, to, new, flags);
    return LOCKED(renamed(from, old, to, new, flags, a, b));
}
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }

static int unlinked(int folder, const char *name, int flags, const char *path) {
    if (fate(SHRINK) < 0) return -1;
    int64_t inode = journal >= 0 ? keep(path, -1) : 0;
    int done = syscall(SYS_unlinkat, folder, name, flags);
    if (!done) note_name(flags & AT_REMOVEDIR ? 'd' : 'u', inode, 0, path, NULL);
    return done;
}
int unlinkat(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    if (!named(folder, name, path)) return syscall(SYS_unlinkat, folder, name, flags);
    return LOCKED(unlinked(folder, name, flags, path));
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

static int made(int folder, const char *name, mode_t rights, const char *path) {
    if (fate(NAME) < 0) return -1;
    int done = syscall(SYS_mkdirat, folder, name, rights);
    if (!done) note_name('m', 0, 0, path, NULL);
    return done;
}
int mkdirat(int folder, const char *name, mode_t rights) {
    char path[PATH_MAX];
    if (!named(folder, name, path)) return syscall(SYS_mkdirat, folder, name, rights);
    return LOCKED(made(folder, name, rights, path));
}
int mkdir(const char *name, mode_t rights) { return mkdirat(AT_FDCWD, name, rights); }

/* Opening changes something only where it makes a file or empties one. */
static int opened(int folder, const char *name, int flags, mode_t rights, const char *path) {
    struct stat about;
    int there = !lstat(path, &about), is_new = (flags & O_CREAT) && !there;
    int emptied = (flags & O_TRUNC) && there && about.st_size > 0;
    if ((is_new || emptied) && fate(is_new ? NAME : SHRINK) < 0) return -1;
    if (emptied) {
        int fd = syscall(SYS_openat, folder, name, flags & ~(O_TRUNC | O_CREAT | O_EXCL), 0);
        if (fd >= 0) note_size(fd, 0), syscall(SYS_close, fd);
    }
    int fd = syscall(SYS_openat, folder, name, flags, rights);
    if (is_new && fd >= 0 && journal >= 0) note_name('c', keep(NULL, fd), 0, path, NULL);
    return fd;
}
int openat64(int folder, const char *name, int flags, ...) {
    char path[PATH_MAX];
    va_list more;
    va_start(more, flags);
    mode_t rights = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (!(flags & (O_CREAT | O_TRUNC)) || !named(folder, name, path))
        return syscall(SYS_openat, folder, name, flags, rights);
    return LOCKED(opened(folder, name, flags, rights, path));
}
#define OPEN(function, folder, arguments) \
    int function arguments { \
        va_list more; \
        va_start(more, flags); \
        mode_t rights = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return openat64(folder, name, flags, rights); \
    }
OPEN(open, AT_FDCWD, (const char *name, int flags, ...))
OPEN(open64, AT_FDCWD, (const char *name, int flags, ...))
OPEN(openat, folder, (int folder, const char *name, int flags, ...))
int creat(const char *name, mode_t rights) { return openat64(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, rights); }
