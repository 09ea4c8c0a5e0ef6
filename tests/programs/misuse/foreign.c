// Addresses that are no blocks of the allocator.
//@ tarn-only
//@ signal ABRT
//@ last tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
#include <pthread.h>
#include <sys/mman.h>

#include "../cases.h"

// free of a foreign pointer as the first call into the allocator.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_first_call) {
  void* p = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  note_pointer("p", p);
  free(p);
}

// free of the address of a function.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_function) {
  void* p = hidden((void*)(uintptr_t)main);
  note_pointer("p", p);
  free(p);
}

// free of the first address above those of a process.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_high_half) {
  free(malloc(10));
  note_pointer("p", (void*)((uintptr_t)1 << 47));
  free(hidden((void*)((uintptr_t)1 << 47)));
}

// free of a string literal.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_literal) {
  const char* p = "a literal, not a block";
  note_pointer("p", p);
  free(hidden(p));
}

// free of -1, as some functions return it for an error.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_minus_one) {
  free(malloc(10));
  note_pointer("p", (void*)-1);
  free(hidden((void*)-1));
}

// free of a mapping that the program made itself.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_mmap) {
  free(malloc(10));
  void* p = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  note_pointer("p", p);
  free(p);
}

// free of an address that no x86-64 pointer can have.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_noncanonical) {
  free(malloc(10));
  note_pointer("p", (void*)0xdead123456789ab0);
  free(hidden((void*)0xdead123456789ab0));
}

// free of a small number that was taken for a pointer.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_small_number) {
  free(malloc(10));
  note_pointer("p", (void*)0x1230);
  free(hidden((void*)0x1230));
}

// free of an address on the stack.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_stack) {
  char local[256] = "";
  char* p = hidden(local);
  p += -(uintptr_t)p & 63;
  free(malloc(10));
  note_pointer("p", p);
  free(p);
}

static void* work(void* argument) {
  char local[256] = "";
  char* p = hidden(local);
  p += -(uintptr_t)p & 63;
  note_pointer("p", p);
  free(p);
  return argument;
}

// free of an address on the stack of a thread, by that thread.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_stack_of_thread) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static _Alignas(64) char variable[256];

// free of a static variable.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_static) {
  free(malloc(10));
  note_pointer("p", variable);
  free(hidden(variable));
}

// free of a good pointer with a tag in its upper bits.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_tagged) {
  char* block = malloc(100);
  note_pointer("p", (void*)((uintptr_t)block | (uintptr_t)1 << 60));
  free(hidden((void*)((uintptr_t)block | (uintptr_t)1 << 60)));
}

// free of an address where nothing is mapped.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(free_unmapped) {
  char* p = mmap(NULL, (size_t)1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED && munmap(p, (size_t)1 << 30) == 0);
  note_pointer("p", p + ((size_t)1 << 29));
  free(hidden(p + ((size_t)1 << 29)));
}

// realloc of an address that is no block.
//@ stderr tarn: realloc({p}): foreign pointer: not a block of this allocator
CASE(realloc_foreign) {
  note_pointer("p", variable);
  CHECK(realloc(hidden(variable), 1000) == NULL);
}

// realloc to no bytes is a free, and a foreign pointer is found there too.
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
CASE(realloc_zero_foreign) {
  note_pointer("p", variable);
  CHECK(realloc(hidden(variable), 0) == NULL);
}

// reallocarray of an address that is no block.
//@ stderr tarn: realloc({p}): foreign pointer: not a block of this allocator
CASE(reallocarray_foreign) {
  note_pointer("p", variable);
  CHECK(reallocarray(hidden(variable), 10, 10) == NULL);
}

// malloc_usable_size of an address that is no block.
//@ stderr tarn: malloc_usable_size({p}): foreign pointer: not a block of this allocator
CASE(usable_size_foreign) {
  note_pointer("p", variable);
  CHECK(malloc_usable_size(hidden(variable)) == 0);
}
