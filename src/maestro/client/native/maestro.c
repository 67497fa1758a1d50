/* The native `maestro` client: the common path of client/main.py in plain system calls (docs/frames.md).
 *
 * The client connects to the server, sends the request and relays the answer. For all other cases (no server, a local
 * command) the process becomes the Python client, which is installed in the same directory. After the request is
 * sent, the process becomes the Python client only if the server asks for that: no request may be made twice.
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
enum { HOOK_SECONDS = 4, HOOK_LOG_MAX = 1 << 18, HOOK_PAYLOAD_MAX = 1 << 20, HOOK_PAYLOAD_MS = 500 };
enum { WAIT_MS_MAX = 7 * 24 * 3600 * 1000, EXIT_CODE_MAX = 255, ALARM_AGAIN_US = 50000 };

extern char **environ;
static char **arguments;
static int server = -1;
static unsigned char inbox[HEAD + PAYLOAD_MAX + CHUNK]; /* bytes from the server: `in_have` bytes from `in_at` */
static size_t in_at, in_have;
static unsigned char outbox[2 * CHUNK]; /* bytes for the server: a chunk of input, or small answers */
static size_t out_at, out_have;
static int upload = -1; /* the descriptor whose content is sent to the server; -1 if none */
static char upload_name[PATH_MAX];
static int announced_file = -1; /* an open file whose real path the server knows, and whose content it may ask for */
static char hook_problem[400]; /* the server's error text for a hook: logged, never printed */
static int has_answer_begun; /* whether the server has sent any byte yet */
static int is_hook; /* the hook of a program: every problem is logged, never printed, and the exit code is always 0 */
static unsigned char hook_payload[HOOK_PAYLOAD_MAX]; /* the hook's payload from its program, as far as it was read */
static size_t hook_payload_size; /* larger than HOOK_PAYLOAD_MAX if the payload is too long */
static int has_hook_answer; /* whether the program has got an answer to its hook, or a part of one */
static volatile sig_atomic_t is_hook_late; /* the hook's time is over: set by the alarm, checked after system calls */
static long long waits_until; /* milliseconds since 1970, while the server does nothing but wait; else 0 */

static const char not_understood[] =
    "the server sent a frame that this client does not understand; compare the versions: maestro doctor";

static const char *data_directory(void);
static const char *socket_path(void);
static const char *read_variable(const char *name);

/* ---- late hooks: a hook that no server got is stored for the next server, see client/hook_spool.py ---- */

static void store_hook_payload(const unsigned char *data, size_t size)
{
    if (hook_payload_size <= HOOK_PAYLOAD_MAX && size <= HOOK_PAYLOAD_MAX - hook_payload_size)
        memcpy(hook_payload + hook_payload_size, data, size);
    hook_payload_size += size;
}

/* Read the rest of the hook's payload; return whether the payload is complete. */
static int read_rest_of_hook_payload(void)
{
    struct pollfd from = {.fd = 0, .events = POLLIN};
    unsigned char data[4096];
    struct timespec now;
    long long until, left = HOOK_PAYLOAD_MS;

    clock_gettime(CLOCK_MONOTONIC, &now);
    until = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 + HOOK_PAYLOAD_MS;
    while (hook_payload_size <= HOOK_PAYLOAD_MAX && left > 0 && poll(&from, 1, (int)left) > 0) {
        ssize_t size = read(0, data, sizeof data);
        if (size <= 0)
            return size == 0;
        store_hook_payload(data, (size_t)size);
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = until - ((long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    }
    return 0;
}

static int is_plain_name(const char *argument)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return argument != NULL && *argument && argument[strspn(argument, plain)] == '\0';
}

/* Write all bytes; return whether that worked. */
static int write_all(int to, const void *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t written = write(to, (const char *)data + at, size - at);
        if (written < 0)
            return 0;
        at += (size_t)written;
    }
    return 1;
}

