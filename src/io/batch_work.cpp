#include "io/batch_work.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <type_traits>

namespace tarn::io {
namespace files = platform::files;
using files::call_kind;
using files::outcome;

namespace {

// The bytes of a small file's buffer. The buffers of all files in flight fit in the second-level cache
// (docs/design/io.md).
constexpr std::size_t page = 8 * 1024;
// A ring costs as much as a hundred calls, and gains nothing for so few operations.
constexpr std::size_t min_for_ring = 8;
// The most folders to keep open.
constexpr std::size_t max_folders = 16;
constexpr int unopened = -2;

file_status short_status(const struct statx& source) noexcept {
  file_status status;
  status.kind = S_ISREG(source.stx_mode)   ? file_kind::regular
                : S_ISDIR(source.stx_mode) ? file_kind::folder
                : S_ISLNK(source.stx_mode) ? file_kind::link
                                           : file_kind::special;
  status.permissions = source.stx_mode & 07777u;
  status.bytes = source.stx_size;
  status.modified_ns = source.stx_mtime.tv_sec * 1'000'000'000 + source.stx_mtime.tv_nsec;
  status.device = std::uint64_t{source.stx_dev_major} << 32 | source.stx_dev_minor;
  status.number = source.stx_ino;
  return status;
}

}  // namespace

// An operation in flight.
struct batch_work::job {
  files::call call;
  batch_result* result = nullptr;
  std::size_t done_bytes = 0;  // bytes read or written
  int slot = 0;                // this job's slot
  bool has_no_places = false;  // a pipe, which has no offsets
  bool is_open = false;        // this job opened it and must close it
  char* small = nullptr;       // receives the first `page` bytes of a file
  struct statx status {};

  void start(files::many_calls& calls, call_kind kind) noexcept {
    call.kind = kind;
    calls.start(call);
  }
};

batch_work::batch_work(const batch_options& options, std::size_t operations, bool keeps_text)
    : longest_(options.max_file_bytes), keeps_text_(keeps_text) {
  const std::size_t max_slots =
      std::clamp<std::size_t>(std::min<std::size_t>(options.max_in_progress, operations), 1, 4096);
  if (options.method != batch_method::plain && operations >= min_for_ring) {
    calls_ = files::open_ring(static_cast<unsigned>(max_slots));
  }
  is_ring_ = calls_ != nullptr;
  const std::size_t at_once = is_ring_ ? max_slots : 1;  // plain calls are best finished one operation at a time
  if (!is_ring_) calls_ = files::plain_calls(1);
  jobs_ = std::make_unique<job[]>(at_once);
  pages_ = std::make_unique_for_overwrite<char[]>(at_once * page);
  free_.reserve(at_once);
  folders_.reserve(max_folders);
  for (std::size_t slot_number = at_once; slot_number-- > 0;) {
    jobs_[slot_number].slot = static_cast<int>(slot_number);
    jobs_[slot_number].small = &pages_[slot_number * page];
    free_.push_back(&jobs_[slot_number]);
  }
}

// Waits for the calls in flight first, because the system may still write into the jobs.
batch_work::~batch_work() {
  calls_.reset();
  for (const int folder : folders_) files::close(folder);
}

bool batch_work::begin(batch_result& result) {
  job& current = *free_.back();
  current.result = &result;
  current.done_bytes = 0;
  current.has_no_places = false;
  current.is_open = false;
  current.call = {};
  bool goes_on = false;
  try {
    goes_on = begin(current);
  } catch (const std::bad_alloc&) {
    goes_on = fail(current, ENOMEM, "does not fit into memory");
  }
  result.is_done_ = !goes_on;
  if (goes_on) {
    free_.pop_back();
    ++under_way_;
  }
  return goes_on;
}

batch_result* batch_work::step() {
  // The call is the first member of its job.
  static_assert(std::is_standard_layout_v<job>);
  job& current = *reinterpret_cast<job*>(calls_->next());
  bool goes_on = false;
  try {
    goes_on = follow(current);
  } catch (const std::bad_alloc&) {
    goes_on = fail(current, ENOMEM, "does not fit into memory");
  }
  if (goes_on) return nullptr;
  free_.push_back(&current);
  --under_way_;
  current.result->is_done_ = true;
  return current.result;
}

bool batch_work::begin(job& current) {
  batch_result& result = *current.result;
  const bool is_by_path = result.kind_ != kind::read && result.kind_ != kind::write;
  if (is_by_path && result.path_.find('\0') != std::string::npos) {
    return fail(current, EINVAL, "a path with a null byte in it cannot be opened");
  }
  if (is_by_path) name(current);
  current.call.flags = result.flags_;
  current.call.mode = result.mode_;
  current.call.status = &current.status;
  current.call.file = result.descriptor_;
  switch (result.kind_) {
    case kind::read_file:
      current.call.is_slot = true;
      current.call.file = current.slot;
      [[fallthrough]];
    case kind::write_file:
    case kind::open: return current.start(*calls_, call_kind::open), true;
    case kind::read: return read(current);
    case kind::write: return write(current);
    case kind::status: return current.start(*calls_, call_kind::status), true;
  }
  return false;
}

// Files mostly come folder by folder. From a folder's second file on, its path is not walked again.
void batch_work::name(job& current) {
  const std::string& path = current.result->path_;
  current.call.path = path.c_str();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == path.size()) return;
  const std::string_view folder(path.data(), slash);
  if (folder != folder_) {
    folder_ = folder;
    folder_descriptor_ = unopened;
    return;
  }
  if (folder_descriptor_ == unopened) {
    folder_descriptor_ = -1;
    if (folders_.size() == folders_.capacity()) return;
    const outcome open_result = files::open(std::string(folder).c_str(), O_PATH | O_DIRECTORY, 0);
    if (open_result < 0) return;  // the file's own path gives the better error
    folder_descriptor_ = static_cast<int>(open_result);
    folders_.push_back(folder_descriptor_);
  }
  if (folder_descriptor_ < 0) return;
  current.call.folder = folder_descriptor_;
  current.call.path = path.c_str() + slash + 1;
}

