// Memory that goes back to the system or moves, and the inaccessible memory around the rest.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "../cases.h"
#include "../maps.h"

enum { tables = 16, table_bytes = 25 << 20 };
static char* table[tables];

static void wait_until_alone(size_t bytes) {
  for (unsigned tenths = 0; (resident_bytes() > bytes || thread_count() != 1) && tenths < 10 * hang_seconds(); ++tenths)
    usleep(100000);
  if (resident_bytes() > bytes) note_size("resident_bytes", resident_bytes());
  CHECK(resident_bytes() <= bytes);
  CHECK(thread_count() == 1);
  CHECK(__libc_single_threaded);
}

static void use_tables(void) {
  for (int i = 0; i < tables; ++i) table[i] = memset(malloc(table_bytes), 1, table_bytes);
  for (int i = 0; i < tables; ++i) free(table[i]);
}

// A program that frees its memory and then makes no call gets smaller all the same, without a thread that stays, and
// atomics of a program with one thread stay as cheap as they were.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
CASE(idle_gives_back) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  sigset_t signals;
  sigfillset(&signals);
  CHECK(sigprocmask(SIG_SETMASK, &signals, NULL) == 0);  // a helper needs no signal, and takes none
  free(malloc(1));
  size_t limit = resident_bytes() + (8 << 20);
  use_tables();
  wait_until_alone(limit);
  for (int wave = 0; wave < 3; ++wave) use_tables();
  wait_until_alone(limit);
  CHECK(raise(SIGUSR1) == 0 && sigpending(&signals) == 0 && sigismember(&signals, SIGUSR1) == 1);
}

// With background_purge=0 no thread is ever started, and free memory waits for the next call.
//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=0
//@ broken-by TARN_BACKGROUND_PURGE=1
CASE(idle_keeps_when_told) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  for (int wave = 0; wave < 5; ++wave) {
    free(memset(malloc(25 << 20), 1, 25 << 20));
    CHECK(thread_count() == 1);
  }
}

enum { small_blocks = 400000, kept_every = 64 };
static char* small_block[small_blocks];

// It does not allocate, so that no call of the program gives memory back.
static size_t resident_kib(void) {
  char text[128] = {0};
  int fd = open("/proc/self/statm", O_RDONLY);
  CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
  close(fd);
  return strtoul(strchr(text, ' '), NULL, 10) * 4;
}

static void wait_for_small(size_t kib, unsigned max_seconds) {
  for (unsigned tenths = 0; resident_kib() > kib && tenths < 10 * max_seconds; ++tenths) usleep(100000);
  if (resident_kib() > kib) note_size("resident_kib", resident_kib());
  CHECK(resident_kib() <= kib);
}

static void wait_until_small(size_t kib) { wait_for_small(kib, hang_seconds()); }

static void allocate_all(size_t size) {
  for (int i = 0; i < small_blocks; ++i) {
    small_block[i] = malloc(size);
    CHECK(small_block[i] != NULL);
    memset(small_block[i], 1, size);
  }
}

static void free_all(int except_every) {
  for (int i = 0; i < small_blocks; ++i) {
    if (except_every != 0 && i % except_every == 0) continue;
    free(small_block[i]);
    small_block[i] = NULL;
  }
}

static pthread_barrier_t turn;

static void* allocate_and_sleep(void* unused) {
  allocate_all(200);
  pthread_barrier_wait(&turn);  // the main thread frees
  pthread_barrier_wait(&turn);
  return unused;
}

