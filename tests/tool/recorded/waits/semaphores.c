// Uses semaphores as locks and to tell of events, a fixed number of times, and checks what the C library returns.
//   semaphores ROUNDS    all of it
//   semaphores stuck     two threads that wait for each other's semaphores; the program then calls _exit()
//   semaphores asleep N  a thread that has a semaphore for the Nth time, and sleeps; another one waits for it
//   semaphores pool      three threads that take one of two places; the program then calls _exit()
//   semaphores brisk N   two threads that take one semaphore N times each, and a third one that N events wake
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: " #condition "\n", __LINE__); \
      _exit(1);                                               \
    }                                                         \
  } while (0)
#define NOINLINE __attribute__((noinline))

static int rounds;
static sem_t guard, event, answer, never;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

static void sleep_ms(long milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}
static void run_both(void* (*first)(void*), void* (*second)(void*)) {
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, first, NULL) == 0 && pthread_create(&threads[1], NULL, second, NULL) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
}

// A lock: who takes it posts it.
NOINLINE static void take_guard(void) {
  errno = 77;
  CHECK(sem_wait(&guard) == 0 && errno == 77);
}
static void* use_guard(void* unused) {
  for (int round = 0; round < rounds; ++round) {
    take_guard();
    sleep_ms(1);
    CHECK(sem_post(&guard) == 0);
  }
  return unused;
}

// Events: another thread posts. If semaphores had a part in orders of locks, they and the mutex were taken in both.
NOINLINE static void await_event(void) { CHECK(sem_wait(&event) == 0); }
NOINLINE static void await_answer(void) { CHECK(sem_wait(&answer) == 0); }
static void* listen(void* unused) {
  for (int round = 0; round < rounds; ++round) {
    await_event();
    pthread_mutex_lock(&inner);
    pthread_mutex_unlock(&inner);
    CHECK(sem_post(&answer) == 0);
  }
  return unused;
}
static void* tell(void* unused) {
  for (int round = 0; round < rounds; ++round) {
    sleep_ms(1);
    CHECK(sem_post(&event) == 0);
    await_answer();
  }
  return unused;
}
static void await_event_in_mutex(void) {
  CHECK(sem_post(&event) == 0);
  pthread_mutex_lock(&inner);
  await_event();
  pthread_mutex_unlock(&inner);
}

NOINLINE static void try_in_vain(void) {
  for (int round = 0; round < rounds; ++round) {
    errno = 0;
    CHECK(sem_trywait(&never) == -1 && errno == EAGAIN);
  }
}
NOINLINE static void wait_in_vain(void) {
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec -= 1;
  CHECK(sem_timedwait(&never, &soon) == -1 && errno == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &soon);
  soon.tv_nsec = 0;
  CHECK(sem_clockwait(&never, CLOCK_MONOTONIC, &soon) == -1 && errno == ETIMEDOUT);
  soon.tv_nsec = -1;
  CHECK(sem_timedwait(&never, &soon) == -1 && errno == EINVAL);
}
static void ignore(int number) { (void)number; }
static void* wait_for_ever(void* unused) {
  CHECK(sem_wait(&never) == -1 && errno == EINTR);
  sem_wait(&never);  // until it is cancelled
  CHECK(unused != unused);
  return unused;
}
static void* look_for_cancellation(void* started) {
  sem_t free_semaphore;
  CHECK(sem_init(&free_semaphore, 0, 1) == 0 && sem_post((sem_t*)started) == 0);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  CHECK(sem_wait(&event) == 0);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  sem_wait(&free_semaphore);  // a point of cancellation, although it need not wait
  return NULL;
}
static void interrupt_and_cancel(void) {
  const struct sigaction action = {.sa_handler = ignore};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t waits;
  void* result = NULL;
  CHECK(pthread_create(&waits, NULL, wait_for_ever, NULL) == 0);
  sleep_ms(100);
  CHECK(pthread_kill(waits, SIGUSR1) == 0);
  sleep_ms(100);
  CHECK(pthread_cancel(waits) == 0 && pthread_join(waits, &result) == 0 && result == PTHREAD_CANCELED);
  CHECK(pthread_create(&waits, NULL, look_for_cancellation, &answer) == 0 && sem_wait(&answer) == 0);
  CHECK(pthread_cancel(waits) == 0 && sem_post(&event) == 0);
  CHECK(pthread_join(waits, &result) == 0 && result == PTHREAD_CANCELED);
}

// More than a thread keeps, none of which it posts.
static void take_many(void) {
  static sem_t crowd[100];
  for (int index = 0; index < 100; ++index) CHECK(sem_init(&crowd[index], 0, 1) == 0 && sem_wait(&crowd[index]) == 0);
  for (int index = 0; index < 100; ++index) CHECK(sem_destroy(&crowd[index]) == 0);
}

