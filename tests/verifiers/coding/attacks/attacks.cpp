// Attacks in C++, chosen by the first word of standard input: one program, so that it is compiled once.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sched.h>
#include <unistd.h>
#include <netinet/in.h>
#include <vector>

static long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
#if defined(__x86_64__)
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return result;
#else
    long result = syscall(number, a, b, c, d, e);
    return result < 0 ? -errno : result;
#endif
}

static void escaped(const char *what, long result) { printf("ESCAPED %s %ld\n", what, result); }

static void refused(const char *what, long result) {
    if (result != -EPERM && result != -ENOSYS) escaped(what, result);
}

static void system_calls() {
    long self = getpid();
    refused("ptrace", raw(SYS_ptrace, 16, getppid()));
    refused("traceme", raw(SYS_ptrace, 0));
    refused("execve", raw(SYS_execve, (long)"/bin/true", 0, 0));
    for (int fd = -100; fd < 64; fd++) refused("execveat", raw(SYS_execveat, fd, (long)"", 0, 0, 0x1000));
    refused("execveat of a path", raw(SYS_execveat, 3, (long)"/bin/true", 0, 0, 0x1000));
    refused("memfd_create", raw(SYS_memfd_create, (long)"x", 0));
    refused("unshare", raw(SYS_unshare, 0x10000000));
    refused("mount", raw(SYS_mount, 0, (long)"/", 0, 1 << 18, 0));
    refused("bpf", raw(SYS_bpf, 0, 0));
    refused("seccomp", raw(SYS_seccomp, 2, 0, 0));
    refused("no_new_privs", raw(SYS_prctl, 38, 0));
    refused("pdeathsig", raw(SYS_prctl, 1, 0));
    refused("setuid", raw(SYS_setuid, 0));
    refused("process_vm_readv", raw(SYS_process_vm_readv, getppid(), 0, 0, 0, 0));
    refused("pidfd_open", raw(SYS_pidfd_open, getppid(), 0));
    refused("io_uring_setup", raw(425, 8, 0));
    refused("prlimit", raw(SYS_prlimit64, getppid(), 7, 0, 0));
    refused("kill", raw(SYS_kill, getppid(), 0));
    refused("kill all", raw(SYS_kill, -1, 0));
    refused("tgkill", raw(SYS_tgkill, getppid(), getppid(), 0));
    refused("tkill", raw(SYS_tkill, getppid(), 0));
    if (raw(SYS_tgkill, self, self, 0) != 0) printf("a signal to itself is refused\n");
#if defined(__x86_64__)
    refused("x32 getpid", raw(0x40000000 + 39));
    refused("x32 execve", raw(0x40000000 + 520, (long)"/bin/true", 0, 0));
#endif
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, now;
    for (int limit : {RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE}) {
        setrlimit(limit, &none);
        getrlimit(limit, &now);
        if (now.rlim_cur == RLIM_INFINITY) escaped("limit", limit);
    }
}

static void processes() {
    for (int i = 0; i < 20; i++)
        if (fork() >= 0) escaped("fork", i);
    if (raw(SYS_clone, SIGCHLD) >= 0) escaped("clone", 0);
    refused("clone3", raw(SYS_clone3, 0, 0));
    if (system("true") == 0) escaped("system", 0);
    if (popen("true", "r") && errno == 0) escaped("popen", 0);
}

static void files() {
    char path[4096];
    while (scanf("%4095s", path) == 1)
        if (open(path, O_RDONLY) >= 0) escaped(path, 0);
    for (const char *name : {"/etc/passwd", "/proc/self/maps", "/proc/self/mem", "/sys", "/root", "/work"})
        if (open(name, O_RDONLY) >= 0) escaped(name, 0);
    for (const char *name : {"/tmp/escaped", "escaped", "/dev/shm/escaped", "/scratch/escaped"}) {
        if (open(name, O_RDWR | O_CREAT, 0600) >= 0) escaped(name, 1);
        if (mkdir(name, 0700) == 0) escaped(name, 2);
    }
    for (int fd = 3; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) escaped("descriptor", fd);
}

static void notes() {
    char path[64];
    for (long process = getppid() - 3; process < getppid() + 3; process++)
        for (int fd = 0; fd < 40 && process != getpid(); fd++)
            for (int mode : {O_RDONLY, O_RDWR}) {
                snprintf(path, sizeof path, "/proc/%ld/fd/%d", process, fd);
                if (open(path, mode) >= 0) escaped(path, mode);
            }
    refused("shmget", raw(SYS_shmget, 1, 4096, 01666));
    refused("semget", raw(SYS_semget, 1, 1, 01666));
    refused("msgget", raw(SYS_msgget, 1, 01666));
    refused("mq_open", raw(SYS_mq_open, (long)"note", O_CREAT | O_RDWR, 0666, 0));
    refused("flock", raw(SYS_flock, 0, 2));
    refused("inotify_init1", raw(SYS_inotify_init1, 0));
    refused("fanotify_init", raw(SYS_fanotify_init, 0, 0));
    refused("add_key", raw(SYS_add_key, (long)"user", (long)"note", (long)"x", 1, -4));
}