/* Store the hook for the next server. Only sessions that Maestro started have a token: other hooks are dropped. */
static void store_late_hook(void)
{
    const char *session = read_variable("MAESTRO_SESSION_ID"), *token = read_variable("MAESTRO_TOKEN");
    const char *slash, *beside;
    char path[PATH_MAX], part[PATH_MAX], head[4096];
    struct timespec now;
    int to, size, done;

    if (has_hook_answer || !*token || strchr(token, '\n') != NULL)
        return;
    if (!is_plain_name(session) || !is_plain_name(arguments[2]) || !is_plain_name(arguments[3]))
        return;
    if ((beside = socket_path()) == NULL || !read_rest_of_hook_payload())
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
        return; /* no server has made the folder for late hooks */
    done = write_all(to, head, (size_t)size) && write_all(to, hook_payload, hook_payload_size);
    if (close(to) < 0 || !done || rename(part, path) < 0)
        unlink(part);
}

/* Log for `maestro doctor` why the hook got no answer, and exit. A log that cannot be written must not delay the
 * agent: the exit code is 0 in every case. */
static void __attribute__((noreturn)) log_hook_and_exit(const char *problem, const char *detail)
{
    const char *home = data_directory();
    char path[PATH_MAX], line[512];
    struct stat found;
    int log, size;

    if (home == NULL || snprintf(path, sizeof path, "%s/hooks.log", home) >= (int)sizeof path)
        _exit(0);
    size = snprintf(line, sizeof line - 1, "%lld\t%s %s\t%s%s", (long long)time(NULL),
                    arguments[2] != NULL ? arguments[2] : "-",
                    arguments[2] != NULL && arguments[3] != NULL ? arguments[3] : "-", problem, detail);
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

/* Set the time that the hook has left; 0 ends the alarm. The alarm repeats: a signal that comes between a check of
 * `is_hook_late` and the next system call would otherwise be lost. */
static void set_hook_alarm(long seconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = seconds}, .it_interval = {.tv_usec = ALARM_AGAIN_US}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* The SIGALRM handler. It only sets a flag: a signal handler must not allocate memory. */
static void mark_hook_late(int number)
{
    (void)number;
    is_hook_late = 1;
}

/* Store and log the hook, and exit, if its time is over. The alarm interrupts system calls (EINTR): this function is
 * called after each system call that may wait. */
static void exit_if_hook_is_late(void)
{
    if (!is_hook_late)
        return;
    set_hook_alarm(0);
    store_late_hook();
    log_hook_and_exit("the server did not answer in time", "");
}

static void __attribute__((noreturn)) exit_with_error(int code, const char *problem, const char *detail)
{
    if (is_hook)
        set_hook_alarm(0);
    if (is_hook && code == NO_SERVER)
        store_late_hook();
    if (is_hook)
        log_hook_and_exit(problem, detail);
    dprintf(2, "maestro: %s%s\n", problem, detail);
    _exit(code);
}

static void exit_on_interrupt(int number)
{
    (void)number;
    _exit(INTERRUPTED);
}

static const char *read_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static char *concatenate(const char *first, const char *second)
{
    char *text;
    if (asprintf(&text, "%s%s", first, second) < 0)
        exit_with_error(FAILED, "out of memory", "");
    return text;
}

/* Return the directory of this executable; NULL if unknown. Links are resolved: installers link to the file from
 * other directories. */
static char *executable_directory(void)
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

static void __attribute__((noreturn)) run_python_client(void)
{
    char *directory = executable_directory();
    size_t count = 0;

    if (is_hook) /* a hook never becomes the Python client: the native client answers the hook, or gives up */
        exit_with_error(NO_SERVER, "no server answers", "");
    if (server >= 0)
        close(server);
    setenv("MAESTRO_CLIENT", "native", 1);
    if (directory == NULL)
        execvp("maestro-py", arguments);
    else
        execv(concatenate(directory, "/maestro-py"), arguments);
    while (directory != NULL && arguments[count] != NULL)
        count++;
    char **command = calloc(count + 4, sizeof *command);
    if (command != NULL && count > 0) {
        /* The system cannot run a script whose first line names an interpreter with a space in its path. */
        command[0] = concatenate(directory, "/python");
        command[1] = "-P";
        command[2] = "-m";
        command[3] = "maestro.client.script";
        memcpy(command + 4, arguments + 1, (count - 1) * sizeof *command);
        execv(command[0], command);
    }
    exit_with_error(FAILED, "cannot run maestro-py, which belongs beside the native client; install Maestro again: ",
                    strerror(errno));
}

/* ---- finding the server ---- */

/* Return the data directory; NULL if only the Python client can find it. */
static const char *data_directory(void)
{
    const char *home = read_variable("HOME"), *path;
    if (*(path = read_variable("MAESTRO_HOME")))
        return path;
#ifdef __APPLE__
    return *home ? concatenate(home, "/Library/Application Support/maestro") : NULL;
#else
    if (*(path = read_variable("XDG_DATA_HOME")) == '/')
        return concatenate(path, "/maestro");
    return *home ? concatenate(home, "/.local/share/maestro") : NULL;
#endif
}

/* Return the path of the server's socket; NULL if only the Python client can find it. */
static const char *socket_path(void)
{
    const char *path;
    if (*(path = read_variable("MAESTRO_SOCKET")))
        return path;
    if (*read_variable("MAESTRO_SERVER_URL"))
        return NULL;
    path = data_directory();
    return path != NULL ? concatenate(path, "/maestro.sock") : NULL;
}

/* Return whether `server` is connected to the socket at `path`. */
static int connect_to_server(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = path, *slash = strrchr(path, '/');
    int here = -1, done;

    if (strlen(path) >= sizeof address.sun_path) {
        /* The path is too long for a socket address: change to its directory for a moment and use the bare name. */
        if (slash == NULL || strlen(slash + 1) >= sizeof address.sun_path)
            return 0;
        name = slash + 1;
        here = open(".", O_RDONLY | O_CLOEXEC);
        if (here < 0 || chdir(strndup(path, (size_t)(name - path))) < 0)
            return 0;
    }
    memcpy(address.sun_path, name, strlen(name) + 1);
    done = connect(server, (struct sockaddr *)&address, sizeof address);
    exit_if_hook_is_late();
    if (here >= 0 && fchdir(here) < 0)
        exit_with_error(FAILED, "cannot return to the current directory: ", strerror(errno));
    return done == 0;
}

/* ---- the request ---- */

static int is_sent_variable(const char *variable)
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

static const char *terminal_columns(void)
{
    static char text[16];
    struct winsize window = {0};
    const char *asked = read_variable("COLUMNS");
    if (*asked && asked[strspn(asked, "0123456789")] == '\0')
        return asked;
    if (ioctl(1, TIOCGWINSZ, &window) < 0)
        ioctl(2, TIOCGWINSZ, &window);
    snprintf(text, sizeof text, "%u", window.ws_col);
    return text;
}

static void write_frame_head(unsigned char *to, char kind, size_t size)
{
    to[0] = (unsigned char)kind;
    for (int i = 1; i < HEAD; i++)
        to[i] = (unsigned char)(size >> (8 * (HEAD - 1 - i)));
}

/* Add a text and the NUL that ends it. */
static void add_field(FILE *request, const char *text)
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
        exit_with_error(FAILED, "out of memory", "");
    fwrite("head.", HEAD, 1, request);
    add_field(request, "maestro/2");
    add_field(request, "native");
    add_field(request, MAESTRO_VERSION);
    add_field(request, terminals);
    add_field(request, terminal_columns());
    add_field(request, directory != NULL ? directory : "-");
    for (char **variable = environ; *variable != NULL; variable++)
        if (is_sent_variable(*variable))
            add_field(request, *variable);
    add_field(request, "");
    for (char **argument = arguments + 1; *argument != NULL; argument++)
        add_field(request, *argument);
    if (fclose(request) != 0)
        exit_with_error(FAILED, "out of memory", "");
    if (size - HEAD > PAYLOAD_MAX)
        exit_with_error(USAGE, "the arguments are longer than 1 MiB; pass long text in a file or on standard input",
                        "");
    write_frame_head((unsigned char *)data, 'R', size - HEAD);
    while (at < size) {
        ssize_t sent = send(server, data + at, size - at, 0);
        exit_if_hook_is_late();
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            break; /* the server may refuse before it has read all of the request; its answer says why */
        at += (size_t)sent;
    }
}

