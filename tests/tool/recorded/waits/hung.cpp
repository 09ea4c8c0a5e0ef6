// Threads that wait for good before a recording begins. It prints "ready" once each waits or is about to, and ends with
// its input.
//
//   hung deadlock | joined | itself | robust | holder | conditions | released | condition_held | word | reused |
//        shared FILE | writers | reader | half | interrupted | streams | later
//
// "deadlock" has two threads take two mutexes in both orders, and "joined" joins the first of them in the first thread,
// which then never reads its input. "itself" is a thread that takes a mutex twice, and "robust" the first with mutexes
// that outlive their holders. In "holder" three threads wait for a mutex that a fourth one holds while it sleeps, and
// in "conditions" threads wait for a condition variable, a semaphore, and a mutex with a limit of time.
// In "released" two threads wait for a mutex that the first thread has until it reads a line, and then sleep.
// "later" is the first, but begins when the first thread reads a line.
// In "condition_held" the thread "waiter" waits for a mutex that "holder" has while it waits for a condition variable.
// In "word" a thread waits by syscall() for a word with the value of a mutex in use, and has one of a second thread,
// whose number stands where a mutex has its owner's. In "reused" a thread has ended with a mutex, and another one gets
// its number, which needs root. In "shared" a thread waits for a mutex in a file that names this thread as its owner,
// as one of another PID namespace does. In "half" the second of two threads begins to wait for the first when a line
// is read. "writers" is "deadlock" with reader-writer locks; the second thread has one for writing and waits for the
// other one to read. In "reader" a thread waits to write what another one reads. In "interrupted" a timer interrupts
// one of the two threads of "deadlock". In "streams" one thread waits for a FILE of another one, which waits for its
// mutex.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_barrier_t both_hold_one;
sem_t semaphore;
std::atomic<bool> may_begin = false;
const timespec hour{3600, 0};

[[gnu::noinline]] void take_inner(pthread_mutex_t& mutex) {
  ::pthread_mutex_lock(&mutex);
  std::abort();  // nobody releases it
}

[[gnu::noinline]] void take_both(pthread_mutex_t& outer, pthread_mutex_t& inner) {
  ::pthread_mutex_lock(&outer);
  ::pthread_barrier_wait(&both_hold_one);
  take_inner(inner);
}

[[gnu::noinline]] void sleep_with_mutex() {
  ::pthread_mutex_lock(&left);
  ::pthread_barrier_wait(&both_hold_one);
  ::nanosleep(&hour, nullptr);
}

[[gnu::noinline]] void wait_for_condition() {
  ::pthread_mutex_lock(&right);
  for (;;) ::pthread_cond_wait(&condition, &right);
}

void take_both_later(pthread_mutex_t& outer, pthread_mutex_t& inner) {
  while (!may_begin) ::usleep(1000);
  take_both(outer, inner);
}

void wait_with_limit() {
  timespec end{};
  ::clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += hour.tv_sec;
  ::pthread_mutex_timedlock(&left, &end);
}

void sleep_after_mutex() {
  ::pthread_mutex_lock(&left);
  ::pthread_mutex_unlock(&left);
  ::nanosleep(&hour, nullptr);
}

[[gnu::noinline]] void hold_and_wait_for_condition() {
  ::pthread_mutex_lock(&left);
  ::pthread_barrier_wait(&both_hold_one);
  wait_for_condition();
}

int own_number() { return static_cast<int>(::syscall(SYS_gettid)); }

// Looks like a mutex that is in use.
struct session {
  int state = 2, priority = 0, reader = 0, requests = 3, flags = 0;
  int padding[8] = {};
};
session waited_session;

