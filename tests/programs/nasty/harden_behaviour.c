// A hardened program can rely on sizes, zeroes, alignments and contents across realloc; no block is reused at once.
//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_HARDEN=0
#include "../check.h"

enum { blocks = 500 };

static void check_sizes(void) {
  for (size_t n = 0; n < 300000; n = n * 9 / 8 + 1) {
    char* p = malloc(n);
    CHECK(p != NULL && is_aligned(p, 16) && malloc_usable_size(p) >= n);
    CHECK(n > 262136 || malloc_usable_size(p) == n);
    fill(p, n, 3);
    free(p);
    char* zeroed = calloc(1, n);
    CHECK(zeroed != NULL && is_zero(zeroed, n));
    fill(zeroed, n, 5);
    free(zeroed);
    for (size_t alignment = 16; alignment <= 131072; alignment *= 2) {
      char* aligned = aligned_alloc(alignment, n);
      CHECK(aligned != NULL && is_aligned(aligned, alignment));
      fill(aligned, n, 7);
      free(aligned);
    }
  }
}

static void check_realloc(void) {
  for (size_t first = 1; first < 600000; first = first * 5 / 2 + 3) {
    for (size_t second = 1; second < 600000; second = second * 7 / 4 + 1) {
      char* p = malloc(first);
      fill(p, first, 11);
      p = realloc(p, second);
      CHECK(p != NULL && is_filled(p, first < second ? first : second, 11));
      fill(p, second, 13);
      p = realloc(p, first);
      CHECK(p != NULL && is_filled(p, first < second ? first : second, 13));
      free(p);
    }
  }
}

// Returns how many of the next blocks are the one that was freed last.
static int reused_at_once(void) {
  int count = 0;
  for (int i = 0; i < blocks; ++i) {
    void* first = malloc(64);
    free(first);
    void* second = malloc(64);
    count += first == second;
    free(second);
  }
  return count;
}

// Returns how many fresh blocks follow the one before them in memory.
static int in_order(void) {
  int count = 0;
  char* before = malloc(112);
  for (int i = 0; i < blocks; ++i) {
    char* next = malloc(112);
    count += next > before && next < before + 256;
    before = next;
  }
  return count;
}

int main(void) {
  check_sizes();
  check_realloc();
  CHECK(reused_at_once() == 0);
  CHECK(in_order() < blocks / 2);
  return 0;
}