/* ---- frames to the server ---- */

static void close_upload(void)
{
    if (upload > 2)
        close(upload);
    upload = -1;
}

static void flush_outbox(void)
{
    ssize_t sent = send(server, outbox + out_at, out_have, MSG_DONTWAIT);
    if (sent >= 0) {
        out_have -= (size_t)sent;
        out_at = out_have > 0 ? out_at + (size_t)sent : 0;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        /* The server reads no more. The frames that it sent before are still to be read. */
        out_at = out_have = 0;
        close_upload();
    }
}

static void send_frame(char kind, const char *payload)
{
    size_t size = strlen(payload), end = out_at + out_have;
    if (end + HEAD + size > sizeof outbox)
        exit_with_error(FAILED, "the server asks for files faster than it reads them", "");
    write_frame_head(outbox + end, kind, size);
    memcpy(outbox + end + HEAD, payload, size);
    out_have += HEAD + size;
    flush_outbox();
}

static void refuse_upload(int error)
{
    char text[PATH_MAX + 256];
    close_upload();
    snprintf(text, sizeof text, "%s: %s", strerror(error), upload_name);
    send_frame('N', text);
}

/* Send the next chunk of the file or input; an empty chunk marks the end. */
static void send_next_chunk(void)
{
    ssize_t size = read(upload, outbox + HEAD, CHUNK);
    if (size < 0) {
        if (errno != EINTR && errno != EAGAIN)
            refuse_upload(errno);
        return;
    }
    if (is_hook)
        store_hook_payload(outbox + HEAD, (size_t)size);
    write_frame_head(outbox, 'D', (size_t)size);
    out_have = HEAD + (size_t)size;
    if (size == 0)
        close_upload();
    flush_outbox();
}

