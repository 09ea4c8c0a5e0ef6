// Misuse of new and delete.
//@ signal ABRT
//@ last tarn: pass the size that was allocated: delete an object by its own type
#include <deque>
#include <new>
#include <string>
#include <vector>

#include "../cases.h"
#include "../guarded.h"
#include "../sampled.h"

// Sized delete of a small block with an absurd size.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 18446744073709551615): wrong size: the block has 64 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
CASE(sized_delete_absurd) {
  void* p = ::operator new(64);
  note_guarded(p);
  ::operator delete(hidden(p), SIZE_MAX);
}

// Sized aligned delete with a wrong size.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 640): wrong size: the block has 256 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
CASE(sized_delete_aligned) {
  void* p = ::operator new(256, std::align_val_t{64});
  note_guarded(p);
  ::operator delete(hidden(p), 640, std::align_val_t{64});
}

// Sized array delete with a wrong size.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 5000): wrong size: the block has 1000 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
CASE(sized_delete_array) {
  void* p = ::operator new[](1000);
  note_guarded(p);
  ::operator delete[](hidden(p), 5000);
}

struct base {
  long fields[2] = {};
};

struct derived : base {
  long values[24] = {};
};

// A derived object deleted through a base without virtual destructor: the size is the base's.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 16): wrong size: the block has 208 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
CASE(sized_delete_base) {
  base* p = new derived;
  note_guarded(p);
  delete static_cast<base*>(hidden(p));
}

// Sized delete of an address that is no block.
//@ tarn-only
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ last tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
CASE(sized_delete_foreign) {
  alignas(64) static char variable[64];
  note_pointer("p", variable);
  ::operator delete(hidden(variable), 64);
}

// Sized delete of a large block with a small size.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 64): wrong size: the block has 1048576 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
CASE(sized_delete_large) {
  void* p = ::operator new(1 << 20);
  note_guarded(p);
  ::operator delete(hidden(p), 64);
}

// Sized delete with more bytes than the block has.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 100): wrong size: the block has 64 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
CASE(sized_delete_too_large) {
  void* p = ::operator new(64);
  note_guarded(p);
  ::operator delete(hidden(p), 100);
}

// Sized delete with the size of a smaller class.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 10): wrong size: the block has 64 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
CASE(sized_delete_too_small) {
  void* p = ::operator new(64);
  note_guarded(p);
  ::operator delete(hidden(p), 10);
}

// Sized delete of a block twice.
//@ tarn-only
//@ stderr tarn: free({p}): double free of a block of 64 bytes
//@ last tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(sized_delete_twice) {
  void* p = ::operator new(64);
  note_pointer("p", p);
  ::operator delete(p, 64);
  ::operator delete(hidden(p), 64);
}

// Without TARN_GUARD=1 or TARN_HARDEN=1 the size of a sized delete is not checked: the whole block is freed.
//@ tarn-only
//@ env TARN_GUARD=0
//@ env TARN_HARDEN=0
//@ broken-by free_leaks
//@ limit as=1G
//@ exit 0
CASE(sized_delete_unguarded) {
  for (int i = 0; i < 3000; ++i) {
    ::operator delete(::operator new(1000000), 64);
    ::operator delete(::operator new(64), 1000000);
    ::operator delete[](::operator new[](200000), 16);
    ::operator delete(::operator new(256, std::align_val_t{64}), 5000, std::align_val_t{64});
  }
}

// operator delete of an address on the stack.
//@ tarn-only
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ last tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
CASE(delete_stack) {
  alignas(64) char local[64] = {};
  note_pointer("p", local);
  ::operator delete(hidden(local));
}

struct object {
  long fields[6] = {};
};

// An object deleted twice.
//@ tarn-only
//@ stderr tarn: free({p}): double free of a block of 48 bytes
//@ last tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(double_delete) {
  auto* p = new object;
  note_pointer("p", p);
  delete p;
  delete static_cast<object*>(hidden(p));
}

struct with_destructor {
  ~with_destructor() { ++value; }
  long value = 0;
};

// delete instead of delete[] for a class with a destructor: eight bytes into the block.
//@ tarn-only
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 96-byte block at {block}
//@ last tarn: pass the address that the allocation returned
CASE(misaligned_array_cookie) {
  auto* p = new with_destructor[11];
  note_pointer("p", p);
  note_pointer("block", reinterpret_cast<char*>(p) - 8);
  ::operator delete(hidden(p));
}

// One element behind an array of operator new.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}): overrun: 4 bytes written past the end of the block of 20 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 20
//@ last tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
CASE(guard_overrun_new) {
  int* p = new int[5];
  note_guarded(p);
  static_cast<int*>(hidden(p))[5] = 0;
  delete[] p;
}

// Sized delete with a different size of the same size class.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ stderr tarn: free({p}, 12): wrong size: the block has 10 bytes; allocated at {program}+0xADDR by thread
//@ more {thread}
CASE(guard_wrong_size) {
  void* p = ::operator new(10);
  note_guarded(p);
  ::operator delete(hidden(p), 12);
}

// At the limit operator new throws bad_alloc, nothrow gives null, and the program can go on.
//@ tarn-only
//@ env TARN_LIMIT=32M
//@ exit 0
CASE(limit_new) {
  for (int round = 0; round < 5; ++round) {
    std::vector<std::string> lines;
    try {
      while (lines.size() < 20000) lines.emplace_back(3000, 'l');
    } catch (const std::bad_alloc&) {
    }
    CHECK(lines.size() > 5000 && lines.size() < 11000);
    CHECK(::operator new(40000000, std::nothrow) == nullptr);
  }
}

// The address space runs out under operator new: bad_alloc, and all is well after the catch.
//@ limit as=300M
//@ broken-by new_returns_null
//@ exit 0
CASE(address_space_new) {
  for (int round = 0; round < 2; ++round) {
    std::deque<std::string> lines;
    try {
      for (;;) lines.emplace_back(20000, 'l');
    } catch (const std::bad_alloc&) {
    }
    CHECK(lines.size() > 8000);
    for (const std::string& line : lines) CHECK(line.back() == 'l');
  }
}

struct alignas(64) line {
  long numbers[8];
};

// A sampled object of operator new, used after its sized delete.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ stderr tarn: use after free: byte 40 of the block of 64 bytes at {p} is written at {program}+0xADDR by thread
//@ more {thread}
//@ stderr tarn: end every use of the block before its free
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ last tarn:     <stack>
CASE(sample_new) {
  auto* const p = new line{};
  CHECK(reinterpret_cast<size_t>(p) % 64 == 0 && malloc_usable_size(p) == 64);
  note_guarded(p);
  delete p;
  static_cast<volatile line*>(hidden(p))->numbers[5] = 1;
}

// Sized delete of a hardened block with another size, to the byte.
//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_HARDEN=0
//@ stderr tarn: free({p}, 25): wrong size: the block has 24 bytes
CASE(sized_delete_hardened) {
  void* p = ::operator new(24);
  note_pointer("p", p);
  ::operator delete(hidden(p), 25);
}
