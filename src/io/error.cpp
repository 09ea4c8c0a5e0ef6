#include <tarn/io/error.hpp>

#include <utility>

namespace tarn::io {
namespace {

std::string message_of(const std::string& path, std::string_view failed, std::uint64_t offset) {
  std::string line;
  line.reserve(path.size() + failed.size() + 40);
  line.append(path).append(": ").append(failed);
  if (offset != error::nowhere) {
    line.append(" at offset ").append(std::to_string(offset));
  }
  return line;
}

}  // namespace

error::error(int number, std::string path, std::string_view failed, std::uint64_t offset)
    : std::system_error(number, std::generic_category(), message_of(path, failed, offset)),
      path_(std::make_shared<const std::string>(std::move(path))),
      offset_(offset) {}

}  // namespace tarn::io
