// The way into the recorder: what each event of the program passes that is counted.
#pragma once

#include <cstdint>

#include "format/region.hpp"
#include "record/stack.hpp"
#include "record/threads.hpp"

namespace tarn::record {

// Whether this process records `source` and the calling thread is not in the recorder already: what the C library does
// for the recorder is not the program's. The first call that can tell sets all up.
bool records(format::kind source = format::heap_kind) noexcept;

// The same for a process of which anything is recorded.
bool records_anything() noexcept;

// Whether the calling thread is in the recorder; a handler of a signal may find itself there.
bool is_inside() noexcept;

// While it lives, the calling thread is in the recorder. False where the thread has no memory for its counts.
class entry {
 public:
  entry() noexcept;
  // In the handler of a signal, which may have come in the middle of the C library. Not where is_inside().
  struct in_signal {
    std::uintptr_t stack;  // the thread's stack pointer
  };
  explicit entry(in_signal at) noexcept;
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;
  ~entry();
  explicit operator bool() const noexcept { return self_ != nullptr; }
  thread& self() noexcept { return *self_; }

 private:
  explicit entry(thread* self) noexcept;
  thread* self_;
};

// The site of a stack, and the thread's cell for what it allocates there.
struct place {
  std::uint32_t site;
  format::cell* cell;  // null when the region is full
};
place heap_place(thread& self, const caller& from) noexcept;

// The site alone.
std::uint32_t site_from(thread& self, const caller& from) noexcept;

}  // namespace tarn::record
