#include "profiler/report/html/file.hpp"

#define ZLIB_CONST  // zlib's input pointers become const
#include <zlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/output_file.hpp"
#include "profiler/format/reader.hpp"

// Defined by report_template.S; empty if the build had no npm.
extern "C" const char tarn_page_begin[], tarn_page_end[];

namespace tarn::command {
namespace {

constexpr std::string_view mark = "@RECORDING@";  // replaced by the text

}  // namespace

void keep_recording(const std::string& path) {
  if (format::is_recording(path))
    fail(exit_code::usage, "{} is a recording, so it is kept; name another file for what is written", path);
}

std::string_view report_template() {
  return {tarn_page_begin, static_cast<std::size_t>(tarn_page_end - tarn_page_begin)};
}

void require_template(std::string_view page) {
  if (page.find(mark) != std::string_view::npos) return;
  fail(exit_code::missing,
       "this build cannot write HTML reports; install the Debian packages nodejs and npm, and build again");
}

struct html_file::packer {
  z_stream stream{};
};

html_file::html_file(const std::string& path, std::string_view page)
    : path_(path), page_(page), file_(nullptr), packer_(std::make_unique<packer>()) {
  require_template(page);
  keep_recording(path);
  if (::deflateInit(&packer_->stream, 6) != Z_OK) fail(exit_code::no_memory, "no memory to compress the HTML report");
  file_ = std::fopen(path.c_str(), "wbe");
  if (file_ == nullptr) {
    const int error = errno;
    ::deflateEnd(&packer_->stream);
    fail(exit_code::io_error, "{}: {}{}", path, system_error_text(error), missing_folder_text(path, error));
  }
  try {
    write(page_.substr(0, page_.find(mark)));
  } catch (const failure&) {
    discard();  // the destructor does not run
    throw;
  }
}

html_file::~html_file() { discard(); }

void html_file::discard() {
  ::deflateEnd(&packer_->stream);
  if (file_ == nullptr) return;
  std::fclose(file_);
  remove();
}

// Leaves a file alone that existed before and is no regular file, such as /dev/stdout.
void html_file::remove() const {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
}

void html_file::add(std::string_view text) { pack(text, false); }

void html_file::end() {
  pack({}, true);
  write(page_.substr(page_.find(mark) + mark.size()));
  std::FILE* const file = std::exchange(file_, nullptr);
  if (std::fclose(file) == 0) return;
  const int error = errno;
  remove();
  fail(exit_code::io_error, "{}: {}", path_, system_error_text(error));
}

void html_file::pack(std::string_view text, bool is_last) {
  std::vector<char> packed(1 << 15);
  z_stream& stream = packer_->stream;
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  do {
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    ::deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    encode({packed.data(), packed.size() - stream.avail_out}, is_last && stream.avail_out != 0);
  } while (stream.avail_out == 0);
}

void html_file::encode(std::string_view bytes, bool is_last) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 8);
  const auto put = [&](std::string_view three) {
    std::uint32_t bits = 0;
    for (std::size_t index = 0; index < 3; ++index) {
      bits = bits << 8 | (index < three.size() ? static_cast<unsigned char>(three[index]) : 0U);
    }
    for (std::size_t index = 0; index < 4; ++index)
      text += index <= three.size() ? digits[bits >> (18 - 6 * index) & 63] : '=';
  };
  unencoded_ += bytes;
  const std::string_view input = unencoded_;
  std::size_t index = 0;
  for (; index + 3 <= input.size(); index += 3) put(input.substr(index, 3));
  if (is_last && index < input.size()) put(input.substr(std::exchange(index, input.size())));
  unencoded_.erase(0, index);
  write(text);
}

void html_file::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) == text.size()) return;
  fail(exit_code::io_error, "{}: {}", path_, system_error_text(errno));
}

}  // namespace tarn::command
