// Faults that are not those of sampled blocks go to the handler that the program had, and to the one it installs later.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by TARN_SAMPLE_GUARDS=0
#include "../sampled.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;
static volatile int calls = 0;
static void* volatile seen = NULL;

static void handle(int number, siginfo_t* info, void* context) {
  CHECK(number == SIGSEGV && context != NULL);
  seen = info->si_addr;
  ++calls;
  siglongjmp(back, 1);
}
static void handle_plain(int number) {
  CHECK(number == SIGSEGV);
  ++calls;
  siglongjmp(back, 1);
}

static int faults_at(volatile char* address) {
  const int before = calls;
  if (sigsetjmp(back, 1) == 0) *address = 1;
  return calls == before + 1;
}

int main(void) {
  char* const closed = mmap(NULL, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(closed != MAP_FAILED);
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  free(make_at_end(24));  // from here on Tarn has a handler, too
  struct sigaction now;
  CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction != handle);
  CHECK(faults_at(closed + 10) && seen == closed + 10);
  CHECK(faults_at((char*)8) && seen == (char*)8);
  CHECK(sigsetjmp(back, 1) != 0 || raise(SIGSEGV) == 0);
  CHECK(calls == 3);
  action.sa_handler = handle_plain;
  action.sa_flags = 0;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  free(make_at_end(24));
  CHECK(faults_at(closed));
  CHECK(sigaction(SIGSEGV, &now, NULL) == 0);  // a program that puts back what it found
  CHECK(faults_at(closed + 1) && seen == closed + 1);
  return 0;
}
