#include <tarn/io/mapped_file.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/watched_mapping.hpp"
#include "platform/files.hpp"
#include "platform/platform.hpp"

namespace tarn::io {
namespace files = platform::files;

namespace {

// Maps zeros from the touched page to the end of the mapping: all pages behind the first lost one are lost, too.
bool read_as_zeros(watched_mapping& mapping, void*, std::uintptr_t address) {
  const std::uintptr_t page = address & ~(platform::page_bytes() - 1);
  return ::mmap(reinterpret_cast<void*>(page), mapping.end() - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                -1, 0) != MAP_FAILED;
}

}  // namespace

mapped_file::mapped_file(std::string path) : mapped_file(file::open_to_read(std::move(path))) {}

mapped_file::mapped_file(file source) : source_(std::move(source)) {
  struct stat status;
  const files::outcome status_result = files::status(source_.descriptor(), &status);
  if (status_result < 0) source_.fail(static_cast<int>(-status_result), "has a status that cannot be read");
  // The whole file is mapped, whatever the descriptor's position is. Files of /proc report 0 bytes, but have content.
  if (S_ISREG(status.st_mode) && status.st_size > 0) map(static_cast<std::size_t>(status.st_size));
  if (mapping_ == nullptr) read_all();
}

mapped_file::mapped_file(mapped_file&& source) noexcept
    : start_(std::exchange(source.start_, nullptr)),
      bytes_(std::exchange(source.bytes_, 0)),
      mapping_(std::exchange(source.mapping_, nullptr)),
      copy_(std::move(source.copy_)),
      source_(std::move(source.source_)) {
  if (mapping_ == nullptr) start_ = copy_.data();  // a short string moves with its object
}

mapped_file& mapped_file::operator=(mapped_file&& source) noexcept {
  drop();
  start_ = std::exchange(source.start_, nullptr);
  bytes_ = std::exchange(source.bytes_, 0);
  mapping_ = std::exchange(source.mapping_, nullptr);
  copy_ = std::move(source.copy_);
  source_ = std::move(source.source_);
  if (mapping_ == nullptr) start_ = copy_.data();
  return *this;
}

mapped_file::~mapped_file() { drop(); }

void mapped_file::drop() noexcept {
  if (mapping_ == nullptr) return;
  mapping_->forget();
  mapping_ = nullptr;
  files::unmap(const_cast<char*>(start_), bytes_);
}

void mapped_file::map(std::size_t bytes) {
  watched_mapping& range = watched_mapping::take();
  const files::outcome map_result = files::map(source_.descriptor(), 0, bytes, false);
  if (map_result < 0) {
    range.forget();
    if (map_result == -ENODEV || map_result == -EINVAL) return;  // not every file system has mappings
    source_.fail(static_cast<int>(-map_result), "cannot be mapped (" + std::to_string(bytes) + " bytes)");
  }
  range.watch(reinterpret_cast<const void*>(map_result), bytes, read_as_zeros, nullptr);
  mapping_ = &range;
  start_ = reinterpret_cast<const char*>(map_result);
  bytes_ = bytes;
}

void mapped_file::read_all() {
  std::size_t filled = 0;
  for (std::size_t capacity = 64 * 1024;; capacity *= 2) {
    copy_.resize(capacity);
    std::size_t count = 1;
    while (filled < capacity && (count = source_.read_some(copy_.data() + filled, capacity - filled)) != 0)
      filled += count;
    if (count == 0) break;
  }
  copy_.resize(filled);
  start_ = copy_.data();
  bytes_ = filled;
}

void mapped_file::check() const {
  if (mapping_ == nullptr) return;
  struct stat status;
  const files::outcome status_result = files::status(source_.descriptor(), &status);
  if (status_result < 0) source_.fail(static_cast<int>(-status_result), "has a status that cannot be read");
  const auto current_bytes = static_cast<std::uint64_t>(status.st_size);
  if (current_bytes < bytes_) {
    throw error(EIO, source_.name(),
                "shrank from " + std::to_string(bytes_) + " bytes while it was mapped; nothing is there", current_bytes,
                error::ending::without_reason);
  }
  if (mapping_->has_faulted()) throw error(EIO, source_.name(), "could not be read through its mapping");
}

void mapped_file::prepare(std::size_t offset, std::size_t bytes) const noexcept {
#ifdef MADV_POPULATE_READ
  constexpr int populate = MADV_POPULATE_READ;
#else
  constexpr int populate = 22;  // of Linux 5.14; older kernels refuse it
#endif
  if (mapping_ == nullptr || offset >= bytes_) return;
  const std::size_t start = offset & ~(platform::page_bytes() - 1);
  files::advise(const_cast<char*>(start_) + start, std::min(bytes + (offset - start), bytes_ - start), populate);
}

}  // namespace tarn::io
