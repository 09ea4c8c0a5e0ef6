// Holds memory in ways that are known to the byte: memory CASE. memory_test.py compares what the report says.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT 500
#define HELD 60
#define COLUMNS 3

static void* kept_blocks[KEPT];
static void* held_blocks[HELD];

__attribute__((noinline)) static void keep(void) {
  for (int index = 0; index < KEPT; ++index) kept_blocks[index] = memset(malloc(4000), 1, 4000);
}
__attribute__((noinline)) static void hold(size_t bytes) {
  for (int index = 0; index < HELD; ++index) held_blocks[index] = memset(malloc(bytes), 1, bytes);
}
__attribute__((noinline)) static void let_go(void) {
  for (int index = 0; index < HELD; ++index) free(held_blocks[index]);
}
// Its last block is as large as all of `hold(100000)`, but only a moment of the run later than its first.
__attribute__((noinline)) static void grow(void) {
  char* table = malloc(1000);
  for (size_t bytes = 2000; bytes <= 1024000; bytes *= 2) table = realloc(table, bytes);
  free(table);
}

// Requests that no allocator has memory for, among 20,020 blocks of 40 bytes and 500 of a gibibyte.
#define PAIRS 20000
#define GIBIBYTE ((size_t)1 << 30)
__attribute__((noinline)) static void ask_for_too_much(void) {
  const size_t too_many = (size_t)1 << 62;
  for (int pair = 0; pair < PAIRS; ++pair) free(malloc(40));
  for (int round = 0; round < 1000; ++round) {
    void* volatile table = malloc(too_many);
    if (table == NULL) table = calloc(1, too_many);
    if (table == NULL) table = realloc(NULL, too_many);
    if (table == NULL) table = aligned_alloc(64, too_many);
    void* aligned = NULL;
    if (posix_memalign(&aligned, 64, too_many) == 0 || table != NULL) abort();
  }
  void* block = malloc(40);
  for (int round = 0; round < 1000; ++round) {
    if (realloc(block, too_many) != NULL) abort();
  }
  free(block);
  for (int pair = 0; pair < 500; ++pair) free(malloc(GIBIBYTE));
  for (int pair = 0; pair < 19; ++pair) free(malloc(40));
}

// Blocks of each size up to SIZES, and of some larger ones, wherever the C library places them: many times, so that
// some lie at the end of a mebibyte of addresses.
#define SIZES 600
#define ROUNDS 40
static void* sized[ROUNDS][SIZES];
__attribute__((noinline)) static void hold_sizes(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    for (int bytes = 0; bytes < SIZES; ++bytes) sized[round][bytes] = malloc((size_t)bytes);
  }
  void* const large = malloc(70000000);
  free(large);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int bytes = 0; bytes < SIZES; ++bytes) free(sized[round][bytes]);
  }
}

#define MEBIBYTE ((size_t)1 << 20)
#define SMALL 4000
static char* small[80 * MEBIBYTE / SMALL];

// Is in memory for less time than two snapshots are apart, mostly.
static void touch_for_a_moment(size_t bytes) {
  char* const block = malloc(bytes);
  memset(block, 1, bytes);
  free(block);
}

static void await_end_of_input(void) {
  char letter;
  while (read(STDIN_FILENO, &letter, 1) > 0) continue;
}

// Uses 6 MiB of its stack until standard input ends.
static pthread_barrier_t is_deep;
static void* go_deep(void* unused) {
  volatile char deep[6 * MEBIBYTE];
  for (size_t offset = 0; offset < sizeof deep; offset += 4096) deep[offset] = 1;
  (void)unused;
  pthread_barrier_wait(&is_deep);
  pthread_barrier_wait(&is_deep);
  return NULL;
}

static void* mapped(size_t bytes, int flags, int file) {
  char* const start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (start == MAP_FAILED) abort();
  for (size_t offset = 0; offset < bytes; offset += 4096) start[offset] = 1;
  return start;
}

