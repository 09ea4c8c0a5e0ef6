/* An allocator whose blocks begin 8 bytes apart, as those of some do that are asked for 8. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static char memory[16 << 20] __attribute__((aligned(64)));
static size_t used_bytes;

void* malloc(size_t bytes) {
  const size_t step = bytes <= 8 ? 8 : 16;
  size_t position, end;
  do {
    position = __atomic_load_n(&used_bytes, __ATOMIC_RELAXED);
    end = (position + step - 1) / step * step + (bytes + step - 1) / step * step;
    if (end > sizeof memory) return errno = ENOMEM, NULL;
  } while (!__atomic_compare_exchange_n(&used_bytes, &position, end, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return memory + (position + step - 1) / step * step;
}
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t element_bytes) {
  return malloc(count * element_bytes);
} /* nothing is used twice: all zero */
void* realloc(void* block, size_t bytes) {
  void* const moved = malloc(bytes);
  if (moved != NULL && block != NULL) {
    const size_t left = (size_t)(memory + sizeof memory - (char*)block);
    memmove(moved, block, bytes < left ? bytes : left);
  }
  return moved;
}