/* ---- frames from the server ---- */

static void write_output(int fd, const unsigned char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        exit_if_hook_is_late();
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
                return; /* drop diagnostics that cannot be shown */
            if (errno == EPIPE)
                _exit(is_hook ? 0 : CLOSED_PIPE);
            exit_with_error(FAILED, "cannot write the output: ", strerror(errno));
        }
    }
}

/* Wait until the server sends bytes. Meanwhile send the outbox and the input, and exit if the reader of the output
 * goes away. */
static void wait_for_server(void)
{
    static int silence_ms = 200; /* a quick command may finish without a check of its reader */
    static int watches_reader = 1;
    for (;;) {
        struct pollfd ready[2] = {{.fd = server, .events = POLLIN}, {.fd = -1}};
        if (out_have > 0)
            ready[0].events |= POLLOUT;
        else if (upload >= 0)
            ready[1] = (struct pollfd){.fd = upload, .events = POLLIN};
        else if (silence_ms < 0 && watches_reader)
            ready[1].fd = 1;
        int count = poll(ready, 2, out_have > 0 || upload >= 0 ? -1 : silence_ms);
        exit_if_hook_is_late();
        if (count == 0)
            silence_ms = -1;
        if (count <= 0)
            continue;
        if (ready[1].revents && upload >= 0)
            send_next_chunk();
        else if (ready[1].revents & (POLLERR | POLLHUP))
            _exit(is_hook ? 0 : CLOSED_PIPE);
        else if (ready[1].revents)
            watches_reader = 0; /* macOS cannot watch every kind of device, and reports that at once */
        if (ready[0].revents & POLLOUT)
            flush_outbox();
        if (ready[0].revents & ~POLLOUT)
            return;
    }
}

