#include "analyse/stacks.hpp"

#include <algorithm>

namespace tarn::analyse {

std::vector<place> stack_at(const format::recording& in, std::uint32_t site, symbols& by) {
  std::vector<place> stack;
  const format::site_facts& facts = in.sites[site];
  for (const std::uint64_t frame : facts.frames) {
    const std::vector<place>& places = by.of(facts.image, frame);
    stack.insert(stack.end(), places.begin(), places.end());
  }
  std::erase_if(stack, [](const place& at) { return at.module.ends_with("/libtarn-record.so"); });
  return stack;
}

}  // namespace tarn::analyse
