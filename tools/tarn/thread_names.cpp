#include "tarn/thread_names.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace tarn::command {

void name_threads(format::recording& of) {
  for (format::thread_facts& each : of.threads) {
    if (each.image + 1 != of.images) continue;  // ended with its image; another may have its number
    std::ifstream file(fmt::format("/proc/{}/task/{}/comm", of.program.process, each.id), std::ios::binary);
    std::string name;
    // A name may have line ends in it; the kernel adds one.
    for (char letter = 0; file.get(letter);) name += letter;
    if (!name.empty()) name.pop_back();
    if (!name.empty()) each.name = name;
  }
}

}  // namespace tarn::command
