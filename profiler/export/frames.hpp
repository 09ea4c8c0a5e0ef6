// Stacks of one kind of frame, for formats that have neither threads nor labels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/export/profile.hpp"

namespace tarn::exports {

struct frame {
  std::string name;
  std::string file;  // empty if unknown
  int line = 0;
};

// Stores each frame once, by name, file and line.
class frames {
 public:
  explicit frames(const profile& profile) : profile_(profile), of_location_(profile.locations().size()) {}

  // Returns the frames, outermost first: the thread, the functions with the inlined ones, the category.
  std::vector<std::uint32_t> stack_of(const sample& sample);
  const std::vector<frame>& list() const { return list_; }

 private:
  std::uint32_t number_of(frame frame);
  const std::vector<std::uint32_t>& of_location(std::uint32_t index);

  const profile& profile_;
  std::vector<frame> list_;
  std::map<std::tuple<std::string, std::string, int>, std::uint32_t> numbers_;
  std::vector<std::vector<std::uint32_t>> of_location_;  // outermost first; filled on demand
  std::map<std::uint32_t, std::uint32_t> of_thread_;
};

}  // namespace tarn::exports