// Threads that free small blocks and then sleep give their memory back all the same: what lies in their depots, what
// others have freed for them, and pages between blocks that are still in use.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(idle_reaches_sleepers) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  free(malloc(1));
  memset(small_block, 0, sizeof small_block);
  const size_t peak_resident = resident_kib() + 8 * 1024;  // of 80 MB
  const size_t max_sparse_bytes =
      peak_resident + small_blocks / kept_every * 4 + 15 * 1024;  // a page for each small_block in use
  for (int wave = 0; wave < 6; ++wave) {
    allocate_all(200);
    free_all(0);
  }
  wait_until_small(peak_resident);

  allocate_all(200);
  free_all(kept_every);
  wait_until_small(max_sparse_bytes);
  free_all(0);

  pthread_t thread;
  CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
  CHECK(pthread_create(&thread, NULL, allocate_and_sleep, NULL) == 0);
  pthread_barrier_wait(&turn);
  free_all(kept_every);
  wait_until_small(max_sparse_bytes);
  pthread_barrier_wait(&turn);
  CHECK(pthread_join(thread, NULL) == 0);
  free_all(0);
}

enum { sleepers = 100, blocks_of_sleeper = 500, size_in_sleeper = 3000 };
static char* slept_on[sleepers][blocks_of_sleeper];
static pthread_barrier_t all_turn;

static void* free_and_sleep(void* argument) {
  char** const blocks = argument;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < blocks_of_sleeper; ++i) memset(blocks[i] = malloc(size_in_sleeper), 1, size_in_sleeper);
    pthread_barrier_wait(&all_turn);
    if (round == 0) {
      for (int i = 0; i < blocks_of_sleeper; ++i) free(blocks[i]);
    }
    pthread_barrier_wait(&all_turn);  // the main thread measures, or frees and measures
    pthread_barrier_wait(&all_turn);
  }
  return NULL;
}

