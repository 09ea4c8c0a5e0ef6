#include <tarn/io/writer.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/text.hpp"

namespace tarn::io {

namespace {

// Gathered parts beyond this number are copied into the buffer.
constexpr std::size_t max_pieces = 16;

}  // namespace

writer::writer(std::string path, writer_options options)
    : writer(file::open_to_write(std::move(path), options.existing, options.mode), options) {}

writer::writer(file target, writer_options options)
    : capacity_(std::max<std::size_t>(options.buffer_bytes, 1)),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_)),
      target_(std::move(target)) {
  position_ = first_ = buffer_.get();
  end_ = position_ + capacity_;
}

writer::writer(writer&& source) noexcept
    : position_(std::exchange(source.position_, nullptr)),
      end_(std::exchange(source.end_, nullptr)),
      first_(std::exchange(source.first_, nullptr)),
      capacity_(std::exchange(source.capacity_, 0)),
      reported_end_(source.reported_end_),
      buffer_(std::move(source.buffer_)),
      target_(std::move(source.target_)) {}

writer& writer::operator=(writer&& source) noexcept {
  std::swap(position_, source.position_);
  std::swap(end_, source.end_);
  std::swap(first_, source.first_);
  std::swap(capacity_, source.capacity_);
  std::swap(reported_end_, source.reported_end_);
  std::swap(buffer_, source.buffer_);
  std::swap(target_, source.target_);
  return *this;
}

writer::~writer() {
  if (!target_.is_open()) return;
  const std::uint64_t reported_end = reported_end_;
  try {
    close();
  } catch (const std::exception& failure) {
    if (offset() == reported_end) return;
    base::text_buffer<1024> line;
    line.append("tarn: ").append_escaped(failure.what(), 600);
    if (buffered_bytes() != 0) {
      line.append("; ").decimal(buffered_bytes()).append(" bytes that were not flushed are lost");
    }
    line.append("\n").write_to(STDERR_FILENO);
  }
}

// Writes the buffer and then the parts in one call. Returns once some of the parts are written, and keeps the rest in
// the buffer; throws if none was.
void writer::write_slow(std::span<const std::string_view> parts) {
  check_open();
  std::array<std::string_view, max_pieces + 1> pieces;
  const std::span parts_to_write = std::span(pieces).first(parts.size() + 1);
  std::copy(parts.begin(), parts.end(), pieces.begin() + 1);
  std::size_t left = 0;
  for (const std::string_view part : parts) left += part.size();
  std::size_t out = 0;
  do {
    pieces[0] = {first_, buffered_bytes()};
    out = target_.write_some(parts_to_write);
    const std::size_t of_buffer = std::min(out, buffered_bytes());
    first_ += of_buffer;
    out -= of_buffer;
  } while (first_ != position_ || (out == 0 && left != 0));
  position_ = first_ = buffer_.get();
  if (out == left) return;
  // An error occurred in the middle of the parts. The next flush reports it.
  char* target = reserve(left - out);
  for (const std::string_view part : parts) {
    const std::size_t written = std::min(out, part.size());
    out -= written;
    target += part.copy(target, part.size() - written, written);
  }
  commit(static_cast<std::size_t>(target - position_));
}

void writer::gather(std::span<const std::string_view> parts) {
  std::size_t bytes = 0;
  for (const std::string_view part : parts) bytes += part.size();
  if (bytes > room()) check_open();
  if (bytes > room() && (parts.size() <= max_pieces)) {
    write_slow(parts);
    return;
  }
  if (bytes > room() && bytes <= capacity_) flush();
  if (bytes > room()) {
    for (; parts.size() > max_pieces; parts = parts.subspan(max_pieces)) gather(parts.first(max_pieces));
    gather(parts);
    return;
  }
  for (const std::string_view part : parts) {
    position_ += part.copy(position_, part.size());
  }
}

char* writer::reserve(std::size_t bytes) {
  if (bytes > room()) {
    check_open();
    flush();
    if (bytes > capacity_) {
      auto larger = std::make_unique_for_overwrite<char[]>(bytes);
      buffer_ = std::move(larger);
      capacity_ = bytes;
      position_ = first_ = buffer_.get();
      end_ = position_ + capacity_;
    }
  }
  return position_;
}

void writer::flush() {
  while (first_ != position_) {
    const std::string_view unwritten(first_, buffered_bytes());
    first_ += target_.write_some({&unwritten, 1});
  }
  position_ = first_ = buffer_.get();
}

void writer::sync() {
  flush();
  target_.sync();
}

void writer::close() {
  try {
    flush();
  } catch (...) {
    reported_end_ = offset();
    throw;
  }
  end_ = position_;  // no room: the next write fails
  target_.close();
}

void writer::check_open() const {
  if (!target_.is_open()) {
    throw error(EBADF, target_.name(), "is closed, and cannot be written", error::nowhere,
                error::ending::without_reason);
  }
}

std::size_t writer::discard() noexcept {
  const std::size_t dropped = buffered_bytes();
  position_ = first_ = buffer_.get();
  return dropped;
}

}  // namespace tarn::io
