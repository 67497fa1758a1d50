/* The native `maestro`: the common path of client/thin.py in plain system calls (docs/frames.md).
 *
 * It connects, sends the request and relays the answer. The rest (no server, a local command) it leaves to the
 * Python client beside it, which it becomes. Once the request is sent it does so only if the server says so: no
 * request may be made twice.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

enum { FAILED = 1, USAGE = 2, NO_SERVER = 8, INTERRUPTED = 130, CLOSED_PIPE = 141 };
enum { HEAD = 5, CHUNK = 1 << 16, PAYLOAD_MAX = 1 << 20 };
enum { HOOK_SECONDS = 4, HOOK_LOG_MAX = 1 << 18, HEARD_MAX = 1 << 20, HEARD_MS = 500 };
enum { WAIT_MS_MAX = 7 * 24 * 3600 * 1000, EXIT_CODE_MAX = 255, ALARM_AGAIN_US = 50000 };

extern char **environ;
static char **arguments;
static int server = -1;
static unsigned char inbox[HEAD + PAYLOAD_MAX + CHUNK]; /* what it said: `in_have` bytes from `in_at` */
static size_t in_at, in_have;
static unsigned char outbox[2 * CHUNK]; /* what it is to hear: a piece of input, or small answers */
static size_t out_at, out_have;
static int source = -1; /* the descriptor that is being sent up, if any */
static char source_name[PATH_MAX];
static int opened = -1; /* a file that the server knows by its real path, and may ask for */
static char said[400]; /* to a hook, what its person does not want to hear */
static int answered; /* whether the server has said anything yet */
static int is_hook; /* an agent's hook: whatever is wrong is noted and never told, and the code is always 0 */
static unsigned char heard[HEARD_MAX]; /* what a hook's program said to it, as far as it was read */
static size_t heard_size; /* more than there is room for, if it was too much */
static int has_spoken; /* whether it has an answer, or some of one */
static volatile sig_atomic_t is_late; /* a hook's time is over: set by its alarm, looked at by whoever waits */
static long long waits_until; /* milliseconds since 1970, while the server has nothing to do but wait; else 0 */

static const char not_understood[] = "the server sent something that this client does not understand";

static const char *home_path(void);
static const char *socket_path(void);
static const char *setting(const char *name);

/* ---- a hook that no server heard is kept for the next one: see client/unheard.py ---- */

static void remember(const unsigned char *data, size_t size)
{
    if (heard_size <= HEARD_MAX && size <= HEARD_MAX - heard_size)
        memcpy(heard + heard_size, data, size);
    heard_size += size;
}