// Many threads that each free a little, less than is worth the start of a helper, and then sleep: the memory goes back
// as that of one thread with much. So does what another thread frees for them.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(idle_reaches_many_sleepers) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  pthread_t threads[sleepers];
  memset(slept_on, 0, sizeof slept_on);
  const size_t peak_resident = resident_kib() + 8 * 1024 + sleepers * 160;  // of 150 MB
  CHECK(pthread_barrier_init(&all_turn, NULL, sleepers + 1) == 0);
  for (int i = 0; i < sleepers; ++i) CHECK(pthread_create(&threads[i], NULL, free_and_sleep, slept_on[i]) == 0);
  for (int round = 0; round < 2; ++round) {
    pthread_barrier_wait(&all_turn);
    if (round == 1) {
      for (int i = 0; i < sleepers * blocks_of_sleeper; ++i) free(slept_on[i % sleepers][i / sleepers]);
    }
    pthread_barrier_wait(&all_turn);
    wait_until_small(peak_resident);
    pthread_barrier_wait(&all_turn);
  }
  for (int i = 0; i < sleepers; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

enum { burst_rounds = 20, burst_classes = 40, burst_blocks = 8 };

static void* work_in_rounds(void* unused) {
  void* blocks[burst_classes][burst_blocks];
  pthread_barrier_wait(&all_turn);  // the main thread measures
  for (int round = 0; round < burst_rounds; ++round) {
    for (int i = 0; i < burst_classes * burst_blocks; ++i) {
      const size_t size = (size_t)(i / burst_blocks + 1) * 48;
      memset(blocks[i / burst_blocks][i % burst_blocks] = malloc(size), 1, size);
    }
    for (int i = 0; i < burst_classes * burst_blocks; ++i) free(blocks[i / burst_blocks][i % burst_blocks]);
  }
  pthread_barrier_wait(&all_turn);  // the main thread measures
  pthread_barrier_wait(&all_turn);
  return unused;
}

// Returns when `count` threads that worked in rounds and sleep have no more than the given memory each; with
// `must_trim`, malloc_trim gives it back.
static void let_burst_threads_sleep(int count, size_t kib_each, int must_trim) {
  pthread_t threads[sleepers];
  CHECK(pthread_barrier_init(&all_turn, NULL, (unsigned)count + 1) == 0);
  for (int i = 0; i < count; ++i) CHECK(pthread_create(&threads[i], NULL, work_in_rounds, NULL) == 0);
  const size_t before = resident_kib();
  pthread_barrier_wait(&all_turn);
  pthread_barrier_wait(&all_turn);
  if (must_trim) malloc_trim(0);
  wait_for_small(before + (size_t)count * kib_each + 4 * 1024, must_trim ? 0 : hang_seconds());
  pthread_barrier_wait(&all_turn);
  for (int i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

// Threads that work in bursts fill their front magazines with blocks of many sizes. What lies there goes back while
// they sleep, however many they are; 400 KiB for each stayed before.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(idle_empties_magazines_of_sleepers) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  for (int count = 1; count <= sleepers; count *= 10) let_burst_threads_sleep(count, 230, 0);
}

// The quarantine of a thread that sleeps is emptied, too: 1 MiB for each thread stayed before.
//@ tarn-only
//@ env TARN_HARDEN=1
//@ broken-by TARN_BACKGROUND_PURGE=0
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(idle_empties_quarantines_of_sleepers) {
  if (guarded()) return;
  for (int count = 1; count <= sleepers; count *= 10) let_burst_threads_sleep(count, 230, 0);
}

//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_BACKGROUND_PURGE=0
//@ broken-by free_leaks
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(trim_empties_quarantines_of_sleepers) {
  if (guarded()) return;
  for (int count = 1; count <= sleepers; count *= 10) let_burst_threads_sleep(count, 230, 1);
}

//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=0
//@ broken-by free_leaks
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(trim_empties_magazines_of_sleepers) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  for (int count = 1; count <= sleepers; count *= 10) let_burst_threads_sleep(count, 230, 1);
}

enum { brief_threads = 64, max_classes = 40, mixed_bytes = 2000000, max_mixed_blocks = 1000 };
static int classes_of_thread, pairs_of_thread, frees_mixed_sizes;

// Sizes that have a class each: steps of 16 up to 256 bytes, then eight for each power of two, up to 2 KiB.
static size_t size_in_class(int number) {
  if (number < 16) return (size_t)(number + 1) * 16;
  const size_t base = (size_t)256 << ((number - 16) / 8);
  return base + (size_t)((number - 16) % 8 + 1) * (base / 8);
}

static void* use_classes_and_sleep(void* argument) {
  void* blocks[max_classes];
  pthread_barrier_wait(&all_turn);  // the main thread measures
  pthread_barrier_wait(&all_turn);
  for (int pair = 0; pair <= pairs_of_thread; ++pair) {
    for (int i = 0; i < classes_of_thread; ++i) blocks[i] = memset(malloc(size_in_class(i)), 1, size_in_class(i));
    for (int i = 0; i < classes_of_thread && pair < pairs_of_thread; ++i) free(blocks[i]);
  }
  if (frees_mixed_sizes) {
    char* mixed[max_mixed_blocks];
    unsigned long draw = (unsigned long)(size_t)argument + 1;
    int count = 0;
    for (size_t bytes = 0; bytes < mixed_bytes && count < max_mixed_blocks; ++count) {
      draw = draw * 6364136223846793005ul + 1442695040888963407ul;
      const size_t size = 16 + (draw >> 33) % 4096;
      mixed[count] = memset(malloc(size), 1, size);
      bytes += size;
    }
    for (int i = 0; i < count; ++i) free(mixed[i]);
  }
  pthread_barrier_wait(&all_turn);  // the main thread measures
  pthread_barrier_wait(&all_turn);
  for (int i = 0; i < classes_of_thread; ++i) free(blocks[i]);
  return NULL;
}

// Starts threads that all sleep with the blocks of the given number of classes in use, and returns when not more than
// `kib_of_thread` are resident for each.
static void expect_of_threads(int threads, int classes, int pairs, int mixed, size_t kib_of_thread) {
  pthread_t handles[brief_threads];
  classes_of_thread = classes, pairs_of_thread = pairs, frees_mixed_sizes = mixed;
  CHECK(pthread_barrier_init(&all_turn, NULL, (unsigned)threads + 1) == 0);
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_create(&handles[i], NULL, use_classes_and_sleep, (void*)(size_t)i) == 0);
  pthread_barrier_wait(&all_turn);
  const size_t before = resident_kib();
  pthread_barrier_wait(&all_turn);
  pthread_barrier_wait(&all_turn);
  // No memory in use goes back later.
  wait_for_small(before + 1024 + (size_t)threads * kib_of_thread, mixed ? hang_seconds() : 1);
  pthread_barrier_wait(&all_turn);
  for (int i = 0; i < threads; ++i) CHECK(pthread_join(handles[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&all_turn) == 0);
}

// The memory of a thread hardly grows with the number of sizes that it uses a few times: these share slabs and
// magazines. A slab and a magazine for each class took 64 KiB for 8 classes and 277 for 40.
//@ tarn-only
//@ broken-by free_leaks
CASE(threads_of_many_classes) {
  if (guarded() || hardened()) return;  // blocks are larger there, and freed ones wait
  for (int threads = 16; threads <= brief_threads; threads *= 4) {
    expect_of_threads(threads, 1, 0, 0, 24);
    expect_of_threads(threads, 8, 0, 0, 36);
    expect_of_threads(threads, 40, 0, 0, 80);
    expect_of_threads(threads, 40, 20, 0, 100);
  }
}

// A thread that frees much of many sizes and then sleeps keeps little in its front magazines: 1.2 MB before.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(idle_reaches_mixed_sizes) {
  if (guarded() || hardened()) return;  // blocks are larger there, and freed ones wait
  for (int threads = 16; threads <= brief_threads; threads *= 4) expect_of_threads(threads, 0, 0, 1, 160);
}

