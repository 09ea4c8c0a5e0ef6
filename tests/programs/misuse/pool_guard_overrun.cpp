// A byte behind a block of a shared pool, freed by another thread.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: pool::deallocate({p}): overrun: 1 bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
#include <tarn/shared_pool.hpp>

#include <thread>

#include "../guarded.h"

int main() {
  tarn::shared_pool<char[24]> lines;
  auto* const line = static_cast<char*>(lines.allocate());
  note_guarded(line);
  static_cast<char*>(hidden(line))[24] = 0;
  std::thread([&] { lines.deallocate(line); }).join();
}