bool batch_work::follow(job& current) {
  const outcome call_result = current.call.result;
  const int number = call_result < 0 ? static_cast<int>(-call_result) : 0;
  if (current.call.kind == call_kind::close) {  // an interrupted close has closed, too
    const bool is_lost =
        number != 0 && number != EINTR && current.result->kind_ == kind::write_file && current.result->number_ == 0;
    current.is_open = false;
    return is_lost && fail(current, number, "failed when it was closed");
  }
  if (number == EAGAIN && !current.call.is_slot && current.call.kind != call_kind::open) {
    files::wait(current.call.file, current.call.kind == call_kind::read ? POLLIN : POLLOUT);
  }
  if (number == ESPIPE && current.call.offset != files::own_place) {  // a ring takes what comes next at once
    current.has_no_places = true;
    current.call.offset = files::own_place;
    return current.start(*calls_, current.call.kind), true;
  }
  if (number == EINTR || number == EAGAIN) return current.start(*calls_, current.call.kind), true;
  const bool is_to_read = (current.result->flags_ & O_ACCMODE) == O_RDONLY;
  switch (current.call.kind) {
    case call_kind::open:
      if (number == 0) return finish_open(current, static_cast<int>(call_result));
      return fail(current, number, is_to_read ? "cannot be opened to read" : "cannot be opened to write");
    case call_kind::read:
      if (number == 0) return has_read(current, static_cast<std::size_t>(call_result));
      return fail(current, number, "cannot be read");
    case call_kind::write:
      if (number == 0) return has_written(current, static_cast<std::size_t>(call_result));
      return fail(current, number, "cannot be written");
    case call_kind::status:
      if (number != 0) return fail(current, number, "has a status that cannot be read");
      static_cast<batch_status&>(*current.result).status_ = short_status(current.status);
      return false;
    case call_kind::close: break;
  }
  return false;
}

