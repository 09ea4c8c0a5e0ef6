// Programs with sampled guards.
//@ tarn-only
//@ env TARN_GUARD=0
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "../cases.h"
#include "../sampled.h"

static int is_sampling(void) {
  struct sigaction action;
  CHECK(sigaction(SIGSEGV, NULL, &action) == 0);
  return action.sa_handler != SIG_DFL;
}

// By default about one in 5,000 allocations is sampled, and none before 2,500.
//@ broken-by TARN_SAMPLE_GUARDS=0
CASE(sample_default) {
  for (int i = 0; i < 2000; ++i) CHECK(malloc(20) != NULL);
  CHECK(!is_sampling());
  // Blocks that stay, so that the heap needs new ones all the time.
  for (int i = 0; i < 20000 && !is_sampling(); ++i) CHECK(malloc(20) != NULL);
  CHECK(is_sampling());
}

// Without a handler of the program, a fault elsewhere ends it by SIGSEGV, and so does a signal that is sent.
//@ env TARN_SAMPLE_GUARDS=1
//@ broken-by TARN_SAMPLE_GUARDS=0
CASE(sample_default_fault) {
  for (int way = 0; way < 3; ++way) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      free(make_at_end(24));
      struct sigaction now;
      CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler != SIG_DFL);
      if (way == 0) *(volatile char*)8 = 1;
      if (way == 1) raise(SIGSEGV);
      if (way == 2) kill(getpid(), SIGSEGV);
      sleep(10);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  }
}

enum { blocks = 1000 };

// The system call reads its text, and says when it cannot.
static int is_accessible(const char* address) { return access(address, F_OK) == 0 || errno != EFAULT; }

// A sampled block of less than a page lies alone in its page. Other blocks of these sizes lie in slabs of 16 pages.
static int is_sampled(const char* block) {
  const char* const page = block - (size_t)block % page_bytes;
  return !is_accessible(page - page_bytes) && !is_accessible(page + page_bytes);
}

static void* work(void* unused) {
  for (int i = 0; i < 500; ++i) {
    const size_t bytes = (size_t)(i % 700) * 2 + 1;
    unsigned char* block = malloc(bytes);
    CHECK(block != NULL && (size_t)block % 16 == 0);
    fill(block, bytes, (unsigned)i);
    block = realloc(block, bytes + 300);
    CHECK(block != NULL && is_filled(block, bytes, (unsigned)i));
    free(block);
    void* aligned = aligned_alloc(256, 999);
    CHECK(aligned != NULL && (size_t)aligned % 256 == 0);
    free(aligned);
  }
  return unused;
}

// With every allocation sampled, a program runs as it does without; the slots and their memory are bounded.
//@ env TARN_SAMPLE_GUARDS=1
//@ broken-by TARN_SAMPLE_GUARDS=0
CASE(sample_every_block) {
  static char* sampled_blocks[blocks];
  int sampled = 0;
  for (int i = 0; i < blocks; ++i) {
    sampled_blocks[i] = calloc(1, 101);
    for (int byte = 0; byte < 101; ++byte) CHECK(sampled_blocks[i][byte] == 0);
    memset(sampled_blocks[i], 0xff, 101);
    sampled += is_sampled(sampled_blocks[i]);
  }
  CHECK(sampled > 100 && sampled <= 128);
  for (int i = 0; i < blocks; ++i) free(sampled_blocks[i]);
  // Slots are used again, and then are zero again.
  for (int i = 0; i < blocks; ++i) {
    char* block = calloc(1, 101);
    CHECK(is_sampled(block));
    for (int byte = 0; byte < 101; ++byte) CHECK(block[byte] == 0);
    memset(block, 0xff, 101);
    free(block);
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      work(NULL);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static sigjmp_buf before_fault;
static volatile int calls = 0;
static void* volatile fault_address = NULL;

static void handle(int number, siginfo_t* info, void* context) {
  CHECK(number == SIGSEGV && context != NULL);
  fault_address = info->si_addr;
  ++calls;
  siglongjmp(before_fault, 1);
}

static void handle_plain(int number) {
  CHECK(number == SIGSEGV);
  ++calls;
  siglongjmp(before_fault, 1);
}

static int faults_at(volatile char* address) {
  const int before = calls;
  if (sigsetjmp(before_fault, 1) == 0) *address = 1;
  return calls == before + 1;
}

// Faults that are not those of sampled blocks go to the handler that the program had, and to the one it installs later.
//@ env TARN_SAMPLE_GUARDS=1
//@ broken-by TARN_SAMPLE_GUARDS=0
CASE(sample_foreign_fault) {
  char* const closed = mmap(NULL, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(closed != MAP_FAILED);
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  free(make_at_end(24));  // from here on Tarn has a handler, too
  struct sigaction now;
  CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction != handle);
  CHECK(faults_at(closed + 10) && fault_address == closed + 10);
  CHECK(faults_at((char*)8) && fault_address == (char*)8);
  CHECK(sigsetjmp(before_fault, 1) != 0 || raise(SIGSEGV) == 0);
  CHECK(calls == 3);
  action.sa_handler = handle_plain;
  action.sa_flags = 0;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  free(make_at_end(24));
  CHECK(faults_at(closed));
  CHECK(sigaction(SIGSEGV, &now, NULL) == 0);  // a program that puts back what it found
  CHECK(faults_at(closed + 1) && fault_address == closed + 1);
}

// Where the address space is small, nothing is sampled, and the program runs.
//@ env TARN_SAMPLE_GUARDS=1
//@ broken-by text
//@ limit as=64M
CASE(sample_small_address_space) {
  for (int i = 0; i < 100; ++i) {
    char* const block = malloc(101);
    CHECK(block != NULL && !is_sampled(block));
  }
  struct sigaction action;
  CHECK(sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
}

enum { burst = 16 };

// A class whose blocks are freed and taken again all the time is sampled, too: its magazine is emptied now and then.
//@ env TARN_SAMPLE_GUARDS=2
//@ env TARN_PURGE_DELAY_MS=4
//@ broken-by TARN_SAMPLE_GUARDS=0
CASE(sample_steady_use) {
  static char* blocks[burst];
  const time_t give_up = time(NULL) + hang_seconds();  // for the case that it never comes
  int sampled = 0;
  while (!sampled && time(NULL) < give_up) {
    for (int pair = 0; pair < 100; ++pair) {
      char* const block = malloc(599);
      sampled |= malloc_usable_size(block) == 599;
      free(block);
    }
    // These need more than one magazine, so that the heap has slow calls, in which it looks at the clock. They are too
    // large for a slot.
    for (int i = 0; i < burst; ++i) CHECK((blocks[i] = malloc(20000)) != NULL);
    for (int i = 0; i < burst; ++i) free(blocks[i]);
  }
  CHECK(sampled);
}