[[gnu::noinline]] void wait_for_session() {
  ::pthread_mutex_lock(&left);
  ::pthread_barrier_wait(&both_hold_one);
  ::syscall(SYS_futex, &waited_session.state, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
}

void read_session() {
  waited_session.reader = own_number();
  ::pthread_barrier_wait(&both_hold_one);
  take_inner(left);
}

// Lets a thread end with the mutex, and starts a thread with its number that joins the thread that waits for the mutex.
void reuse_number() {
  static int number = 0;
  std::thread([] {
    number = own_number();
    ::pthread_mutex_lock(&left);
  }).join();
  static std::thread waiter([] { take_inner(left); });
  ::usleep(100'000);
  for (;;) {
    const int last = ::open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (::dprintf(last, "%d", number - 1) < 0) std::abort();
    ::close(last);
    static sem_t has_begun;
    static bool is_reused = false;
    ::sem_init(&has_begun, 0, 0);
    std::thread([] {
      is_reused = own_number() == number;
      ::sem_post(&has_begun);
      if (is_reused) waiter.join();
    }).detach();
    ::sem_wait(&has_begun);
    if (is_reused) return;
  }
}

void wait_for_shared(const char* path) {
  const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (::ftruncate(file, 4096) != 0) std::abort();
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  auto& mutex = *static_cast<pthread_mutex_t*>(memory);
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutex_init(&mutex, &attributes);
  ::pthread_mutex_lock(&mutex);
  take_inner(mutex);
}

void begin_half() {
  ::pthread_mutex_lock(&left);
  ::pthread_barrier_wait(&both_hold_one);
  take_inner(right);
}

void take_interrupted() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval tenth{{0, 100'000}, {0, 100'000}};
  ::pthread_mutex_lock(&right);
  ::pthread_barrier_wait(&both_hold_one);
  ::setitimer(ITIMER_REAL, &tenth, nullptr);
  take_inner(left);
}

alignas(64) pthread_rwlock_t left_shared = PTHREAD_RWLOCK_INITIALIZER;
alignas(64) pthread_rwlock_t right_shared = PTHREAD_RWLOCK_INITIALIZER;

void write_both() {
  ::pthread_rwlock_wrlock(&left_shared);
  ::pthread_barrier_wait(&both_hold_one);
  ::pthread_rwlock_wrlock(&right_shared);
  std::abort();
}
void write_and_read() {
  ::pthread_rwlock_wrlock(&right_shared);
  ::pthread_barrier_wait(&both_hold_one);
  ::pthread_rwlock_rdlock(&left_shared);
  std::abort();
}
void read_for_good() {
  ::pthread_rwlock_rdlock(&left_shared);
  ::pthread_barrier_wait(&both_hold_one);
  ::nanosleep(&hour, nullptr);
}
void write_what_is_read() {
  ::pthread_barrier_wait(&both_hold_one);
  ::pthread_rwlock_wrlock(&left_shared);
  std::abort();
}

void make_robust(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&mutex, &attributes);
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  ::pthread_barrier_init(&both_hold_one, nullptr, 2);
  ::sem_init(&semaphore, 0, 0);
  if (mode == "robust") make_robust(left), make_robust(right);
  std::thread first;
  if (mode == "condition_held") {
    first = std::thread(hold_and_wait_for_condition);
    ::pthread_setname_np(first.native_handle(), "holder");
    ::pthread_barrier_wait(&both_hold_one);
    std::thread waiter([] { take_inner(left); });
    ::pthread_setname_np(waiter.native_handle(), "waiter");
    waiter.detach();
  } else if (mode == "word") {
    first = std::thread(wait_for_session);
    std::thread(read_session).detach();
  } else if (mode == "reused") {
    reuse_number();
  } else if (mode == "shared") {
    std::thread(wait_for_shared, arguments[2]).detach();
  } else if (mode == "half") {
    first = std::thread(begin_half);
    std::thread([] {
      ::pthread_mutex_lock(&right);
      ::pthread_barrier_wait(&both_hold_one);
      ::sem_wait(&semaphore);
      take_inner(left);
    }).detach();
  } else if (mode == "interrupted") {
    first = std::thread([] { take_both(left, right); });
    std::puts("ready");
    std::fflush(stdout);
    take_interrupted();
  } else if (mode == "streams") {
    first = std::thread([] {
      ::flockfile(stderr);
      ::pthread_barrier_wait(&both_hold_one);
      take_inner(left);
    });
    std::thread([] {
      ::pthread_mutex_lock(&left);
      ::pthread_barrier_wait(&both_hold_one);
      std::fputs("never", stderr);
    }).detach();
  } else if (mode == "writers" || mode == "reader") {
    first = std::thread(mode == "writers" ? write_both : read_for_good);
    std::thread(mode == "writers" ? write_and_read : write_what_is_read).detach();
  } else if (mode == "itself") {
    first = std::thread([] {
      ::pthread_mutex_lock(&left);
      take_inner(left);
    });
  } else if (mode == "released") {
    ::pthread_mutex_lock(&left);
    for (int thread = 0; thread < 2; ++thread) std::thread(sleep_after_mutex).detach();
  } else if (mode == "holder" || mode == "conditions") {
    first = std::thread(sleep_with_mutex);
    ::pthread_barrier_wait(&both_hold_one);
    for (int waiter = 0; waiter < 3; ++waiter) {
      if (mode == "holder") std::thread([] { take_inner(left); }).detach();
      if (mode == "conditions") std::thread(waiter == 0 ? wait_for_condition : wait_with_limit).detach();
    }
    if (mode == "conditions") std::thread([] { ::sem_wait(&semaphore); }).detach();
  } else {
    may_begin = mode != "later";
    first = std::thread([] { take_both_later(left, right); });
    std::thread([] { take_both_later(right, left); }).detach();
  }
  std::puts("ready");
  std::fflush(stdout);
  if (mode == "joined") first.join();
  for (int letter = 0; letter != EOF; letter = std::getchar()) {
    if (letter == '\n' && mode == "released") ::pthread_mutex_unlock(&left);
    if (letter == '\n') may_begin = true;
    if (letter == '\n' && mode == "half") ::sem_post(&semaphore);
  }
  ::_exit(3);
}