bool batch_work::finish_open(job& current, int descriptor) {
  if (current.result->kind_ == kind::open) {
    std::uint64_t position = 0;
    if ((current.result->flags_ & O_APPEND) != 0) {
      const outcome end = files::seek(descriptor, 0, SEEK_END);
      position = end > 0 ? static_cast<std::uint64_t>(end) : 0;
    }
    current.call.file = descriptor;
    current.is_open = true;  // in case there is no memory for its name
    static_cast<batch_file&>(*current.result).file_ = file(descriptor, true, current.result->path_, position);
    current.is_open = false;
    return false;
  }
  current.is_open = true;
  if (current.result->kind_ == kind::read_file) return read(current);
  current.call.file = descriptor;
  return write(current);
}

bool batch_work::read(job& current) {
  auto& result = static_cast<batch_content&>(*current.result);
  const std::size_t max_bytes = result.kind_ == kind::read ? result.bytes_ : longest_ + (longest_ + 1 != 0);
  if (current.done_bytes == max_bytes) return has_read(current, 0);
  if (current.done_bytes < page) {
    current.call.buffer = current.small + current.done_bytes;
    current.call.bytes = std::min(page, max_bytes) - current.done_bytes;
  } else {
    if (result.text_.size() <= current.done_bytes) {
      result.text_.resize(result.kind_ == kind::read ? max_bytes : std::min(max_bytes, 8 * current.done_bytes));
      if (current.done_bytes == page) std::copy_n(current.small, page, result.text_.begin());
    }
    current.call.buffer = result.text_.data() + current.done_bytes;
    current.call.bytes = result.text_.size() - current.done_bytes;
  }
  if (result.kind_ == kind::read && !current.has_no_places) current.call.offset = result.offset_ + current.done_bytes;
  current.start(*calls_, call_kind::read);
  return true;
}

bool batch_work::has_read(job& current, std::size_t bytes) {
  auto& result = static_cast<batch_content&>(*current.result);
  current.done_bytes += bytes;
  if (result.kind_ == kind::read_file && current.done_bytes > longest_)
    return fail(current, EMSGSIZE, "is longer than is allowed");
  if (bytes > 0 && !(result.kind_ == kind::read && current.done_bytes == result.bytes_)) return read(current);
  if (current.done_bytes <= page && !keeps_text_) {
    result.view_ = {current.small, current.done_bytes};
    return end(current);
  }
  if (current.done_bytes <= page) {
    result.text_.assign(current.small, current.done_bytes);
  } else {
    result.text_.resize(current.done_bytes);
  }
  result.view_ = result.text_;
  return end(current);
}

bool batch_work::write(job& current) {
  auto& result = static_cast<batch_write&>(*current.result);
  if (current.done_bytes == result.text_.size()) return end(current);
  current.call.buffer = const_cast<char*>(result.text_.data()) + current.done_bytes;
  current.call.bytes = result.text_.size() - current.done_bytes;
  if (result.kind_ == kind::write && !current.has_no_places) current.call.offset = result.offset_ + current.done_bytes;
  current.start(*calls_, call_kind::write);
  return true;
}

bool batch_work::has_written(job& current, std::size_t bytes) {
  if (bytes == 0) return fail(current, EIO, "cannot be written");
  current.done_bytes += bytes;
  return write(current);
}

bool batch_work::end(job& current) {
  if (!current.is_open) return false;
  current.start(*calls_, call_kind::close);
  return true;
}

bool batch_work::fail(job& current, int number, const char* failure) {
  batch_result& result = *current.result;
  result.number_ = number;
  result.failure_ = failure;
  const bool has_place =
      current.call.kind != call_kind::open && result.kind_ != kind::status && result.kind_ != kind::open;
  const bool is_part = result.kind_ == kind::read || result.kind_ == kind::write;
  result.offset_ = is_part ? result.offset_ + current.done_bytes : has_place ? current.done_bytes : error::nowhere;
  if (result.kind_ == kind::read || result.kind_ == kind::read_file) static_cast<batch_content&>(result).forget();
  return end(current);
}

}  // namespace tarn::io
