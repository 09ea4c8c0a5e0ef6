// Threads that wait for good before a recording begins. It prints "ready" once each waits or is about to, and ends with
// its input.
//
//   hung deadlock | joined | itself | robust | holder | conditions | released | later
//
// "deadlock" has two threads take two mutexes in both orders, and "joined" joins the first of them in the first thread,
// which then never reads its input. "itself" is a thread that takes a mutex twice, and "robust" the first with mutexes
// that outlive their holders. In "holder" three threads wait for a mutex that a fourth one holds while it sleeps, and
// in "conditions" threads wait for a condition variable, a semaphore, and a mutex with a limit of time.
// In "released" two threads wait for a mutex that the first thread has until it reads a line, and then sleep.
// "later" is the first, but begins when the first thread reads a line.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
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
  if (mode == "itself") {
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
  }
  ::_exit(3);
}
