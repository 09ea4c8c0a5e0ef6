// A sampled object of operator new, used after its sized delete.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 40 of the block of 64 bytes at {p} is written at {program}+0xADDR by thread
//@ more {thread}
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

struct alignas(64) line {
  long numbers[8];
};

int main() {
  auto* const p = new line{};
  CHECK(reinterpret_cast<size_t>(p) % 64 == 0 && malloc_usable_size(p) == 64);
  note_guarded(p);
  delete p;
  static_cast<volatile line*>(hidden(p))->numbers[5] = 1;
  return 0;
}