static void priorities() {
    long set = 1, parameters[8] = {48, 0, 19};
    refused("sched_setaffinity", raw(SYS_sched_setaffinity, 0, sizeof set, (long)&set));
    refused("setpriority", raw(SYS_setpriority, 0, 0, 19));
    refused("sched_setscheduler", raw(SYS_sched_setscheduler, 0, 5, (long)parameters));
    refused("sched_setattr", raw(SYS_sched_setattr, 0, (long)parameters, 0));
    refused("ioprio_set", raw(SYS_ioprio_set, 1, 0, 3 << 13));
    refused("timer slack", raw(SYS_prctl, 29, 1000000000));
}

static void *wait_for_ever(void *) { pause(); return nullptr; }

static void *burn_and_wait(void *) {
    while (clock() < CLOCKS_PER_SEC / 3) {}
    return wait_for_ever(nullptr);
}

static void *nap(void *) {
    for (timespec moment = {0, 1000000};;) nanosleep(&moment, nullptr);
}

static void crowd(void *(*work)(void *)) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 32 << 10);
    for (int i = 0; i < 100000 && !pthread_create(&thread, &attributes, work, nullptr); i++) {}
    work(nullptr);
}

static void network() {
    for (int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK})
        if (socket(family, SOCK_STREAM, 0) >= 0) escaped("socket", family);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) escaped("socketpair", 0);
}

static void threads() {
    int started = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 32 << 10);
    for (; started < 100000; started++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, wait_for_ever, nullptr)) break;
    }
    if (started < 4 || started > 144) escaped("threads", started);
}

static int deeper(int n) {
    volatile char room[4096];
    room[n % 4096] = n;
    return deeper(n + 1) + room[0];
}

static void endless_output() { for (;;) puts("flood"); }

int main() {
    char name[32];
    if (scanf("%31s", name) != 1) return 3;
    auto is = [&](const char *other) { return !strcmp(name, other); };
    if (is("system_calls")) system_calls();
    else if (is("processes")) processes();
    else if (is("files")) files();
    else if (is("network")) network();
    else if (is("threads")) threads();
    else if (is("spin")) for (volatile int i = 0;; i++) {}
    else if (is("ignore")) { for (int s = 1; s < 65; s++) signal(s, SIG_IGN); for (volatile int i = 0;; i++) {} }
    else if (is("notes")) notes();
    else if (is("priorities")) priorities();
    else if (is("crowd")) crowd(burn_and_wait);
    else if (is("naps")) crowd(nap);
    else if (is("yields")) for (;;) { sched_yield(); usleep(100); }
    else if (is("stop")) for (;;) raise(SIGSTOP);
    else if (is("sleep")) for (;;) pause();
    else if (is("flood")) endless_output();
    else if (is("flood_errors")) for (;;) fputs("flood\n", stderr);
    else if (is("recurse")) deeper(0);
    else if (is("segfault")) *(volatile int *)nullptr = 1;
    else if (is("abort")) abort();
    else if (is("exit")) return 7;
    else if (is("new")) { std::vector<char *> all; for (;;) { all.push_back(new char[1 << 20]); memset(all.back(), 1, 1 << 20); } }
    else if (is("mmap")) {
        long got = 0;
        while (mmap(nullptr, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED && got < 4096) got++;
        if (got > 64) escaped("mmap of MiB", got << 4);
    }
    else if (is("code")) {  // code of its own making may run, under the same filter
        void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#if defined(__x86_64__)
        const unsigned char fork_[] = {0xb8, 57, 0, 0, 0, 0x0f, 0x05, 0xc3};  // mov eax, fork; syscall; ret
        memcpy(page, fork_, sizeof fork_);
        refused("fork by code", ((long (*)())page)());
#endif
        (void)page;
    }
    else if (is("int80")) {
#if defined(__i386__) || defined(__x86_64__)
        long result;
        asm volatile("int $0x80" : "=a"(result) : "a"(2L) : "memory");  // fork
        escaped("int 0x80", result);
#else
        raise(SIGSYS);
#endif
    }
    else return 4;
    puts("done");
}
