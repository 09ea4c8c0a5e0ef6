// Addresses inside blocks.
//@ tarn-only
//@ signal ABRT
//@ last tarn: pass the address that the allocation returned
#include "../cases.h"

// Frees the address `offset` bytes into a block of `size` bytes that is not the only one of its size.
static void free_inside(size_t size, size_t offset) {
  char* keep = malloc(size);
  char* block = malloc(size);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + offset);
  free(hidden(block + offset));
}

// free of an odd address.
//@ stderr tarn: free({p}): misaligned pointer: 1 bytes into the 64-byte block at {block}
CASE(misaligned_by_one) { free_inside(64, 1); }

// free of a well aligned address inside a small block.
//@ stderr tarn: free({p}): misaligned pointer: 16 bytes into the 48-byte block at {block}
CASE(misaligned_by_sixteen) { free_inside(48, 16); }

// free of an address far inside a block of 256 MiB.
//@ stderr tarn: free({p}): misaligned pointer: 134217728 bytes into the 268435456-byte block at {block}
CASE(misaligned_huge) { free_inside(256 << 20, 134217728); }

// free of an address sixteen bytes into a large block.
//@ stderr tarn: free({p}): misaligned pointer: 16 bytes into the 1048576-byte block at {block}
CASE(misaligned_large) { free_inside(1048576, 16); }

// free of a later page of a large block.
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 8388608-byte block at {block}
CASE(misaligned_large_page) { free_inside(8 << 20, 4096); }

// free of the last byte of a block.
//@ stderr tarn: free({p}): misaligned pointer: 319 bytes into the 320-byte block at {block}
CASE(misaligned_last_byte) { free_inside(320, 319); }

// free of a page boundary inside a block of 100 KiB.
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 98304-byte block at {block}
CASE(misaligned_medium) { free_inside(98304, 4096); }

// free of an address eight bytes into a small block.
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 64-byte block at {block}
CASE(misaligned_small) { free_inside(64, 8); }

// free of an address in the middle of a block of a slab of several units, where a block might start by its offset:
// named when it would be handed out.
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 61440-byte block at {block}
CASE(misaligned_step) {
  char* block = malloc(61440);
  CHECK(block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 4096);
  free(hidden(block + 4096));
  CHECK(malloc(61440) != block + 4096);
}

// free of the address right behind the last block of a slab, whose rest is too small for another one. A hardened
// block of 88 bytes has 96.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ last tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
CASE(misaligned_tail) {
  const uintptr_t unit = (uintptr_t)64 << 10;
  const size_t bytes = hardened() ? 88 : 96;
  char* block = malloc(bytes);
  CHECK(block != NULL);
  char* tail = (char*)((uintptr_t)block / unit * unit + unit / 96 * 96);
  note_pointer("p", tail);
  free(hidden(tail));
  CHECK(malloc(bytes) != tail);
}

// realloc of a pointer into the middle of a block.
//@ stderr tarn: realloc({p}): misaligned pointer: 16 bytes into the 64-byte block at {block}
CASE(realloc_misaligned) {
  char* block = malloc(64);
  note_pointer("block", block);
  note_pointer("p", block + 16);
  CHECK(realloc(hidden(block + 16), 1000) == NULL);
}

// malloc_usable_size of a pointer into the middle of a block.
//@ stderr tarn: malloc_usable_size({p}): misaligned pointer: 32 bytes into the 320-byte block at {block}
CASE(usable_size_misaligned) {
  char* block = malloc(320);
  note_pointer("block", block);
  note_pointer("p", block + 32);
  CHECK(malloc_usable_size(hidden(block + 32)) == 0);
}
