// Reads many small files whole: open, read and close one after the other, and as a batch. The figure is wall time,
// because a batch has threads and waits for the disk.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <tarn/io.hpp>

#include <memory>
#include <string>
#include <vector>

#include "settings.hpp"

namespace bench_io {

using paths = std::vector<std::string>;

inline paths small_files(const settings& parameters, const folder& work_folder) {
  paths written_paths;
  mkdir(work_folder.path("files").c_str(), 0777);
  const std::string content(1000, 'x');
  for (std::size_t number = 0; number < parameters.files; ++number) {
    written_paths.push_back(work_folder.path("files/file" + std::to_string(number)));
    tarn::io::writer output(written_paths.back());
    output.write(content);
    output.close();
  }
  sync();  // only clean pages can be dropped
  return written_paths;
}

/// Drops the files' content from the page cache; their inodes and directory entries stay cached.
inline void forget(const paths& file_paths) {
  for (const std::string& path : file_paths) {
    const int file = open(path.c_str(), O_RDONLY);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

inline std::uint64_t read_each(const paths& file_paths) {
  std::uint64_t sum = 0;
  char buffer[8192];
  for (const std::string& path : file_paths) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = read(file, buffer, sizeof buffer);
    sum += static_cast<std::uint64_t>(bytes) + static_cast<unsigned char>(buffer[0]);
    close(file);
  }
  return sum;
}

inline std::uint64_t read_batch(const paths& file_paths, tarn::io::batch_options options) {
  tarn::io::batch files(options);
  for (const std::string& path : file_paths) files.read_file(path);
  std::uint64_t sum = 0;
  files.run([&](tarn::io::batch_content& content) {
    sum += content.get().size() + static_cast<unsigned char>(content.get()[0]);
  });
  return sum;
}

inline group batch_group(const settings& parameters, const folder& work_folder) {
  const auto files = std::make_shared<const paths>(small_files(parameters, work_folder));
  group batches{std::to_string(parameters.files) + " files of 1,000 bytes", "ns a file, wall time", 1, {}, {}};
  const auto add = [&](const std::string& name, bool is_cold, auto read_all) {
    batches.forms.push_back({name, [=, units = static_cast<double>(parameters.files)] {
                               if (is_cold) forget(*files);
                               const double start = wall_ns();
                               const std::uint64_t result = read_all(*files);
                               return outcome{(wall_ns() - start) / units, result, true};
                             }});
  };
  for (const bool is_cold : {false, true}) {
    const std::string condition = is_cold ? "from the disk, " : "in page cache, ";
    add(condition + "open, read, close", is_cold, read_each);
    const auto add_batch = [&](const std::string& name, tarn::io::batch_options options) {
      add(condition + name, is_cold, [options](const paths& file_paths) { return read_batch(file_paths, options); });
    };
    add_batch("tarn batch, plain", {.method = tarn::io::batch_method::plain});
    add_batch("tarn batch, ring", {});
    add_batch("tarn batch, plain, 2 threads", {.threads = 2, .method = tarn::io::batch_method::plain});
    add_batch("tarn batch, ring, 2 threads", {.threads = 2});
    for (const char* const form : {"tarn batch, ring", "tarn batch, ring, 2 threads"}) {
      batches.goals.push_back(
          {condition + "each over " + form, condition + "open, read, close", condition + form, 2, false});
    }
  }
  return batches;
}

}  // namespace bench_io