enum { wave_blocks = 2000000, wave_size = 100 };
static char* wave_block[wave_blocks];

// The records of many small blocks go back with them: arrays of free blocks, and descriptions of slabs.
//@ tarn-only
//@ broken-by TARN_BACKGROUND_PURGE=0
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
CASE(idle_gives_records_back) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  free(malloc(1));
  memset(wave_block, 0, sizeof wave_block);
  const size_t peak_resident = resident_kib() + 5 * 1024;
  for (int wave = 0; wave < 3; ++wave) {
    for (int i = 0; i < wave_blocks; ++i) {
      wave_block[i] = malloc(wave_size);
      CHECK(wave_block[i] != NULL);
      wave_block[i][0] = 1;
    }
    for (int i = 0; i < wave_blocks; ++i) free(wave_block[i]);
  }
  wait_until_small(peak_resident);
}

enum { trimmed_blocks = 200000, trimmed_size = 1024, step = 64 };
static char* trimmed[trimmed_blocks];

// malloc_trim gives the pages back in which no block is left, also where other blocks of the same size live beside
// them.
//@ tarn-only
//@ broken-by free_leaks
CASE(trim_is_complete) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  size_t before = resident_bytes();
  for (int i = 0; i < trimmed_blocks; ++i) {
    trimmed[i] = malloc(trimmed_size);
    fill(trimmed[i], trimmed_size, (unsigned)i);
  }
  CHECK(resident_bytes() - before >= (size_t)trimmed_blocks * trimmed_size);
  for (int i = 0; i < trimmed_blocks; ++i) {
    if (i % step != 0) free(trimmed[i]);
  }
  CHECK(malloc_trim(0) == 1);
  CHECK(resident_bytes() - before < 6 * (size_t)trimmed_blocks / step * trimmed_size + (4 << 20));
  for (int i = 0; i < trimmed_blocks; i += step) CHECK(is_filled(trimmed[i], trimmed_size, (unsigned)i));
  for (int round = 0; round < 2; ++round) {  // memory that was given back serves again
    for (int i = 0; i < trimmed_blocks; ++i) {
      if (i % step == 0) continue;
      trimmed[i] = malloc(trimmed_size);
      fill(trimmed[i], trimmed_size, (unsigned)i);
    }
    for (int i = 0; i < trimmed_blocks; ++i) CHECK(is_filled(trimmed[i], trimmed_size, (unsigned)i));
    for (int i = 0; i < trimmed_blocks; ++i) {
      if (i % step != 0) free(trimmed[i]);
    }
    malloc_trim(0);
  }
}

