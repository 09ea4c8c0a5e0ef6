// The first step of docs/guide/tutorial: a program that finds Tarn.
#include <cstdio>

#include <tarn/tarn.hpp>

int main() {
  tarn::stack_arena<256> memory;  // the first 256 bytes are on the stack
  tarn::arena_string text(memory);
  text += "hello from ";
  text += "Tarn";
  std::puts(text.c_str());
}
