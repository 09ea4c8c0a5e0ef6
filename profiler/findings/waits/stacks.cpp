#include "profiler/findings/waits/stacks.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/format/python_layout.hpp"
#include "profiler/format/recorder_library.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::analyse {

bool is_installed_library(const std::string& module) {
  return (module.starts_with("/lib/") || module.starts_with("/usr/lib")) && module.find(".so") != std::string::npos;
}

const format::module_facts* own_code::module_at(std::uint32_t image, std::uint64_t frame) {
  const auto [module_found, is_new] = modules_.try_emplace({image, frame}, nullptr);
  if (!is_new) return module_found->second;
  const auto module =
      std::find_if(recording_.modules.begin(), recording_.modules.end(), [&](const auto& module_of_image) {
        return module_of_image.image == image && frame - 1 >= module_of_image.start && frame - 1 < module_of_image.end;
      });
  if (module != recording_.modules.end()) module_found->second = &*module;
  return module_found->second;
}

bool own_code::is_runtime_code(std::uint32_t image, std::uint64_t frame) {
  const format::module_facts* const module = module_at(image, frame);
  return module != nullptr && is_runtime_module(module->path);
}

bool own_code::is_interpreter(std::uint32_t image, std::uint64_t frame) {
  const format::module_facts* const module = module_at(image, frame);
  return module != nullptr && (module->own_functions & format::own_python) != 0;
}

const std::vector<std::uint64_t>& own_code::inner_frames(std::uint32_t site) {
  const auto [inner, is_new] = inner_frames_.try_emplace(site);
  if (!is_new) return inner->second;
  const format::site_facts& facts = recording_.sites[site];
  // A Python function is the program's own code before the interpreter is.
  const bool has_python = std::any_of(facts.frames.begin(), facts.frames.end(), format::is_python_address);
  const auto own_frame = std::find_if_not(facts.frames.begin(), facts.frames.end(), [&](std::uint64_t frame) {
    return is_runtime_code(facts.image, frame) || (has_python && is_interpreter(facts.image, frame));
  });
  inner->second.assign(facts.frames.begin(), own_frame == facts.frames.end() ? own_frame : own_frame + 1);
  return inner->second;
}

std::string own_code::installed_library(std::uint32_t site) {
  const std::vector<std::uint64_t>& inner = inner_frames(site);
  if (inner.empty()) return {};
  const format::module_facts* const module = module_at(recording_.sites[site].image, inner.back());
  if (module == nullptr || is_runtime_module(module->path) || !is_installed_library(module->path)) return {};
  return file_name(module->path);
}

bool is_runtime_code(const code_location& location) {
  constexpr auto starts = std::to_array<std::string_view>(
      {"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "start_thread", "__clone3"});
  return is_runtime_module(location.module) || location.file.starts_with("/usr/include/") ||
         is_of_rusts_library(location.file) ||
         std::find(starts.begin(), starts.end(), location.function) != starts.end();
}

std::size_t own_frame_index(const std::vector<code_location>& stack) {
  const bool has_python = std::any_of(stack.begin(), stack.end(),
                                      [](const code_location& location) { return location.module == python_module; });
  const auto own_frame = std::find_if_not(stack.begin(), stack.end(), [&](const code_location& location) {
    return is_runtime_code(location) || (has_python && location.is_interpreter);
  });
  return own_frame == stack.end() ? 0 : static_cast<std::size_t>(own_frame - stack.begin());
}

std::vector<code_location> stack_at(const format::recording& recording, std::uint32_t site, symbols& symbols) {
  std::vector<code_location> stack;
  const format::site_facts& facts = recording.sites[site];
  for (const std::uint64_t frame : facts.frames) {
    const std::vector<code_location>& locations = symbols.resolve(facts.image, frame);
    stack.insert(stack.end(), locations.begin(), locations.end());
  }
  std::erase_if(stack, [](const code_location& location) { return format::is_recorder_library(location.module); });
  return stack;
}

}  // namespace tarn::analyse