// The allocator starts no thread of its own where little memory waits to be given back.
//@ broken-by starts_thread
CASE(no_extra_threads) {
  if (guarded() || hardened()) return;  // a quarantine keeps much, and gives it back in bulk
  CHECK(thread_count() == 1);
  for (int i = 0; i < 20000; ++i) free(memset(malloc((size_t)i * 100 + 1), 1, (size_t)i * 100 + 1));
  usleep(700000);  // longer than the purge delay
  for (int i = 0; i < 20000; ++i) free(malloc((size_t)i + 1));
  CHECK(thread_count() == 1);
}

enum { moved_bytes = 40 << 20, max_left = 16 };

static size_t mapped_bytes(void) {
  char text[128];
  read_process_file("/proc/self/statm", text, sizeof text);
  return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

// Takes all mappings that the kernel allows: every second page differs in its access. Returns the end of the last page
// that does.
static char* take_all_mappings(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 300000;
  char* next = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(next != MAP_FAILED);
  char* const end = next + pages * page;
  while (next < end && mprotect(next, page, PROT_READ) == 0) next += 2 * page;
  return next < end ? next - page : NULL;
}

// A large block that is resized where the process has nearly as many mappings as the kernel allows keeps its contents,
// and no address space stays behind: neither that of the place to which it cannot move, nor its own.
//@ tarn-only
//@ broken-by TARN_LIMIT=1M
CASE(realloc_at_the_limit_of_mappings) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* block = malloc(moved_bytes);  // a neighbour keeps a block from growing in place
  CHECK(block != NULL);
  free(block);
  char* hog = take_all_mappings();
  if (hog == NULL) return;  // the kernel allows more
  const size_t before = mapped_bytes();
  for (int left = 0; left < max_left; ++left) {
    CHECK(munmap(hog -= page, page) == 0 || left == 0);
    block = malloc(moved_bytes);
    if (block == NULL) continue;
    fill(block, 10000, (unsigned)left);
    char* const moved = realloc(block, moved_bytes + (8 << 20));
    block = moved != NULL ? moved : block;
    CHECK(is_filled(block, 10000, (unsigned)left));
    free(block);
  }
  malloc_trim(0);
  if (mapped_bytes() > before) note_size("stays", mapped_bytes() - before);
  CHECK(mapped_bytes() < before + moved_bytes / 2);
}

static void expect_guarded(const char* block) {
  const struct range own_mapping = mapping_of(block);
  CHECK(memcmp(own_mapping.access, "rw-p", 4) == 0);
  const struct range lower_guard = mapping_of(own_mapping.start - 1);
  const struct range upper_guard = mapping_of(own_mapping.end);
  CHECK(memcmp(lower_guard.access, "---p", 4) == 0 && lower_guard.end == own_mapping.start);
  CHECK(memcmp(upper_guard.access, "---p", 4) == 0 && upper_guard.start == own_mapping.end);
}

// /proc/self/maps shows inaccessible memory on both sides of what the heap maps, also of a block that realloc made
// larger or smaller, and the records of the heap lie in a mapping without a block.
//@ broken-by plain
CASE(guards_in_maps) {
  char* small = malloc(100);
  char* medium = malloc(300000);
  expect_guarded(small);
  expect_guarded(medium);
  char* large = malloc((size_t)40 << 20);
  for (int step = 0; step < 12; ++step) {
    CHECK(large != NULL);
    expect_guarded(large);
    large[0] = 1;
    large = realloc(large, (size_t)(step % 3 == 2 ? 35 : 40 + 7 * step) << 20);
  }
  free(large);
  free(medium);
  free(small);
}