/* The server went away before its first byte: the Python client knows which commands run without a server. */
static void __attribute__((noreturn)) run_python_after_silence(void)
{
    if (is_hook)
        exit_with_error(NO_SERVER, "the server ended the connection before the answer was complete", "");
    setenv("MAESTRO_SILENCE", "1", 1);
    run_python_client();
}

/* The server went away while it only waited: the Python client asks again as soon as a server runs. */
static void __attribute__((noreturn)) run_python_to_wait(void)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", waits_until);
    setenv("MAESTRO_WAIT_UNTIL", text, 1);
    run_python_client();
}

/* Return the next `size` bytes from the server, without removing the bytes from the inbox. */
static unsigned char *peek_bytes(size_t size)
{
    while (in_have < size) {
        if (in_at > 0)
            memmove(inbox, inbox + in_at, in_have);
        in_at = 0;
        wait_for_server();
        ssize_t got = recv(server, inbox + in_have, CHUNK, 0);
        if (got > 0) {
            in_have += (size_t)got;
            has_answer_begun = 1;
        }
        else if ((got == 0 || errno != EINTR) && waits_until > 0)
            run_python_to_wait();
        else if ((got == 0 || errno != EINTR) && !has_answer_begun)
            run_python_after_silence();
        else if (got == 0 || errno != EINTR)
            exit_with_error(NO_SERVER, "the server ended the connection before the answer was complete", "");
    }
    return inbox + in_at;
}

static void open_upload(const unsigned char *name, size_t size)
{
    snprintf(upload_name, sizeof upload_name, "%.*s", (int)size, (const char *)name);
    if (size >= sizeof upload_name)
        refuse_upload(ENAMETOOLONG);
    else if ((upload = open(upload_name, O_RDONLY)) < 0)
        refuse_upload(errno);
}

/* Begin to send the file with this name; without a name, the file that `send_real_path` opened. */
static void send_file(const unsigned char *name, size_t size)
{
    if (size > 0) {
        open_upload(name, size);
        return;
    }
    upload = announced_file;
    announced_file = -1;
    if (upload < 0)
        refuse_upload(EBADF);
}

/* Write the real path of an open file to `path`; return whether that worked. The system names the open file, so a link
 * that is swapped later changes nothing. */
static int real_path(int fd, char *path)
{
#ifdef __APPLE__
    return fcntl(fd, F_GETPATH, path) == 0;
#else
    char name[64], *found;
    struct stat opened_file, named_file;
    ssize_t size;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if ((size = readlink(name, path, PATH_MAX - 1)) >= 0) {
        path[size] = '\0';
        return 1;
    }
    if ((found = realpath(upload_name, path)) == NULL)
        return 0;
    if (fstat(fd, &opened_file) < 0 || lstat(found, &named_file) < 0)
        return 0;
    errno = ESTALE; /* the file was replaced while it was opened */
    return opened_file.st_dev == named_file.st_dev && opened_file.st_ino == named_file.st_ino;
#endif
}

/* Open a file or folder and send its real path. The content is sent only when the server asks for it. */
static void send_real_path(const unsigned char *name, size_t size)
{
    char path[PATH_MAX];

    open_upload(name, size);
    if (upload < 0)
        return;
    if (!real_path(upload, path)) {
        refuse_upload(errno);
        return;
    }
    announced_file = upload;
    upload = -1;
    send_frame('D', path);
    send_frame('D', "");
}

/* Return a decimal number, at most `most`; exit with an error if the text is no number. */
static long parse_number(const unsigned char *text, size_t size, long most)
{
    long long value = 0;
    for (size_t i = 0; i < size || i == 0; i++) {
        if (size == 0 || text[i] < '0' || text[i] > '9')
            exit_with_error(FAILED, not_understood, "");
        value = value * 10 + (text[i] - '0');
        value = value > most ? most : value;
    }
    return (long)value;
}

