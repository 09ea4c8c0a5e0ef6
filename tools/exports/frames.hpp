// Stacks of one kind of frame, for formats that have neither threads nor labels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "exports/profile.hpp"

namespace tarn::exports {

struct frame {
  std::string name;
  std::string file;  // empty if unknown
  int line = 0;
};

// Stores each frame once, by name, file and line.
class frames {
 public:
  explicit frames(const profile& of) : profile_(of), of_location_(of.locations().size()) {}

  // Returns the frames, outermost first: the thread, the functions with the inlined ones, the category.
  std::vector<std::uint32_t> of(const sample& one);
  const std::vector<frame>& all() const { return all_; }

 private:
  std::uint32_t number_of(frame one);
  const std::vector<std::uint32_t>& of_location(std::uint32_t place);

  const profile& profile_;
  std::vector<frame> all_;
  std::map<std::tuple<std::string, std::string, int>, std::uint32_t> known_;
  std::vector<std::vector<std::uint32_t>> of_location_;  // outermost first; filled on demand
  std::map<std::uint32_t, std::uint32_t> of_thread_;
};

}  // namespace tarn::exports
