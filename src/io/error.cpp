#include <tarn/io/error.hpp>

#include <utility>

namespace tarn::io {
namespace {

std::string message_of(const std::string& path, std::string_view failed, std::uint64_t offset,
                       const std::error_code* reason) {
  std::string line;
  line.reserve(path.size() + failed.size() + 80);
  line.append(path).append(": ").append(failed);
  if (offset != error::nowhere) line.append(" at offset ").append(std::to_string(offset));
  if (reason != nullptr) line.append(": ").append(reason->message());
  return line;
}

}  // namespace

error::error(int number, std::string path, std::string_view failed, std::uint64_t offset, ending last_part)
    : std::system_error(number, std::generic_category()), offset_(offset) {
  std::string line = message_of(path, failed, offset, last_part == ending::with_reason ? &code() : nullptr);
  text_ = std::make_shared<const text>(text{std::move(path), std::move(line)});
}

}  // namespace tarn::io
