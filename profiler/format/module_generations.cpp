#include "profiler/format/module_generations.hpp"

#include <utility>

#include "profiler/format/generations.hpp"
#include "profiler/format/region.hpp"

namespace tarn::format {

std::uint64_t generation_of(const module_facts& module) { return module.start >> generation_shift; }

void set_generation(module_facts& module, std::uint64_t generation) {
  for (std::uint64_t* const address : {&module.start, &module.end, &module.bias})
    *address = in_generation(without_generation(*address), generation);
}

bool share_addresses(const module_facts& first, const module_facts& second) {
  return first.image == second.image && without_generation(first.start) < without_generation(second.end) &&
         without_generation(second.start) < without_generation(first.end);
}

std::uint64_t add_in_turn(std::vector<module_facts>& modules, module_facts module) {
  std::uint64_t generation = 0;
  for (const module_facts& before : modules) {
    if (!share_addresses(before, module)) continue;
    const bool is_same = before.path == module.path && before.build_id == module.build_id &&
                         without_generation(before.bias) == module.bias;
    if (is_same) return generation_of(before);
    generation = generation_of(before) + 1;
  }
  if (modules.size() == max_modules) return generation;
  set_generation(module, generation);
  modules.push_back(std::move(module));
  return generation;
}

}  // namespace tarn::format