// A thread that still waits for work when the program ends.
static sem_t work;
NOINLINE static void await_work(void) { CHECK(sem_wait(&work) == 0); }
static void* serve(void* unused) {
  for (;;) await_work();
  return unused;
}
static void leave_server(void) {
  pthread_t server;
  CHECK(sem_init(&work, 0, 0) == 0 && pthread_create(&server, NULL, serve, NULL) == 0);
  for (int round = 0; round < rounds; ++round) CHECK(sem_post(&work) == 0);
  for (int left = 1; left != 0; sleep_ms(20)) CHECK(sem_getvalue(&work, &left) == 0);
}

// Each thread has a semaphore, and waits for that of the other one.
static sem_t left, right;
NOINLINE static void take_right(void) { sem_wait(&right); }
NOINLINE static void take_left(void) { sem_wait(&left); }
static void* go_left(void* unused) {
  take_right();
  sleep_ms(100);
  take_left();
  return unused;
}
static void* go_right(void* unused) {
  take_left();
  sleep_ms(100);
  take_right();
  return unused;
}
static void get_stuck(void) {
  pthread_t threads[2];
  CHECK(sem_init(&left, 0, 1) == 0 && sem_init(&right, 0, 1) == 0);
  CHECK(pthread_create(&threads[0], NULL, go_left, NULL) == 0 &&
        pthread_create(&threads[1], NULL, go_right, NULL) == 0);
  sleep_ms(400);
  _exit(5);
}

NOINLINE static void take_place(void) { sem_wait(&work); }
static void* use_place(void* unused) {
  take_place();
  sleep_ms(10000);
  return unused;
}
static void fill_pool(void) {
  pthread_t threads[3];
  CHECK(sem_init(&work, 0, 2) == 0);
  for (int index = 0; index < 3; ++index) {
    CHECK(pthread_create(&threads[index], NULL, use_place, NULL) == 0);
    sleep_ms(20);
  }
  sleep_ms(200);
  _exit(5);
}
static int has_guard;
static void* fall_asleep(void* unused) {
  for (int round = 1; round < rounds; ++round) {
    take_guard();
    CHECK(sem_post(&guard) == 0);
  }
  take_guard();
  __atomic_store_n(&has_guard, 1, __ATOMIC_RELEASE);
  pthread_mutex_lock(&inner);  // which main() has
  return unused;
}
static void* wait_for_sleeper(void* unused) {
  take_guard();
  return unused;
}
static void sleep_with_guard(void) {
  pthread_t threads[2];
  pthread_mutex_lock(&inner);
  CHECK(pthread_create(&threads[0], NULL, fall_asleep, NULL) == 0);
  while (__atomic_load_n(&has_guard, __ATOMIC_ACQUIRE) == 0) sleep_ms(10);
  sleep_ms(100);
  CHECK(pthread_create(&threads[1], NULL, wait_for_sleeper, NULL) == 0);
  sleep_ms(200);
  _exit(5);
}

static void* use_guard_briskly(void* unused) {
  for (int round = 0; round < rounds; ++round) {
    take_guard();
    CHECK(sem_post(&guard) == 0);
  }
  return unused;
}
static void* listen_briskly(void* unused) {
  for (int round = 0; round < rounds; ++round) await_event();
  return unused;
}

int main(int count, char** arguments) {
  CHECK(sem_init(&guard, 0, 1) == 0 && sem_init(&event, 0, 0) == 0);
  CHECK(sem_init(&answer, 0, 0) == 0 && sem_init(&never, 0, 0) == 0);
  if (count == 2 && strcmp(arguments[1], "stuck") == 0) get_stuck();
  if (count == 2 && strcmp(arguments[1], "pool") == 0) fill_pool();
  if (count == 3 && strcmp(arguments[1], "asleep") == 0) {
    rounds = atoi(arguments[2]);
    sleep_with_guard();
  }
  if (count == 3) {
    rounds = atoi(arguments[2]);
    pthread_t listener;
    CHECK(pthread_create(&listener, NULL, listen_briskly, NULL) == 0);
    for (int round = 0; round < rounds; ++round) CHECK(sem_post(&event) == 0);
    run_both(use_guard_briskly, use_guard_briskly);
    CHECK(pthread_join(listener, NULL) == 0);
    return 5;
  }
  rounds = atoi(arguments[1]);
  run_both(use_guard, use_guard);
  run_both(listen, tell);
  await_event_in_mutex();
  try_in_vain();
  wait_in_vain();
  interrupt_and_cancel();
  take_many();
  leave_server();
  return 5;
}
