// Finds the system calls that threads make while they hold a contended lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "profiler/findings/waits/locks.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// Returns the functions at a frame of an image, inlined ones first, as symbols::resolve does.
using resolve_function = std::function<std::vector<code_location>(std::uint32_t image, std::uint64_t frame)>;

// Tells which stacks are of work that threads do after they have acquired a lock at one of `sites`: in the same
// function with the same callers, further down.
class acquiring_functions {
 public:
  // Both must outlive it.
  acquiring_functions(const format::recording& recording, const std::set<std::uint32_t>& sites,
                      const resolve_function& resolve);
  bool has_later(std::uint32_t site);

 private:
  struct acquiring_function {
    std::uint32_t image = 0;
    std::uint64_t frame = 0;  // where it acquires the lock
    code_location location;   // the same, with the name of the function
    std::vector<std::uint64_t> callers;
  };
  void add(const format::site_facts& site);
  bool calls_later(const acquiring_function& function, const format::site_facts& site) const;

  const format::recording& recording_;
  const resolve_function& resolve_;
  std::vector<acquiring_function> functions_;
  std::map<std::uint32_t, bool> is_later_;  // by site
};

// Sets `calls_inside` of the locks that are held long, and their remedies. A recording does not show which locks were
// held during a call. A call counts as inside if it comes after the acquisition in the same function with the same
// callers, by the same threads, and if such calls together take most of the time that the lock is held, and no more.
void add_calls_inside(lock_findings& findings, const format::recording& recording, const resolve_function& resolve);

}  // namespace tarn::analyse
