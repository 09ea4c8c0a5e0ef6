// A freed block reveals neither the stack protector's canary nor the random bytes from which the C library makes it;
// this also holds where a filter of system calls refuses getrandom(2).
//@ broken-by tells_secret
#include <errno.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include "../../support/call_filter.h"
#include "../check.h"

// Finds four bytes in a row that both hold; by accident this happens once in some 10^8 runs.
static int have_a_part_in_common(const void* first, size_t first_bytes, const void* second, size_t second_bytes) {
  for (size_t i = 0; i + 4 <= first_bytes; ++i) {
    for (size_t j = 0; j + 4 <= second_bytes; ++j) {
      if (memcmp((const char*)first + i, (const char*)second + j, 4) == 0) return 1;
    }
  }
  return 0;
}

static void look_for_secrets(void) {
  for (size_t bytes = 16; bytes < 20000; bytes *= 3) {
    uintptr_t* block = (uintptr_t*)malloc(bytes);
    memset(block, 0xff, bytes);
    free(block);
    block = (uintptr_t*)hidden(block);
    for (int word = 0; word < 2; ++word) {
      const uintptr_t forms[2] = {block[word], block[word] ^ (uintptr_t)block};
      for (int form = 0; form < 2; ++form) {
        CHECK(!have_a_part_in_common(&forms[form], sizeof forms[form], (const void*)getauxval(AT_RANDOM), 16));
#if defined(__x86_64__)
        uintptr_t canary;
        __asm__("mov %%fs:0x28, %0" : "=r"(canary));
        CHECK(!have_a_part_in_common(&forms[form], sizeof forms[form], (char*)&canary + 1, sizeof canary - 1));
#endif
      }
    }
  }
}

int main(int count, char** arguments) {
  look_for_secrets();
  if (count == 1) {
    // The program that this process executes gets ENOSYS from getrandom, as on a kernel before 3.17.
    CHECK(refuse_call(SYS_getrandom, ENOSYS) == 0);
    char is_child[] = "again";
    char* const child_arguments[] = {arguments[0], is_child, NULL};
    execv("/proc/self/exe", child_arguments);
    return 1;
  }
  char byte;
  CHECK(getrandom(&byte, 1, GRND_NONBLOCK) < 0 && errno == ENOSYS);
  return 0;
}