// Large blocks of new memory take no page before the program writes to them. A huge page of other blocks may reach a
// few of them.
//@ tarn-only
//@ broken-by plain
CASE(large_blocks_are_untouched) {
  if (guarded() || hardened()) return;  // canaries lie in the blocks
  enum { count = 64, bytes = 1 << 20, max_touched = 4 };
  static void* blocks[count];
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < count; ++i) {
    blocks[i] = i % 2 == 0 ? malloc(bytes) : calloc(bytes / 8, 8);
    CHECK(blocks[i] != NULL);
  }
  int touched = 0;
  for (int i = 0; i < count; ++i) {
    unsigned char is_resident;
    CHECK(mincore((void*)((uintptr_t)blocks[i] / page * page), 1, &is_resident) == 0);
    touched += is_resident & 1;
    free(blocks[i]);
  }
  CHECK(touched <= max_touched);
}

enum { first_bytes = 4 << 20, last_bytes = 64 << 20 };

static long page_faults(void) {
  struct rusage usage;
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_minflt;
}

// Kernels before 5.7 cannot do it, some sandboxes do not allow it, and for QEMU the old page is gone: there the pages
// are copied.
static int pages_can_move(void) {
  const long page = sysconf(_SC_PAGESIZE);
  void* probe = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(probe != MAP_FAILED);
  unsigned char is_in_memory;
  return madvise(probe, (size_t)page, MADV_COLD) == 0 &&
         mremap(probe, (size_t)page, (size_t)page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL) != MAP_FAILED &&
         mincore(probe, (size_t)page, &is_in_memory) == 0;
}

static void* grow_two(void* unused) {
  (void)unused;
  char* blocks[2];
  for (int i = 0; i < 2; ++i) {
    blocks[i] = malloc(first_bytes);
    CHECK(blocks[i] != NULL);
    fill(blocks[i], first_bytes, (unsigned)i);
  }
  for (size_t bytes = first_bytes; bytes < last_bytes; bytes *= 2) {
    for (int i = 0; i < 2; ++i) {
      blocks[i] = realloc(blocks[i], 2 * bytes);
      CHECK(blocks[i] != NULL && is_filled(blocks[i], first_bytes, (unsigned)i));
    }
  }
  for (int i = 0; i < 2; ++i) {
    blocks[i] = realloc(blocks[i], first_bytes / 2);
    CHECK(blocks[i] != NULL && is_filled(blocks[i], first_bytes / 2, (unsigned)i));
    free(blocks[i]);
  }
  return NULL;
}

// Large blocks that cannot grow where they are keep their contents, and their pages move instead of being copied.
//@ tarn-only
//@ broken-by realloc_drops
CASE(realloc_moves_pages) {
  const long page = sysconf(_SC_PAGESIZE);
  const long before = page_faults();
  grow_two(NULL);
  const long faults = page_faults() - before;
  // The contents are two blocks of first_bytes. A copy touches as many pages again. Nothing was freed before, so there
  // is no free memory into which a copy would be better.
  if (pages_can_move() && !guarded()) {
    CHECK(faults < 3L * first_bytes / page);
  }

  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, grow_two, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      grow_two(NULL);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

// The system has refused memory many times. Memory that the program frees is found all the same, and so is what a
// higher limit allows.
//@ tarn-only
//@ limit data=60M
//@ broken-by free_leaks
//@ not-under qemu its own memory counts against the limit, too
CASE(refused_memory_is_found_again) {
  enum { block = 5000, freed = 1000 };
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_DATA, &limit) == 0);
  limit.rlim_cur /= 2;
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  void** blocks = NULL;
  for (void** next; (next = malloc(block)) != NULL; blocks = next) *next = blocks;
  for (int i = 0; i < 200; ++i) CHECK(malloc(block + (size_t)i * 3000) == NULL);
  CHECK(blocks != NULL);
  for (int i = 0; i < freed && blocks != NULL; ++i) {
    void** const next = *blocks;
    free(blocks);
    blocks = next;
  }
  void* const large = malloc((size_t)freed * block / 2);
  CHECK(large != NULL);
  free(large);
  for (int i = 0; i < freed / 2; ++i) CHECK(malloc(block) != NULL);
  limit.rlim_cur = limit.rlim_max;
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  CHECK(malloc((size_t)20 << 20) != NULL);
}