// Has memory of each kind, which the test knows.
__attribute__((noinline)) static void have_each_kind(const char* path) {
  const size_t count = sizeof small / sizeof *small;
  for (size_t index = 0; index < count; ++index) small[index] = memset(malloc(SMALL), 1, SMALL);
  for (size_t index = 0; index < count; ++index) {  // three of eight, apart from each other: they stay in memory
    if (index % 8 < 3) free(small[index]);
  }
  mapped(40 * MEBIBYTE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  mapped(12 * MEBIBYTE, MAP_SHARED | MAP_ANONYMOUS, -1);
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 16 * MEBIBYTE) != 0) abort();
  mapped(16 * MEBIBYTE, MAP_SHARED, file);
  pthread_barrier_init(&is_deep, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, go_deep, NULL);
  pthread_barrier_wait(&is_deep);
  await_end_of_input();
  pthread_barrier_wait(&is_deep);
  pthread_join(thread, NULL);
}

struct node {
  struct node* next;
  char text[40];
};
// Volatile, as the compiler drops what is never read.
static struct node* volatile list;
static _Thread_local struct node* volatile of_thread;

// Returns a list of as many nodes.
__attribute__((noinline)) static struct node* make_list(int nodes) {
  struct node* first = NULL;
  for (int number = 0; number < nodes; ++number) {
    struct node* const node = malloc(sizeof *node);
    node->next = first;
    first = node;
  }
  return first;
}
__attribute__((noinline)) static struct node* hold_list(int nodes) { return make_list(nodes); }
__attribute__((noinline)) static void lose_list(int nodes) {
  struct node* volatile lost = make_list(nodes);
  lost = NULL;
  (void)lost;
}
__attribute__((noinline)) static void lose_circle(void) {
  struct node* volatile lost = make_list(2);
  lost->next->next = lost;
  lost = NULL;
}
// A pointer to the middle of a block holds it as well.
__attribute__((noinline)) static char* hold_middle(void) { return (char*)malloc(1000) + 500; }
static char* volatile middle;
// Overwrites what earlier calls have left below on the stack.
__attribute__((noinline)) static void clear_stack(void) {
  volatile char stack_bytes[65536];
  for (size_t index = 0; index < sizeof stack_bytes; ++index) stack_bytes[index] = 0;
}

// Holds lists on its stack and in its own variable, and waits for an end that does not come.
static pthread_barrier_t has_lists;
__attribute__((noinline)) static struct node* hold_on_stack(int nodes) { return make_list(nodes); }
static void* hold_and_wait(void* unused) {
  struct node* volatile on_stack = hold_on_stack(30);
  of_thread = hold_on_stack(20);
  pthread_barrier_wait(&has_lists);
  for (;;) pause();
  return on_stack == unused ? NULL : unused;
}
static void* spin_with_list(void* unused) {
  struct node* volatile first = hold_on_stack(10);
  pthread_barrier_wait(&has_lists);
  for (;;) {
    struct node* const moved = first;
    first = NULL;
    __asm__ volatile("" : : "r"(moved) : "memory");  // for a moment a register alone has it
    first = moved;
  }
  return unused;
}
static void* lose_and_end(void* unused) {
  lose_list(7);
  clear_stack();
  return unused;
}

__attribute__((noinline)) static void hold_memory(void) {
  list = hold_list(100);
  middle = hold_middle();
}
__attribute__((noinline)) static void lose_memory(int has_threads) {
  hold_memory();
  lose_list(50);
  lose_circle();
  if (has_threads) {
    pthread_t thread;
    pthread_create(&thread, NULL, lose_and_end, NULL);
    pthread_join(thread, NULL);
    pthread_barrier_init(&has_lists, NULL, 3);
    pthread_create(&thread, NULL, hold_and_wait, NULL);
    pthread_create(&thread, NULL, spin_with_list, NULL);
    pthread_barrier_wait(&has_lists);
  }
  clear_stack();
}

// It is called until standard input ends.
__attribute__((noinline)) static void leak(void) { kept_blocks[0] = malloc(10000); }