static const char *copy_text(const unsigned char *text, size_t size)
{
    char *copy = strndup((const char *)text, size);
    if (copy == NULL)
        exit_with_error(FAILED, "out of memory", "");
    return copy;
}

static void handle_frame(unsigned char kind, const unsigned char *payload, size_t size)
{
    switch (kind) {
    case 'O':
        waits_until = 0;
        has_hook_answer = 1;
        write_output(1, payload, size);
        break;
    case 'E':
        if (is_hook)
            snprintf(hook_problem, sizeof hook_problem, "%.*s",
                     (int)(size < sizeof hook_problem ? size : sizeof hook_problem - 1), (const char *)payload);
        else
            write_output(2, payload, size);
        break;
    case 'C':
        send_frame('C', "");
        break;
    case 'I':
        upload = 0;
        strcpy(upload_name, "standard input");
        break;
    case 'F':
        send_file(payload, size);
        break;
    case 'P':
        send_real_path(payload, size);
        break;
    case 'L':
        /* With a payload the server has done its part, and the Python client continues with the payload. Without a
         * payload the Python client runs the whole command. */
        if (size > 0)
            setenv("MAESTRO_LOCAL", copy_text(payload, size), 1);
        run_python_client();
    case 'W': {
        struct timespec now;
        long wait = parse_number(payload, size, WAIT_MS_MAX);
        if (is_hook) {
            set_hook_alarm(HOOK_SECONDS + wait / 1000);
            break;
        }
        clock_gettime(CLOCK_REALTIME, &now);
        waits_until = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 + wait;
        break;
    }
    case 'X': {
        int code = (int)parse_number(payload, size, EXIT_CODE_MAX);
        if (is_hook && code != 0)
            log_hook_and_exit(*hook_problem ? hook_problem : "the server could not answer the hook", "");
        _exit(code);
    }
    default:
        exit_with_error(FAILED, not_understood, "");
    }
}

/* Return whether a program runs its hook; a person may ask for help with the hook command. */
static int is_hook_command(void)
{
    if (arguments[1] == NULL || strcmp(arguments[1], "hook") != 0)
        return 0;
    for (char **argument = arguments + 2; *argument != NULL; argument++)
        if (strcmp(*argument, "--help") == 0 || strcmp(*argument, "-h") == 0)
            return 0;
    return 1;
}

int main(int count, char **argument_values)
{
    struct sigaction before;
    const char *path;

    if (count < 1)
        return USAGE;
    arguments = argument_values;
    if (count > 2 && strcmp(argument_values[1], "hook") == 0 && strcmp(argument_values[2], "--patient") == 0)
        run_python_client();
    is_hook = is_hook_command();
    signal(SIGPIPE, SIG_IGN);
    if (is_hook) {
        /* Without SA_RESTART: the alarm must interrupt system calls. */
        struct sigaction late = {.sa_handler = mark_hook_late};
        sigaction(SIGALRM, &late, NULL);
        set_hook_alarm(HOOK_SECONDS);
    }
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        signal(SIGINT, exit_on_interrupt);
    path = socket_path();
    if (path == NULL)
        run_python_client();
    do /* if a standard descriptor is closed, the connection must not take its number */
        server = socket(AF_UNIX, SOCK_STREAM, 0);
    while (server >= 0 && server <= 2);
    if (server < 0 || !connect_to_server(path))
        run_python_client();
    send_request();
    for (;;) {
        unsigned char *head = peek_bytes(HEAD);
        size_t size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
        if (size > PAYLOAD_MAX)
            exit_with_error(FAILED, "the server sent a frame longer than 1 MiB; compare the versions: maestro doctor",
                            "");
        head = peek_bytes(HEAD + size);
        handle_frame(head[0], head + HEAD, size);
        in_at += HEAD + size;
        in_have -= HEAD + size;
    }
}
