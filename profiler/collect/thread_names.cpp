#include "profiler/collect/thread_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace tarn::command {

std::vector<std::uint32_t> running_threads(std::uint64_t process) {
  std::vector<std::uint32_t> threads;
  std::error_code error;
  std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", process), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    threads.push_back(static_cast<std::uint32_t>(std::stoul(entry->path().filename())));
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

std::string thread_name(std::uint64_t process, std::uint32_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/comm", process, thread), std::ios::binary);
  std::string name;
  // A name may contain line ends; the kernel adds one.
  for (char letter = 0; file.get(letter);) name += letter;
  if (!name.empty()) name.pop_back();
  return name;
}

void name_threads(format::recording& recording) {
  std::vector<std::uint32_t> running = running_threads(recording.program.process);
  // The newest thread comes first: the kernel gives the number of an ended one to another.
  for (auto thread = recording.threads.rbegin(); thread != recording.threads.rend() && !running.empty(); ++thread) {
    if (thread->image + 1 != recording.images) continue;  // ended with its image; another thread may have its number
    const auto position = std::lower_bound(running.begin(), running.end(), thread->id);
    if (position == running.end() || *position != thread->id) continue;
    running.erase(position);
    if (std::string name = thread_name(recording.program.process, thread->id); !name.empty())
      thread->name = std::move(name);
  }
}

}  // namespace tarn::command
