#include "profiler/collect/thread_names.hpp"

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

void name_threads(format::recording& recording) {
  for (format::thread_facts& thread : recording.threads) {
    if (thread.image + 1 != recording.images) continue;  // ended with its image; another thread may have its number
    if (std::string name = thread_name(recording.program.process, thread.id); !name.empty())
      thread.name = std::move(name);
  }
}

}  // namespace tarn::command