// Makes blocks that are kept and blocks that are freed.
__attribute__((noinline)) static void* make_block(void) {
  void* volatile block = malloc(100);
  return block;
}
static void* volatile made_blocks[2000];
__attribute__((noinline)) static void keep_made(void) {
  for (int index = 0; index < 2000; ++index) made_blocks[index] = make_block();
}
__attribute__((noinline)) static void free_made(void) {
  for (int index = 0; index < 2000; ++index) free(make_block());
}

static void* free_for_another(void* unused) {
  (void)unused;
  let_go();
  return NULL;
}

// Each thread holds blocks while all the others do.
static pthread_barrier_t all_hold;
__attribute__((noinline)) static void* hold_with_others(void* bytes) {
  void* columns[COLUMNS];
  for (int index = 0; index < COLUMNS; ++index) columns[index] = malloc((size_t)bytes);
  pthread_barrier_wait(&all_hold);
  for (int index = 0; index < COLUMNS; ++index) free(columns[index]);
  return NULL;
}

static void run_others(void* (*task)(void*), int count, void* argument) {
  pthread_t threads[8];
  for (int index = 0; index < count; ++index) pthread_create(&threads[index], NULL, task, argument);
  for (int index = 0; index < count; ++index) pthread_join(threads[index], NULL);
}

int main(int count, char** arguments) {
  const char* const case_name = count > 1 ? arguments[1] : "";
  if (strcmp(case_name, "phases") == 0) {  // the peak is neither the beginning nor the end
    keep();
    hold(100000);
    let_go();
    hold(1000);
    grow();
  } else if (strcmp(case_name, "handover") == 0) {
    hold(100000);
    run_others(free_for_another, 1, NULL);
    keep();
  } else if (strcmp(case_name, "threads") == 0) {
    pthread_barrier_init(&all_hold, NULL, 8);
    run_others(hold_with_others, 8, (void*)200000);
  } else if (strcmp(case_name, "exec") == 0) {  // the next image has a smaller peak
    keep();
    hold(100000);
    execl("/proc/self/exe", arguments[0], "kept", (char*)NULL);
    return 1;
  } else if (strcmp(case_name, "exec-larger") ==
             0) {  // the next image has the larger peak, and this one's blocks are gone
    keep();
    execl("/proc/self/exe", arguments[0], "phases", (char*)NULL);
    return 1;
  } else if (strcmp(case_name, "mostly-unused") == 0) {  // more than the process ever has in memory
    void* volatile large = malloc((size_t)256 << 20);
    free(malloc(100));
    usleep(300000);  // until `tarn record` has seen its memory
    return large == NULL;
  } else if (strcmp(case_name, "brief-peak") == 0 || strcmp(case_name, "late-peak") == 0) {
    usleep(300000);
    touch_for_a_moment(64 * MEBIBYTE);
    if (strcmp(case_name, "brief-peak") == 0) usleep(300000);
  } else if (strcmp(case_name, "sizes") == 0) {
    hold_sizes();
  } else if (strcmp(case_name, "kinds") == 0 && count > 2) {
    have_each_kind(arguments[2]);
  } else if (strcmp(case_name, "lost") == 0 || strcmp(case_name, "lost-threads") == 0) {
    lose_memory(strcmp(case_name, "lost-threads") == 0);
    exit(5);
  } else if (strcmp(case_name, "too-much") == 0) {
    ask_for_too_much();
  } else if (strcmp(case_name, "held") == 0) {
    hold_memory();
  } else if (strcmp(case_name, "abandoned") == 0) {
    abort();
  } else if (strcmp(case_name, "untouched") == 0) {
    kept_blocks[0] = malloc(310000000);
    await_end_of_input();
  } else if (strcmp(case_name, "leak") == 0) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (poll(&input, 1, 1) == 0) leak();
  } else if (strcmp(case_name, "two-categories") == 0) {
    keep_made();
    free_made();
  } else if (strcmp(case_name, "kept") == 0) {
    keep();
  } else {
    fprintf(stderr, "memory CASE: %s is no case\n", case_name);
    return 2;
  }
  return 0;
}