/* Whether all that the program had to say is there. */
static int has_heard_all(void)
{
    struct pollfd from = {.fd = 0, .events = POLLIN};
    unsigned char data[4096];
    struct timespec now;
    long long until, left = HEARD_MS;

    clock_gettime(CLOCK_MONOTONIC, &now);
    until = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 + HEARD_MS;
    while (heard_size <= HEARD_MAX && left > 0 && poll(&from, 1, (int)left) > 0) {
        ssize_t size = read(0, data, sizeof data);
        if (size <= 0)
            return size == 0;
        remember(data, (size_t)size);
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = until - ((long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    }
    return 0;
}

static int is_plain(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return word != NULL && *word && word[strspn(word, plain)] == '\0';
}

static int is_written(int to, const void *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t written = write(to, (const char *)data + at, size - at);
        if (written < 0)
            return 0;
        at += (size_t)written;
    }
    return 1;
}

static void keep(void)
{
    const char *session = setting("MAESTRO_SESSION_ID"), *token = setting("MAESTRO_TOKEN"), *slash, *beside;
    char path[PATH_MAX], part[PATH_MAX], head[4096];
    struct timespec now;
    int to, size, done;

    if (has_spoken || !*token || strchr(token, '\n') != NULL || !is_plain(session) || !is_plain(arguments[2])
        || !is_plain(arguments[3]))
        return;
    if ((beside = socket_path()) == NULL || !has_heard_all())
        return;
    slash = strrchr(beside, '/');
    done = slash != NULL ? (int)(slash - beside) : 1;
    beside = slash != NULL ? beside : ".";
    clock_gettime(CLOCK_REALTIME, &now);
    size = snprintf(head, sizeof head, "maestro-hook/1\n%lld%09ld\n%s\n", (long long)now.tv_sec, now.tv_nsec, token);
    if (size >= (int)sizeof head
        || snprintf(part, sizeof part, "%.*s/hooks/.%s.%d", done, beside, session, (int)getpid()) >= (int)sizeof part
        || snprintf(path, sizeof path, "%.*s/hooks/%s.%s.%s", done, beside, session, arguments[2], arguments[3])
               >= (int)sizeof path)
        return;
    if ((to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
        return; /* no server has made a place for it */
    done = is_written(to, head, (size_t)size) && is_written(to, heard, heard_size);
    if (close(to) < 0 || !done || rename(part, path) < 0)
        unlink(part);
}

/* Why a hook was not answered, for `maestro doctor`; not to be able to note it is no reason to hold up an agent. */
static void __attribute__((noreturn)) give_up(const char *what, const char *detail)
{
    const char *home = home_path();
    char path[PATH_MAX], line[512];
    struct stat found;
    int log, size;

    if (home == NULL || snprintf(path, sizeof path, "%s/hooks.log", home) >= (int)sizeof path)
        _exit(0);
    size = snprintf(line, sizeof line - 1, "%lld\t%s %s\t%s%s", (long long)time(NULL),
                    arguments[2] != NULL ? arguments[2] : "-",
                    arguments[2] != NULL && arguments[3] != NULL ? arguments[3] : "-", what, detail);
    if (size > (int)sizeof line - 2)
        size = sizeof line - 2;
    for (int i = 0; i < size; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[size++] = '\n';
    log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log >= 0 && fstat(log, &found) == 0 && found.st_size > HOOK_LOG_MAX && ftruncate(log, 0) < 0)
        _exit(0);
    if (log >= 0 && write(log, line, (size_t)size) < 0)
        _exit(0);
    _exit(0);
}

/* Sets the time that a hook has left; 0 ends the alarm. The alarm repeats: a signal that comes between a look at
 * `is_late` and the next system call would otherwise be lost. */
static void set_alarm(long seconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = seconds}, .it_interval = {.tv_usec = ALARM_AGAIN_US}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void note_lateness(int number)
{
    (void)number;
    is_late = 1;
}

/* The alarm interrupts system calls: called after each one that may wait. */
static void end_if_late(void)
{
    if (!is_late)
        return;
    set_alarm(0);
    keep();
    give_up("the server did not answer in time", "");
}

static void __attribute__((noreturn)) fail(int code, const char *what, const char *detail)
{
    if (is_hook)
        set_alarm(0);
    if (is_hook && code == NO_SERVER)
        keep();
    if (is_hook)
        give_up(what, detail);
    dprintf(2, "maestro: %s%s\n", what, detail);
    _exit(code);
}

static void interrupted(int number)
{
    (void)number;
    _exit(INTERRUPTED);
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static char *joined(const char *first, const char *second)
{
    char *text;
    if (asprintf(&text, "%s%s", first, second) < 0)
        fail(FAILED, "out of memory", "");
    return text;
}

/* The directory of this very file, links resolved: installers link to it from elsewhere. NULL if unknown. */
static char *own_directory(void)
{
    char *found, *slash;
#ifdef __APPLE__
    char path[PATH_MAX];
    uint32_t size = sizeof path;
    found = _NSGetExecutablePath(path, &size) == 0 ? realpath(path, NULL) : NULL;
#else
    found = realpath("/proc/self/exe", NULL);
#endif
    if (found == NULL && strchr(arguments[0], '/') != NULL)
        found = realpath(arguments[0], NULL);
    if (found != NULL && (slash = strrchr(found, '/')) != NULL)
        *slash = '\0';
    return found;
}

static void __attribute__((noreturn)) become_python(void)
{
    char *directory = own_directory();
    size_t count = 0;

    if (is_hook) /* the native client does all of it, or nothing */
        fail(NO_SERVER, "no server answers", "");
    if (server >= 0)
        close(server);
    setenv("MAESTRO_CLIENT", "native", 1);
    if (directory == NULL)
        execvp("maestro-py", arguments);
    else
        execv(joined(directory, "/maestro-py"), arguments);
    while (directory != NULL && arguments[count] != NULL)
        count++;
    char **words = calloc(count + 4, sizeof *words);
    if (words != NULL && count > 0) {
        /* The script's first line may name its interpreter in a way that the system cannot take (a space). */
        words[0] = joined(directory, "/python");
        words[1] = "-P";
        words[2] = "-m";
        words[3] = "maestro.client.script";
        memcpy(words + 4, arguments + 1, (count - 1) * sizeof *words);
        execv(words[0], words);
    }
    fail(FAILED, "cannot run maestro-py, which should be beside the native client: ", strerror(errno));
}

/* ---- finding the server ---- */

/* The data directory; NULL if that is for Python to find out. */
static const char *home_path(void)
{
    const char *home = setting("HOME"), *path;
    if (*(path = setting("MAESTRO_HOME")))
        return path;
#ifdef __APPLE__
    return *home ? joined(home, "/Library/Application Support/maestro") : NULL;
#else
    if (*(path = setting("XDG_DATA_HOME")) == '/')
        return joined(path, "/maestro");
    return *home ? joined(home, "/.local/share/maestro") : NULL;
#endif
}

/* Where the server should be; NULL if that is for Python to find out. */
static const char *socket_path(void)
{
    const char *path;
    if (*(path = setting("MAESTRO_SOCKET")))
        return path;
    if (*setting("MAESTRO_SERVER_URL"))
        return NULL;
    path = home_path();
    return path != NULL ? joined(path, "/maestro.sock") : NULL;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = path, *slash = strrchr(path, '/');
    int here = -1, done;

    if (strlen(path) >= sizeof address.sun_path) {
        /* No socket address holds this: go to its directory for a moment and use the bare name. */
        if (slash == NULL || strlen(slash + 1) >= sizeof address.sun_path)
            return 0;
        name = slash + 1;
        here = open(".", O_RDONLY | O_CLOEXEC);
        if (here < 0 || chdir(strndup(path, (size_t)(name - path))) < 0)
            return 0;
    }
    memcpy(address.sun_path, name, strlen(name) + 1);
    done = connect(server, (struct sockaddr *)&address, sizeof address);
    end_if_late();
    if (here >= 0 && fchdir(here) < 0)
        fail(FAILED, "cannot return to the current directory: ", strerror(errno));
    return done == 0;
}

/* ---- the request ---- */

static int is_sent(const char *variable)
{
    static const char *const names[] = {"NO_COLOR=", "FORCE_COLOR=", "TERM=",
                                        "LANG=",     "LC_ALL=",      "CLAUDECODE="};
    if (strncmp(variable, "MAESTRO_", 8) == 0)
        return strchr(variable, '=') != NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

static const char *columns(void)
{
    static char text[16];
    struct winsize window = {0};
    const char *asked = setting("COLUMNS");
    if (*asked && asked[strspn(asked, "0123456789")] == '\0')
        return asked;
    if (ioctl(1, TIOCGWINSZ, &window) < 0)
        ioctl(2, TIOCGWINSZ, &window);
    snprintf(text, sizeof text, "%u", window.ws_col);
    return text;
}

static void put_head(unsigned char *to, char kind, size_t size)
{
    to[0] = (unsigned char)kind;
    for (int i = 1; i < HEAD; i++)
        to[i] = (unsigned char)(size >> (8 * (HEAD - 1 - i)));
}

/* A text and the NUL that ends it. */
static void add(FILE *request, const char *text)
{
    fwrite(text, strlen(text) + 1, 1, request);
}

static void send_request(void)
{
    char *data, *directory = getcwd(NULL, 0);
    char terminals[] = {isatty(0) ? '1' : '0', isatty(1) ? '1' : '0', isatty(2) ? '1' : '0', '\0'};
    size_t size, at = 0;
    FILE *request = open_memstream(&data, &size);

    if (request == NULL)
        fail(FAILED, "out of memory", "");
    fwrite("head.", HEAD, 1, request);
    add(request, "maestro/2");
    add(request, "native");
    add(request, MAESTRO_VERSION);
    add(request, terminals);
    add(request, columns());
    add(request, directory != NULL ? directory : "-");
    for (char **variable = environ; *variable != NULL; variable++)
        if (is_sent(*variable))
            add(request, *variable);
    add(request, "");
    for (char **word = arguments + 1; *word != NULL; word++)
        add(request, *word);
    if (fclose(request) != 0)
        fail(FAILED, "out of memory", "");
    if (size - HEAD > PAYLOAD_MAX)
        fail(USAGE, "the arguments are longer than 1 MiB; long text can come from a file or stdin", "");
    put_head((unsigned char *)data, 'R', size - HEAD);
    while (at < size) {
        ssize_t sent = send(server, data + at, size - at, 0);
        end_if_late();
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            break; /* it may refuse before it has heard all: then its answer says why */
        at += (size_t)sent;
    }
}

/* ---- what goes up ---- */

static void close_source(void)
{
    if (source > 2)
        close(source);
    source = -1;
}

static void flush(void)
{
    ssize_t sent = send(server, outbox + out_at, out_have, MSG_DONTWAIT);
    if (sent >= 0) {
        out_have -= (size_t)sent;
        out_at = out_have > 0 ? out_at + (size_t)sent : 0;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        /* It has stopped listening for good. What it said before that is still to be read. */
        out_at = out_have = 0;
        close_source();
    }
}

static void answer(char kind, const char *payload)
{
    size_t size = strlen(payload), end = out_at + out_have;
    if (end + HEAD + size > sizeof outbox)
        fail(FAILED, "the server asks for more than it listens to", "");
    put_head(outbox + end, kind, size);
    memcpy(outbox + end + HEAD, payload, size);
    out_have += HEAD + size;
    flush();
}

static void refuse(int error)
{
    char text[PATH_MAX + 256];
    close_source();
    snprintf(text, sizeof text, "%s: %s", strerror(error), source_name);
    answer('N', text);
}

/* Sends up the next piece of the input; an empty one is its end. */
static void pass_on(void)
{
    ssize_t size = read(source, outbox + HEAD, CHUNK);
    if (size < 0) {
        if (errno != EINTR && errno != EAGAIN)
            refuse(errno);
        return;
    }
    if (is_hook)
        remember(outbox + HEAD, (size_t)size);
    put_head(outbox, 'D', (size_t)size);
    out_have = HEAD + (size_t)size;
    if (size == 0)
        close_source();
    flush();
}

/* ---- what comes down ---- */

static void put(int fd, const unsigned char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        end_if_late();
        if (written >= 0) {
            data += written;
            size -= (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            fd_set ready;
            FD_ZERO(&ready);
            FD_SET(fd, &ready);
            select(fd + 1, NULL, &ready, NULL, NULL);
        } else if (errno != EINTR) {
            if (fd == 2)
                return; /* diagnostics that nobody can see are dropped */
            if (errno == EPIPE)
                _exit(is_hook ? 0 : CLOSED_PIPE);
            fail(FAILED, "cannot write the output: ", strerror(errno));
        }
    }
}

/* Until the server speaks: sends what is to be sent, and notices when nobody reads the output any more. */
static void wait_for_server(void)
{
    static int patience_ms = 200; /* a quick command is let finish, whoever reads it */
    static int watches_reader = 1;
    for (;;) {
        struct pollfd ready[2] = {{.fd = server, .events = POLLIN}, {.fd = -1}};
        if (out_have > 0)
            ready[0].events |= POLLOUT;
        else if (source >= 0)
            ready[1] = (struct pollfd){.fd = source, .events = POLLIN};
        else if (patience_ms < 0 && watches_reader)
            ready[1].fd = 1;
        int count = poll(ready, 2, out_have > 0 || source >= 0 ? -1 : patience_ms);
        end_if_late();
        if (count == 0)
            patience_ms = -1;
        if (count <= 0)
            continue;
        if (ready[1].revents && source >= 0)
            pass_on();
        else if (ready[1].revents & (POLLERR | POLLHUP))
            _exit(is_hook ? 0 : CLOSED_PIPE);
        else if (ready[1].revents)
            watches_reader = 0; /* macOS cannot watch every kind of device, and says so at once */
        if (ready[0].revents & POLLOUT)
            flush();
        if (ready[0].revents & ~POLLOUT)
            return;
    }
}

/* The server went away before its first word: Python knows what may run without it. */
static void __attribute__((noreturn)) after_silence(void)
{
    if (is_hook)
        fail(NO_SERVER, "the server ended the connection before the answer was complete", "");
    setenv("MAESTRO_SILENCE", "1", 1);
    become_python();
}

/* The server went away while it only waited: Python asks again as soon as there is one. */
static void __attribute__((noreturn)) wait_elsewhere(void)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", waits_until);
    setenv("MAESTRO_WAIT_UNTIL", text, 1);
    become_python();
}

/* The next `size` bytes from the server, which stay where they are. */
static unsigned char *peek(size_t size)
{
    while (in_have < size) {
        if (in_at > 0)
            memmove(inbox, inbox + in_at, in_have);
        in_at = 0;
        wait_for_server();
        ssize_t got = recv(server, inbox + in_have, CHUNK, 0);
        if (got > 0) {
            in_have += (size_t)got;
            answered = 1;
        }
        else if ((got == 0 || errno != EINTR) && waits_until > 0)
            wait_elsewhere();
        else if ((got == 0 || errno != EINTR) && !answered)
            after_silence();
        else if (got == 0 || errno != EINTR)
            fail(NO_SERVER, "the server ended the connection before the answer was complete", "");
    }
    return inbox + in_at;
}

static void open_file(const unsigned char *name, size_t size)
{
    snprintf(source_name, sizeof source_name, "%.*s", (int)size, (const char *)name);
    if (size >= sizeof source_name)
        refuse(ENAMETOOLONG);
    else if ((source = open(source_name, O_RDONLY)) < 0)
        refuse(errno);
}

/* Sends up a file by its name; without a name, the file that `tell_path` opened. */
static void send_file(const unsigned char *name, size_t size)
{
    if (size > 0) {
        open_file(name, size);
        return;
    }
    source = opened;
    opened = -1;
    if (source < 0)
        refuse(EBADF);
}

/* Where an open file lies, links resolved, from the system itself: a link that is swapped later changes nothing. */
static int real_path(int fd, char *path)
{
#ifdef __APPLE__
    return fcntl(fd, F_GETPATH, path) == 0;
#else
    char name[64], *found;
    struct stat open_one, named;
    ssize_t size;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if ((size = readlink(name, path, PATH_MAX - 1)) >= 0) {
        path[size] = '\0';
        return 1;
    }
    if ((found = realpath(source_name, path)) == NULL)
        return 0;
    if (fstat(fd, &open_one) < 0 || lstat(found, &named) < 0)
        return 0;
    errno = ESTALE; /* the file was replaced while it was opened */
    return open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
#endif
}

/* Opens a file or folder and says its real path; sends nothing of it before the server asks for it. */
static void tell_path(const unsigned char *name, size_t size)
{
    char path[PATH_MAX];

    open_file(name, size);
    if (source < 0)
        return;
    if (!real_path(source, path)) {
        refuse(errno);
        return;
    }
    opened = source;
    source = -1;
    answer('D', path);
    answer('D', "");
}

/* A decimal number, at most `most`; what is none, the client does not understand. */
static long number_of(const unsigned char *text, size_t size, long most)
{
    long long value = 0;
    for (size_t i = 0; i < size || i == 0; i++) {
        if (size == 0 || text[i] < '0' || text[i] > '9')
            fail(FAILED, not_understood, "");
        value = value * 10 + (text[i] - '0');
        value = value > most ? most : value;
    }
    return (long)value;
}

static const char *text_of(const unsigned char *text, size_t size)
{
    char *copy = strndup((const char *)text, size);
    if (copy == NULL)
        fail(FAILED, "out of memory", "");
    return copy;
}

static void handle(unsigned char kind, const unsigned char *payload, size_t size)
{
    switch (kind) {
    case 'O':
        waits_until = 0;
        has_spoken = 1;
        put(1, payload, size);
        break;
    case 'E':
        if (is_hook)
            snprintf(said, sizeof said, "%.*s", (int)(size < sizeof said ? size : sizeof said - 1),
                     (const char *)payload);
        else
            put(2, payload, size);
        break;
    case 'C':
        answer('C', "");
        break;
    case 'I':
        source = 0;
        strcpy(source_name, "standard input");
        break;
    case 'F':
        send_file(payload, size);
        break;
    case 'P':
        tell_path(payload, size);
        break;
    case 'L':
        /* With a payload the server has done its part, and Python goes on with that; without one it asks itself. */
        if (size > 0)
            setenv("MAESTRO_LOCAL", text_of(payload, size), 1);
        become_python();
    case 'W': {
        struct timespec now;
        long wait = number_of(payload, size, WAIT_MS_MAX);
        if (is_hook) {
            set_alarm(HOOK_SECONDS + wait / 1000);
            break;
        }
        clock_gettime(CLOCK_REALTIME, &now);
        waits_until = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 + wait;
        break;
    }
    case 'X': {
        int code = (int)number_of(payload, size, EXIT_CODE_MAX);
        if (is_hook && code != 0)
            give_up(*said ? said : "the server could not answer", "");
        _exit(code);
    }
    default:
        fail(FAILED, not_understood, "");
    }
}

/* Whether this is an agent's hook, and nobody who wants help with it. */
static int asks_for_hook(void)
{
    if (arguments[1] == NULL || strcmp(arguments[1], "hook") != 0)
        return 0;
    for (char **word = arguments + 2; *word != NULL; word++)
        if (strcmp(*word, "--help") == 0 || strcmp(*word, "-h") == 0)
            return 0;
    return 1;
}

int main(int count, char **words)
{
    struct sigaction before;
    const char *path;

    if (count < 1)
        return USAGE;
    arguments = words;
    if (count > 2 && strcmp(words[1], "hook") == 0 && strcmp(words[2], "--patient") == 0)
        become_python();
    is_hook = asks_for_hook();
    signal(SIGPIPE, SIG_IGN);
    if (is_hook) {
        struct sigaction late = {.sa_handler = note_lateness}; /* no SA_RESTART: system calls are to be interrupted */
        sigaction(SIGALRM, &late, NULL);
        set_alarm(HOOK_SECONDS);
    }
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        signal(SIGINT, interrupted);
    path = socket_path();
    if (path == NULL)
        become_python();
    do /* where a standard descriptor was closed, what takes its number must not be connected */
        server = socket(AF_UNIX, SOCK_STREAM, 0);
    while (server >= 0 && server <= 2);
    if (server < 0 || !connect_to(path))
        become_python();
    send_request();
    for (;;) {
        unsigned char *head = peek(HEAD);
        size_t size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
        if (size > PAYLOAD_MAX)
            fail(FAILED, "the server sent a frame that is too long", "");
        head = peek(HEAD + size);
        handle(head[0], head + HEAD, size);
        in_at += HEAD + size;
        in_have -= HEAD + size;
    }
}
