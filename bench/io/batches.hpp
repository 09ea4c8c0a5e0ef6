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

inline paths small_files(const settings& wanted, const folder& in) {
  paths made;
  mkdir(in.path("files").c_str(), 0777);
  const std::string content(1000, 'x');
  for (std::size_t each = 0; each < wanted.files; ++each) {
    made.push_back(in.path("files/file" + std::to_string(each)));
    tarn::io::writer to(made.back());
    to.write(content);
    to.close();
  }
  sync();  // only clean pages can be dropped
  return made;
}

/// Drops the files' content from the page cache; their inodes and directory entries stay cached.
inline void forget(const paths& all) {
  for (const std::string& each : all) {
    const int file = open(each.c_str(), O_RDONLY);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

inline std::uint64_t read_each(const paths& all) {
  std::uint64_t sum = 0;
  char buffer[8192];
  for (const std::string& each : all) {
    const int file = open(each.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = read(file, buffer, sizeof buffer);
    sum += static_cast<std::uint64_t>(got) + static_cast<unsigned char>(buffer[0]);
    close(file);
  }
  return sum;
}

inline std::uint64_t read_batch(const paths& all, tarn::io::batch_options options) {
  tarn::io::batch files(options);
  for (const std::string& each : all) files.read_file(each);
  std::uint64_t sum = 0;
  files.run(
      [&](tarn::io::batch_content& each) { sum += each.get().size() + static_cast<unsigned char>(each.get()[0]); });
  return sum;
}

inline group batch_group(const settings& wanted, const folder& in) {
  const auto files = std::make_shared<const paths>(small_files(wanted, in));
  group all{std::to_string(wanted.files) + " files of 1,000 bytes", "ns a file, wall time", 1, {}, {}};
  const auto add = [&](const std::string& name, bool is_cold, auto read_all) {
    all.forms.push_back({name, [=, units = static_cast<double>(wanted.files)] {
                           if (is_cold) forget(*files);
                           const double start = wall_ns();
                           const std::uint64_t result = read_all(*files);
                           return outcome{(wall_ns() - start) / units, result, true};
                         }});
  };
  for (const bool is_cold : {false, true}) {
    const std::string where = is_cold ? "from the disk, " : "in page cache, ";
    add(where + "open, read, close", is_cold, read_each);
    const auto add_batch = [&](const std::string& name, tarn::io::batch_options options) {
      add(where + name, is_cold, [options](const paths& from) { return read_batch(from, options); });
    };
    add_batch("tarn batch, plain", {.way = tarn::io::batch_way::plain});
    add_batch("tarn batch, ring", {});
    add_batch("tarn batch, plain, 2 threads", {.threads = 2, .way = tarn::io::batch_way::plain});
    add_batch("tarn batch, ring, 2 threads", {.threads = 2});
    for (const char* const form : {"tarn batch, ring", "tarn batch, ring, 2 threads"}) {
      all.goals.push_back({where + "each over " + form, where + "open, read, close", where + form, 2, false});
    }
  }
  return all;
}

}  // namespace bench_io
