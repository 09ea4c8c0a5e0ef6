// Counts a byte and reads lines by every method from a call for each byte to vectors over a mapping.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "counting.hpp"
#include "settings.hpp"

namespace bench_io {

using bench::letter;
using bench::mapping;

/// Writes lines of 20 to 140 letters, mean 80.
inline std::string make_text(const std::string& path, std::size_t bytes) {
  tarn::io::writer output(path);
  std::uint64_t state = 1;
  std::string line;
  while (output.offset() < bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    line.clear();
    for (std::uint64_t left = 20 + (state >> 33) % 121, bits = state; left > 0; --left) {
      bits = bits * 6364136223846793005u + 1442695040888963407u;
      line += static_cast<char>((bits >> 40) % 32 == 0 ? letter : 'a' + (bits >> 33) % 26);
    }
    // Repeats the same thousand lines: writing a gigabyte must not take longer than reading it.
    for (int repetition = 0; repetition < 64; ++repetition) output.line(line);
  }
  output.close();
  return path;
}

inline group count_group(const settings& parameters, const folder& work_folder) {
  const std::string path = make_text(work_folder.path("count"), parameters.count_bytes);
  group rows{
      "count-a: a letter in " + std::to_string(parameters.count_bytes) + " bytes, in page cache", "ms", 1e6, {}, {}};
  const auto add = [&](std::string name, std::function<std::uint64_t()> run, bool is_slow = false) {
    rows.forms.push_back({std::move(name), [run] { return timed(run); }, true, is_slow});
  };
  add(
      "fgetc", [path] { return bench::count_by_fgetc(path); }, true);
  add(
      "getc_unlocked", [path] { return bench::count_by_getc_unlocked(path); }, true);
  add("mmap, std::count", [path] {
    const mapping input(path);
    return static_cast<std::uint64_t>(std::count(input.view().begin(), input.view().end(), letter));
  });
  for (const std::size_t kib : {4, 64, 256}) {
    add(fmt::format("read {} KiB, vectors", kib), [path, kib] {
      return bench::count_read(bench::descriptor(path).number(), kib * 1024, bench::count_by_vectors);
    });
  }
  add("mmap, vectors", [path] { return bench::count_by_vectors(mapping(path).view()); });
  add("mmap MAP_POPULATE, vectors", [path] { return bench::count_by_vectors(mapping(path, MAP_POPULATE).view()); });
  add("tarn count(reader)", [path] { return bench::count_by_reader(path); });
  add("tarn count(mapped_file)", [path] { return bench::count_mapped_file(path); });
  rows.goals = {{"mapped_file over mmap and vectors", "tarn count(mapped_file)", "mmap, vectors", 1.15, true},
                {"mapped_file over MAP_POPULATE and vectors", "tarn count(mapped_file)", "mmap MAP_POPULATE, vectors",
                 1.15, true},
                {"reader over read of 64 KiB", "tarn count(reader)", "read 64 KiB, vectors", 1.15, true}};
  return rows;
}

/// Reads the file through a pipe, written by a child; only the reader's time counts.
template <class Read>
outcome through_pipe(const std::string& path, Read read_all) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const mapping input(path);
    std::string_view left = input.view();
    while (!left.empty()) {
      const ssize_t sent = write(ends[1], left.data(), std::min<std::size_t>(left.size(), 64 * 1024));
      if (sent <= 0) _exit(1);
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    _exit(0);
  }
  close(ends[1]);
  const outcome measured = timed([&] { return read_all(ends[0]); });
  waitpid(child, nullptr, 0);
  return measured;
}

inline group pipe_group(const settings& parameters, const folder& work_folder) {
  const std::string path = make_text(work_folder.path("pipe"), parameters.count_bytes);
  group rows{"count-a from a pipe", "ms", 1e6, {}, {}};
  rows.forms.push_back({"read 64 KiB, vectors", [path] {
                          return through_pipe(path, [](int file) {
                            const std::uint64_t total = bench::count_read(file, 64 * 1024, bench::count_by_vectors);
                            close(file);
                            return total;
                          });
                        }});
  rows.forms.push_back({"tarn count(reader)", [path] {
                          return through_pipe(path, [](int file) {
                            tarn::io::reader input(tarn::io::file::adopt(file, "pipe"));
                            return tarn::io::count(input, letter);
                          });
                        }});
  rows.goals = {{"reader over read of 64 KiB", "tarn count(reader)", "read 64 KiB, vectors", 1.15, true}};
  return rows;
}

inline group lines_group(const settings& parameters, const folder& work_folder) {
  const std::string path = make_text(work_folder.path("lines"), parameters.text_bytes);
  group rows{"lines of " + std::to_string(parameters.text_bytes) + " bytes, 80 each, in page cache", "ms", 1e6, {}, {}};
  const auto add = [&](std::string name, std::function<std::uint64_t()> run) {
    rows.forms.push_back({std::move(name), [run] { return timed(run); }});
  };
  // The work for each line: its length and its first byte.
  const auto value = [](std::string_view line) { return line.size() * 256 + static_cast<unsigned char>(line[0]); };
  add("std::getline", [=] {
    std::ifstream input(path);
    std::uint64_t sum = 0;
    for (std::string line; std::getline(input, line);) sum += value(line);
    return sum;
  });
  add("fgets", [=] {
    FILE* const input = fopen(path.c_str(), "r");
    std::uint64_t sum = 0;
    for (char line[4096]; fgets(line, sizeof line, input) != nullptr;) sum += value({line, strlen(line) - 1});
    fclose(input);
    return sum;
  });
  add("getline(3)", [=] {
    FILE* const input = fopen(path.c_str(), "r");
    std::uint64_t sum = 0;
    char* line = nullptr;
    std::size_t room = 0;
    for (ssize_t bytes; (bytes = getline(&line, &room, input)) > 0;)
      sum += value({line, static_cast<std::size_t>(bytes) - 1});
    free(line);
    fclose(input);
    return sum;
  });
  add("mmap, memchr", [=] {
    const mapping input(path);
    std::uint64_t sum = 0;
    const char *start = input.view().data(), *const end = start + input.view().size();
    while (const void* const stop = memchr(start, '\n', static_cast<std::size_t>(end - start))) {
      sum += value({start, static_cast<std::size_t>(static_cast<const char*>(stop) - start)});
      start = static_cast<const char*>(stop) + 1;
    }
    return sum;
  });
  add("tarn reader.line()", [=] {
    tarn::io::reader input(path);
    std::uint64_t sum = 0;
    while (const auto line = input.line()) sum += value(*line);
    return sum;
  });
  add("tarn lines(reader)", [=] {
    tarn::io::reader input(path);
    std::uint64_t sum = 0;
    for (const std::string_view line : tarn::io::lines(input)) sum += value(line);
    return sum;
  });
  add("tarn lines(mapped_file)", [=] {
    const tarn::io::mapped_file input(path);
    std::uint64_t sum = 0;
    for (const std::string_view line : tarn::io::lines(input)) sum += value(line);
    return sum;
  });
  rows.goals = {{"std::getline over lines(mapped_file)", "std::getline", "tarn lines(mapped_file)", 3, false},
                {"std::getline over lines(reader)", "std::getline", "tarn lines(reader)", 3, false},
                {"fgets over lines(reader)", "fgets", "tarn lines(reader)", 1, false},
                {"getline(3) over reader.line()", "getline(3)", "tarn reader.line()", 1, false}};
  return rows;
}

}  // namespace bench_io
