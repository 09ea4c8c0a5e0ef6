#include <tarn/io/reader.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tarn::io {

reader::reader(std::string path, reader_options options) : reader(file::open_to_read(std::move(path)), options) {}

reader::reader(file source, reader_options options)
    : capacity_(std::max<std::size_t>(options.buffer_bytes, 1)),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_)),
      options_(options),
      source_(std::move(source)) {
  position_ = filled_ = buffer_.get();
}

bool reader::fill() {
  position_ = filled_ = buffer_.get();
  filled_ += source_.read_some(buffer_.get(), capacity_);
  return position_ != filled_;
}

bool reader::fill_more(std::size_t needed) {
  const std::size_t buffered_bytes = static_cast<std::size_t>(filled_ - position_);
  if (buffered_bytes == 0 && needed <= capacity_) return fill();
  // Make room for the wanted bytes, and for a system call of useful size.
  grow(std::max(needed, buffered_bytes + 1));
  if (position_ != buffer_.get()) {
    std::memmove(buffer_.get(), position_, buffered_bytes);
    position_ = buffer_.get();
    filled_ = position_ + buffered_bytes;
  }
  const std::size_t count = source_.read_some(buffer_.get() + buffered_bytes, capacity_ - buffered_bytes);
  filled_ += count;
  return count != 0;
}

void reader::grow(std::size_t bytes) {
  if (bytes <= capacity_) return;
  const std::size_t buffered_bytes = static_cast<std::size_t>(filled_ - position_);
  if (bytes > options_.max_record_bytes) {
    throw error(EMSGSIZE, source_.name(),
                "a record of more than " + std::to_string(options_.max_record_bytes) + " bytes", offset(),
                error::ending::without_reason);
  }
  const std::size_t larger = std::min(std::max(bytes, 2 * capacity_), std::max(options_.max_record_bytes, bytes));
  auto moved = std::make_unique_for_overwrite<char[]>(larger);
  std::memcpy(moved.get(), position_, buffered_bytes);
  buffer_ = std::move(moved);
  capacity_ = larger;
  position_ = buffer_.get();
  filled_ = position_ + buffered_bytes;
}

std::optional<std::string_view> reader::record_slow(char end) {
  for (;;) {
    const std::size_t searched = static_cast<std::size_t>(filled_ - position_);
    if (!fill_more(searched + 1)) {
      if (searched == 0) return std::nullopt;
      return block();
    }
    const char* const searched_end = position_ + searched;
    if (const void* const line_end = std::memchr(searched_end, end, static_cast<std::size_t>(filled_ - searched_end))) {
      const std::string_view line(position_, static_cast<std::size_t>(static_cast<const char*>(line_end) - position_));
      position_ = static_cast<const char*>(line_end) + 1;
      return line;
    }
  }
}

std::string_view reader::peek(std::size_t bytes) {
  while (static_cast<std::size_t>(filled_ - position_) < bytes && fill_more(bytes)) {
  }
  return {position_, std::min(bytes, static_cast<std::size_t>(filled_ - position_))};
}

std::string_view reader::block(std::size_t bytes) {
  const std::string_view bytes_read = peek(bytes);
  position_ += bytes_read.size();
  return bytes_read;
}

std::size_t reader::read(void* buffer, std::size_t bytes) {
  char* const target = static_cast<char*>(buffer);
  std::size_t copied = 0;
  while (copied < bytes) {
    if (position_ == filled_ && bytes - copied >= capacity_) {
      const std::size_t count = source_.read_some(target + copied, bytes - copied);
      if (count == 0) break;
      copied += count;
      continue;
    }
    if (position_ == filled_ && !fill()) break;
    const std::size_t part = std::min(bytes - copied, static_cast<std::size_t>(filled_ - position_));
    std::memcpy(target + copied, position_, part);
    position_ += part;
    copied += part;
  }
  return copied;
}

std::uint64_t reader::skip(std::uint64_t bytes) {
  std::uint64_t skipped = 0;
  while (skipped < bytes && (position_ != filled_ || fill())) {
    const std::uint64_t part =
        std::min<std::uint64_t>(bytes - skipped, static_cast<std::uint64_t>(filled_ - position_));
    position_ += part;
    skipped += part;
  }
  return skipped;
}

}  // namespace tarn::io
