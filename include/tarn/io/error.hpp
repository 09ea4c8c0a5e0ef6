// The exception of tarn::io: everything that went wrong with a file, in one line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace tarn::io {

/// The exception of all functions of tarn::io that call the system. what() has the path, what failed, where, and, where
/// it tells more, the system's reason: "orders.log: cannot be written at offset 65536: No space left on device". Copies
/// may be used in other threads, and copying throws nothing.
class error : public std::system_error {
 public:
  /// The offset of an error that has none.
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  /// Says whether what() ends with the system's text for the number.
  enum class ending : bool {
    without_reason,  ///< the line says everything already
    with_reason,     ///< ": No space left on device", for example
  };

  /// Makes an error. `number` is an errno value; `failed` says what could not be done.
  error(int number, std::string path, std::string_view failed, std::uint64_t offset = nowhere,
        ending last_part = ending::with_reason);

  /// Returns the line for a person.
  const char* what() const noexcept override { return text_->line.c_str(); }
  /// Returns the path of the file, or the name of the descriptor.
  const std::string& path() const noexcept { return text_->path; }
  /// Returns the offset in the file or stream, in bytes, or `nowhere` where there is none, as when opening fails.
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  struct text {
    std::string path;
    std::string line;
  };
  std::shared_ptr<const text> text_;  // shared, because copying an exception must not throw
  std::uint64_t offset_;
};

}  // namespace tarn::io
