#include "tarn/thread_names.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace tarn::command {

std::string thread_name(std::uint64_t process, std::uint32_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/comm", process, thread), std::ios::binary);
  std::string name;
  // A name may contain line ends; the kernel adds one.
  for (char letter = 0; file.get(letter);) name += letter;
  if (!name.empty()) name.pop_back();
  return name;
}

void name_threads(format::recording& of) {
  for (format::thread_facts& each : of.threads) {
    if (each.image + 1 != of.images) continue;  // ended with its image; another thread may have its number
    if (std::string name = thread_name(of.program.process, each.id); !name.empty()) each.name = std::move(name);
  }
}

}  // namespace tarn::command
