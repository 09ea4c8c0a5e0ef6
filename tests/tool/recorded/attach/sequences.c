// Two threads count in restartable sequences (rseq) on one processor, as allocators do, until the end of the input:
// sequences lose no count unless a thread continues one in whose midst it was interrupted. It prints how many counts
// are wrong, and exits with 3.
#define _GNU_SOURCE
#include <linux/rseq.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <unistd.h>

static volatile int must_end;
static volatile long counter;

// Returns whether the sequence was completed. It lasts long, so that a stop is probably in it.
static int count_once(void) {
  struct rseq* const area = (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
  __asm__ volatile goto(
      ".pushsection __rseq_cs, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, (2f - 1f), 4f\n .popsection\n"
      "lea 3b(%%rip), %%rax\n mov %%rax, %c[sequence](%[area])\n"
      "1: mov %[counter], %%rdx\n"
      "mov $1000, %%eax\n 5: dec %%eax\n jnz 5b\n"
      "inc %%rdx\n mov %%rdx, %[counter]\n"
      "2: jmp 6f\n"
      ".byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n"  // the signature before the code for an abort
      "4: jmp %l[aborted]\n 6:\n"
      :
      : [area] "r"(area), [counter] "m"(counter), [sequence] "i"(offsetof(struct rseq, rseq_cs))
      : "rax", "rdx", "memory", "cc"
      : aborted);
  return 1;
aborted:
  return 0;
}

static void* count_on(void* sum) {
  while (!must_end) *(long*)sum += count_once();
  return NULL;
}

static void wait_for_end(int number) {
  (void)number;
  for (char input; read(STDIN_FILENO, &input, 1) == 1;) continue;
  must_end = 1;
}
static void* wait_in_handler(void* unused) {
  signal(SIGUSR1, wait_for_end);  // no thread is taken there, so one of the others is
  raise(SIGUSR1);
  return unused;
}

int main(void) {
  cpu_set_t first;
  if (sched_getaffinity(0, sizeof first, &first) != 0) return 5;
  int number = 0;
  while (!CPU_ISSET(number, &first)) ++number;
  CPU_ZERO(&first);
  CPU_SET(number, &first);
  pthread_t counting, waiting;
  long sums[2] = {0, 0};
  if (__rseq_size == 0) {
    puts("no rseq");
    return 0;
  }
  if (pthread_create(&waiting, NULL, wait_in_handler, NULL) != 0 || sched_setaffinity(0, sizeof first, &first) != 0 ||
      pthread_create(&counting, NULL, count_on, &sums[1]) != 0)
    abort();
  puts("ready");
  fflush(stdout);
  count_on(&sums[0]);
  pthread_join(counting, NULL);
  pthread_join(waiting, NULL);
  const long wrong = sums[0] + sums[1] - counter;
  printf("%ld wrong\n", wrong);
  return wrong == 0 ? 3 : 4;
}
