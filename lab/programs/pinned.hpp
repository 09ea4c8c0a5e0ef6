// Binds a thread to one processor of its choice.
#pragma once
#include <sched.h>
#include <cerrno>
#include <cstring>
#include <string>

#include "work.hpp"

namespace lab {

/// Binds the calling thread to processor `thread` % `on_cores` of those that the process had at the first call. Ends
/// the program when there are fewer, or when it is not permitted.
inline void pin(std::string_view program, unsigned thread, unsigned on_cores) {
  static const cpu_set_t available = [] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    return allowed;
  }();
  unsigned wanted = thread % on_cores;
  for (unsigned processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &available) || wanted-- != 0) continue;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(processor, &chosen);
    if (sched_setaffinity(0, sizeof chosen, &chosen) != 0) {
      give_up(program, std::string("cannot choose a processor: ") + std::strerror(errno));
    }
    return;
  }
  give_up(program, "fewer than " + std::to_string(on_cores) + " processors");
}

}  // namespace lab
