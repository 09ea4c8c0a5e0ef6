#include "profiler/findings/waits/awaited_locks.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "profiler/format/python_layout.hpp"

namespace tarn::analyse {
namespace {

struct semaphore_use {
  std::uint64_t acquisitions = 0, holds = 0, unposted = 0;
  bool has_waiting_threads = false;  // when the recording ended

  bool is_lock() const {
    const bool is_stuck = holds == 0 && unposted == 0 && acquisitions != 0 && has_waiting_threads;
    return holds > unposted || is_stuck;
  }
};

// CPython 3.11 takes a semaphore where a thread begins and posts it where that ends, for those that join it.
bool tells_of_threads_end(const format::recording& recording, std::uint32_t site) {
  constexpr std::string_view taker = "Thread._set_tstate_lock";
  const format::site_facts& facts = recording.sites[site];
  return std::any_of(facts.frames.begin(), facts.frames.end(), [&](std::uint64_t frame) {
    if (!format::is_python_address(frame)) return false;
    const auto code =
        std::find_if(recording.python_codes.begin(), recording.python_codes.end(), [&](const auto& candidate) {
          return candidate.image == facts.image && frame >= candidate.start &&
                 frame - candidate.start <= candidate.bytes;
        });
    return code != recording.python_codes.end() && code->function == taker;
  });
}

}  // namespace

awaited_locks::awaited_locks(const format::recording& recording) : is_awaited_(recording.locks.size()) {
  std::map<std::uint32_t, semaphore_use> uses;  // by the site of the first use
  const auto is_semaphore = [&](std::uint32_t lock) {
    return recording.locks[lock].type == format::lock_type::semaphore;
  };
  for (const auto& [key, value] : recording.acquisitions) {
    if (!is_semaphore(key.lock)) continue;
    semaphore_use& use = uses[recording.locks[key.lock].site];
    use.acquisitions += value[format::acquisitions];
    use.holds += value[format::holds];
    use.unposted += value[format::unposted];
  }
  for (const auto& [key, since] : recording.open_uses) {
    if (key.is_wait && is_semaphore(key.lock)) uses[recording.locks[key.lock].site].has_waiting_threads = true;
  }
  std::map<std::uint32_t, bool> is_lock;  // by the site of the first use
  for (const auto& [site, use] : uses) is_lock[site] = use.is_lock() && !tells_of_threads_end(recording, site);
  for (std::uint32_t lock = 0; lock < recording.locks.size(); ++lock) {
    is_awaited_[lock] = is_semaphore(lock) ? !is_lock[recording.locks[lock].site]
                                           : recording.locks[lock].type == format::lock_type::condition;
  }
}

}  // namespace tarn::analyse
