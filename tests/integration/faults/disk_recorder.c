/* Record the changes of a process to files below one directory, in the order in which the system made them.

   LD_PRELOAD loads this library before the C library. DISK_HOME is the directory. DISK_LOG is the file that gets one
   record for each operation. A flush has two records: data written before its begin is on the disk at its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    uint32_t magic, kind;
    uint64_t inode, offset;
    uint32_t path_size, other_size, data_size, unused;
};

enum { CREATE = 1, WRITE, TRUNCATE, FLUSH_BEGIN, FLUSH_END, RENAME, REMOVE, MAKE_FOLDER };

static void note(uint32_t kind, uint64_t inode, uint64_t offset, const char *path, const char *other, const void *data,
                 size_t size)
{
    const char *log = getenv("DISK_LOG");
    int saved = errno, to;
    struct record head = {0x4b534944, kind, inode, offset, (uint32_t)strlen(path), (uint32_t)strlen(other),
                          (uint32_t)size, 0};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, strlen(path)}, {(void *)other, strlen(other)},
                            {(void *)data, size}};

    to = log == NULL ? -1 : (int)syscall(SYS_open, log, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    if (to >= 0) {
        if (syscall(SYS_writev, to, parts, 4) < 0)
            abort();
        syscall(SYS_close, to);
    }
    errno = saved;
}

/* Return the path below DISK_HOME that a name means, or NULL. */
static const char *below(int folder, const char *name, char *path)
{
    const char *home = getenv("DISK_HOME");
    char link[64], base[PATH_MAX];
    ssize_t size;

    if (home == NULL || name == NULL)
        return NULL;
    if (name[0] == '/')
        snprintf(path, PATH_MAX, "%s", name);
    else {
        if (folder == AT_FDCWD)
            snprintf(link, sizeof link, "/proc/self/cwd");
        else
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        if ((size = syscall(SYS_readlink, link, base, sizeof base - 1)) < 0)
            return NULL;
        base[size] = 0;
        if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX)
            return NULL;
    }
    size = (ssize_t)strlen(home);
    return strncmp(path, home, (size_t)size) == 0 && (path[size] == '/' || path[size] == 0) ? path + size : NULL;
}

/* Return the path below DISK_HOME of an open regular file or folder, or NULL. */
static const char *opened(int descriptor, char *path, struct stat *found)
{
    char link[64], whole[PATH_MAX];
    ssize_t size;

    if (fstat(descriptor, found) < 0 || !(S_ISREG(found->st_mode) || S_ISDIR(found->st_mode)))
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if ((size = syscall(SYS_readlink, link, whole, sizeof whole - 1)) < 0)
        return NULL;
    whole[size] = 0;
    return below(AT_FDCWD, whole, path);
}

static int open_noted(int folder, const char *name, int flags, mode_t mode)
{
    char path[PATH_MAX];
    const char *inside = flags & (O_CREAT | O_TRUNC) ? below(folder, name, path) : NULL;
    struct stat found;
    int is_new = inside != NULL && fstatat(folder, name, &found, 0) < 0 && errno == ENOENT;
    int descriptor = (int)syscall(SYS_openat, folder, name, flags, mode);

    if (descriptor >= 0 && inside != NULL && fstat(descriptor, &found) == 0) {
        if (is_new)
            note(CREATE, found.st_ino, 0, inside, "", "", 0);
        else if (flags & O_TRUNC)
            note(TRUNCATE, found.st_ino, 0, inside, "", "", 0);
    }
    return descriptor;
}

#define OPENER(name)                                    \
    int name(const char *path, int flags, ...)          \
    {                                                   \
        va_list rest;                                   \
        mode_t mode;                                    \
                                                        \
        va_start(rest, flags);                          \
        mode = (mode_t)va_arg(rest, int);               \
        va_end(rest);                                   \
        return open_noted(AT_FDCWD, path, flags, mode); \
    }

#define OPENER_AT(name)                                      \
    int name(int folder, const char *path, int flags, ...)   \
    {                                                        \
        va_list rest;                                        \
        mode_t mode;                                         \
                                                             \
        va_start(rest, flags);                               \
        mode = (mode_t)va_arg(rest, int);                    \
        va_end(rest);                                        \
        return open_noted(folder, path, flags, mode);        \
    }

OPENER(open)
OPENER(open64)
OPENER_AT(openat)
OPENER_AT(openat64)

static void note_write(int descriptor, const void *data, ssize_t size, off_t offset)
{
    char path[PATH_MAX];
    struct stat found;
    const char *inside = size > 0 ? opened(descriptor, path, &found) : NULL;

    if (inside != NULL)
        note(WRITE, found.st_ino, (uint64_t)(offset >= 0 ? offset : lseek(descriptor, 0, SEEK_CUR) - size), inside, "",
             data, (size_t)size);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    ssize_t done = syscall(SYS_write, descriptor, data, size);

    note_write(descriptor, data, done, -1);
    return done;
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    ssize_t done = syscall(SYS_pwrite64, descriptor, data, size, offset);

    note_write(descriptor, data, done, offset);
    return done;
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset)
{
    return pwrite(descriptor, data, size, offset);
}

int ftruncate(int descriptor, off_t size)
{
    char path[PATH_MAX];
    struct stat found;
    const char *inside = opened(descriptor, path, &found);
    int done = (int)syscall(SYS_ftruncate, descriptor, size);

    if (done == 0 && inside != NULL)
        note(TRUNCATE, found.st_ino, (uint64_t)size, inside, "", "", 0);
    return done;
}

int ftruncate64(int descriptor, off64_t size)
{
    return ftruncate(descriptor, size);
}

static int flush(int descriptor, long call)
{
    char path[PATH_MAX];
    struct stat found;
    const char *inside = opened(descriptor, path, &found);
    int done;

    if (inside != NULL)
        note(FLUSH_BEGIN, found.st_ino, 0, inside, "", "", 0);
    done = (int)syscall(call, descriptor);
    if (done == 0 && inside != NULL)
        note(FLUSH_END, found.st_ino, 0, inside, "", "", 0);
    return done;
}

int fsync(int descriptor)
{
    return flush(descriptor, SYS_fsync);
}

int fdatasync(int descriptor)
{
    return flush(descriptor, SYS_fdatasync);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    char from_path[PATH_MAX], to_path[PATH_MAX];
    const char *inside = below(from_folder, from, from_path), *target = below(to_folder, to, to_path);
    int done = (int)syscall(SYS_renameat, from_folder, from, to_folder, to);

    if (done == 0 && inside != NULL && target != NULL)
        note(RENAME, 0, 0, inside, target, "", 0);
    return done;
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int folder, const char *name, int flags)
{
    char path[PATH_MAX];
    const char *inside = below(folder, name, path);
    int done = (int)syscall(SYS_unlinkat, folder, name, flags);

    if (done == 0 && inside != NULL)
        note(REMOVE, 0, 0, inside, "", "", 0);
    return done;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

int rmdir(const char *name)
{
    return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    char path[PATH_MAX];
    const char *inside = below(folder, name, path);
    int done = (int)syscall(SYS_mkdirat, folder, name, mode);

    if (done == 0 && inside != NULL)
        note(MAKE_FOLDER, 0, 0, inside, "", "", 0);
    return done;
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}
