// Addresses inside blocks.
//@ tarn-only
//@ signal ABRT
#include "../cases.h"

// free of an odd address.
//@ stderr tarn: free({p}): misaligned pointer: 1 bytes into the 64-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_by_one) {
  char* keep = malloc(64);
  char* block = malloc(64);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 1);
  free(hidden(block + 1));
}

// free of a well aligned address inside a small block.
//@ stderr tarn: free({p}): misaligned pointer: 16 bytes into the 48-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_by_sixteen) {
  char* keep = malloc(48);
  char* block = malloc(48);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 16);
  free(hidden(block + 16));
}

// free of an address far inside a block of 256 MiB.
//@ stderr tarn: free({p}): misaligned pointer: 134217728 bytes into the 268435456-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_huge) {
  char* keep = malloc(256 << 20);
  char* block = malloc(256 << 20);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 134217728);
  free(hidden(block + 134217728));
}

// free of an address sixteen bytes into a large block.
//@ stderr tarn: free({p}): misaligned pointer: 16 bytes into the 1048576-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_large) {
  char* keep = malloc(1048576);
  char* block = malloc(1048576);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 16);
  free(hidden(block + 16));
}

// free of a later page of a large block.
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 8388608-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_large_page) {
  char* keep = malloc(8 << 20);
  char* block = malloc(8 << 20);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 4096);
  free(hidden(block + 4096));
}

// free of the last byte of a block.
//@ stderr tarn: free({p}): misaligned pointer: 319 bytes into the 320-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_last_byte) {
  char* keep = malloc(320);
  char* block = malloc(320);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 319);
  free(hidden(block + 319));
}

// free of a page boundary inside a block of 100 KiB.
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 98304-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_medium) {
  char* keep = malloc(98304);
  char* block = malloc(98304);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 4096);
  free(hidden(block + 4096));
}

// free of an address eight bytes into a small block.
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 64-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(misaligned_small) {
  char* keep = malloc(64);
  char* block = malloc(64);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 8);
  free(hidden(block + 8));
}

// free of an address in the middle of a block of a slab of several units, where a block might start by its offset:
// named when it would be handed out.
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 61440-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
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
//@ stderr tarn: free a block with the allocator that it came from; memory of the stack or a static object is
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
//@ stderr tarn: pass the address that the allocation returned
CASE(realloc_misaligned) {
  char* block = malloc(64);
  note_pointer("block", block);
  note_pointer("p", block + 16);
  CHECK(realloc(hidden(block + 16), 1000) == NULL);
}

// malloc_usable_size of a pointer into the middle of a block.
//@ stderr tarn: malloc_usable_size({p}): misaligned pointer: 32 bytes into the 320-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(usable_size_misaligned) {
  char* block = malloc(320);
  note_pointer("block", block);
  note_pointer("p", block + 32);
  CHECK(malloc_usable_size(hidden(block + 32)) == 0);
}
