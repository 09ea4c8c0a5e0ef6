#include <tarn/io/lines.hpp>

#include <algorithm>
#include <cstring>

#include "io/kernels.hpp"
#include "io/windows.hpp"

namespace tarn::io {

bool detail::line_ends::scan() noexcept {
  const auto left = static_cast<std::size_t>(end_ - scanned_);
  if (left == 0) return false;
  word_at_ = scanned_;
  word_ = 0;
  word_count_ = static_cast<unsigned>(std::min(left / 64, masks_.size()));
  best_kernels().masks(scanned_, word_count_, '\n', masks_.data());
  scanned_ += std::size_t{word_count_} * 64;
  if (left < 64) {
    char last[64] = {};
    std::memcpy(last, scanned_, left);
    best_kernels().masks(last, 1, '\n', masks_.data());
    word_count_ = 1;
    scanned_ = end_;
  }
  return true;
}

lines::lines(const mapped_file& source) noexcept : file_(&source), prepared_(std::min(window_bytes, source.size())) {
  source.prepare(0, prepared_);
  ends_.start(source.view().substr(0, prepared_));
}

lines::~lines() { leave_buffer(); }

void lines::leave_buffer() noexcept {
  if (reader_ == nullptr || begin_ == nullptr) return;
  const std::string_view last_line = ends_.remainder();
  // This makes no system call, because the buffer holds these bytes.
  reader_->skip(static_cast<std::uint64_t>(last_line.data() - begin_));
  begin_ = nullptr;
}

bool lines::read_more(std::string_view& line) {
  if (reader_ != nullptr) {
    leave_buffer();
    const auto across = reader_->line();
    if (!across) return false;
    line = *across;
    begin_ = reader_->buffered_text().data();
    ends_.start(reader_->buffered_text());
    return true;
  }
  while (file_ != nullptr && prepared_ < file_->size()) {
    const std::size_t now = std::min(window_bytes, file_->size() - prepared_);
    file_->prepare(prepared_, now);
    prepared_ += now;
    ends_.extend(now);
    if (ends_.next(line)) return true;
  }
  if (file_ != nullptr) {
    file_->check();
    file_ = nullptr;
  }
  line = ends_.remainder();
  ends_.start(line.substr(line.size()));
  return !line.empty();
}

}  // namespace tarn::io
