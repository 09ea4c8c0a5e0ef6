// Binds a thread to one processor of its choice.
#pragma once
#include <cerrno>
#include <cstring>
#include <string>

#include "bench/processors.hpp"
#include "work.hpp"

namespace lab {

/// Binds the calling thread to processor `thread` % `on_cores` of those that the process had at the first call. Ends
/// the program when there are fewer, or when it is not permitted.
inline void pin(std::string_view program, unsigned thread, unsigned on_cores) {
  static const cpu_set_t available = bench::allowed_processors();
  const int processor = bench::processor_at(available, thread % on_cores);
  if (processor < 0) give_up(program, "fewer than " + std::to_string(on_cores) + " processors");
  if (!bench::bind_to_processor(processor))
    give_up(program, std::string("cannot choose a processor: ") + std::strerror(errno));
}

}  // namespace lab
