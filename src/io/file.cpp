#include <tarn/io/file.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "io/open_flags.hpp"
#include "platform/files.hpp"

namespace tarn::io {
namespace files = platform::files;

namespace {

// More parts than this are written in several calls; the system's own limit is 1,024.
constexpr std::size_t max_parts = 64;

int open_or_throw(const std::string& path, int flags, unsigned mode, std::string_view failure) {
  if (path.find('\0') != std::string::npos) {
    throw error(EINVAL, path.c_str(), "a path with a null byte in it cannot be opened");
  }
  files::outcome open_result;
  do {
    open_result = files::open(path.c_str(), flags, mode);
  } while (open_result == -EINTR);
  if (open_result < 0) throw error(static_cast<int>(-open_result), path, failure);
  return static_cast<int>(open_result);
}

}  // namespace

file::file(int descriptor, bool is_owned, std::string name)
    : descriptor_(descriptor), is_owned_(is_owned), name_(std::move(name)) {
  const files::outcome position = files::seek(descriptor, 0, SEEK_CUR);
  offset_ = position > 0 ? static_cast<std::uint64_t>(position) : 0;  // a pipe has no position: count from here
}

file file::open_to_read(std::string path) {
  const int descriptor = open_or_throw(path, O_RDONLY, 0, "cannot be opened to read");
  return {descriptor, true, std::move(path)};
}

file file::open_to_write(std::string path, if_exists existing, unsigned mode) {
  const int descriptor = open_or_throw(path, open_flags(existing), mode, "cannot be opened to write");
  file new_file(descriptor, true, std::move(path));
  if (existing == if_exists::append) {
    const files::outcome end = files::seek(descriptor, 0, SEEK_END);
    new_file.offset_ = end > 0 ? static_cast<std::uint64_t>(end) : 0;
  }
  return new_file;
}

file file::open_to_update(std::string path, unsigned mode) {
  const int descriptor = open_or_throw(path, O_RDWR | O_CREAT, mode, "cannot be opened to read and write");
  return {descriptor, true, std::move(path)};
}

file file::adopt(int descriptor, std::string name) { return {descriptor, true, std::move(name)}; }

file file::borrow(int descriptor, std::string name) { return {descriptor, false, std::move(name)}; }

file::file(file&& source) noexcept
    : descriptor_(std::exchange(source.descriptor_, -1)),
      is_owned_(source.is_owned_),
      offset_(source.offset_),
      name_(std::move(source.name_)) {}

file& file::operator=(file&& source) noexcept {
  std::swap(descriptor_, source.descriptor_);
  std::swap(is_owned_, source.is_owned_);
  std::swap(offset_, source.offset_);
  std::swap(name_, source.name_);
  return *this;
}

file::~file() {
  if (descriptor_ >= 0 && is_owned_) files::close(descriptor_);
}

std::size_t file::read_some(void* buffer, std::size_t bytes) {
  for (;;) {
    const files::outcome read_result = files::read(descriptor_, buffer, bytes);
    if (read_result >= 0) {
      offset_ += static_cast<std::uint64_t>(read_result);
      return static_cast<std::size_t>(read_result);
    }
    if (read_result == -EAGAIN) {
      files::wait(descriptor_, POLLIN);
    } else if (read_result != -EINTR) {
      fail(static_cast<int>(-read_result), "cannot be read");
    }
  }
}

std::size_t file::write_some(std::span<const std::string_view> parts) {
  std::size_t written = 0;
  std::size_t part = 0, begun = 0;  // `begun` bytes of parts[part] are written
  for (;;) {
    std::array<iovec, max_parts> vectors;
    int count = 0;
    std::size_t skip = begun;
    for (std::size_t index = part; index < parts.size() && count < static_cast<int>(max_parts); ++index, skip = 0) {
      if (parts[index].size() > skip) {
        vectors[static_cast<std::size_t>(count++)] = {const_cast<char*>(parts[index].data()) + skip,
                                                      parts[index].size() - skip};
      }
    }
    if (count == 0) return written;
    files::outcome write_result = files::write(descriptor_, vectors.data(), count);
    if (write_result == -EINTR) continue;
    if (write_result == -EAGAIN) {
      files::wait(descriptor_, POLLOUT);
      continue;
    }
    if (write_result < 0) {
      if (written > 0) return written;
      fail(static_cast<int>(-write_result), "cannot be written");
    }
    written += static_cast<std::size_t>(write_result);
    offset_ += static_cast<std::uint64_t>(write_result);
    while (part < parts.size() && static_cast<std::size_t>(write_result) >= parts[part].size() - begun) {
      write_result -= static_cast<files::outcome>(parts[part].size() - begun);
      ++part, begun = 0;
    }
    begun += static_cast<std::size_t>(write_result);
  }
}

void file::sync() {
  files::outcome sync_result;
  do {
    sync_result = files::sync(descriptor_);
  } while (sync_result == -EINTR);
  if (sync_result < 0 && sync_result != -EINVAL && sync_result != -EROFS) {
    fail(static_cast<int>(-sync_result), "may not be on the disk: sync failed");
  }
}

void file::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0 || !is_owned_) return;
  const files::outcome close_result = files::close(descriptor);
  if (close_result < 0 && close_result != -EINTR) {  // Linux has closed the file when it reports EINTR
    fail(static_cast<int>(-close_result), "failed when it was closed");
  }
}

void file::fail(int number, std::string_view failure) const { throw error(number, name_, failure, offset_); }

}  // namespace tarn::io
