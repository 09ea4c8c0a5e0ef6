#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tarn::command {

// What `of` is as text with an indentation of one space, to stand `depth` spaces in: its first line is not indented.
// Bytes that are no UTF-8 are replaced: names in a program's files may be any bytes.
std::string json_text(const nlohmann::json& of, std::size_t depth);

// JSON on standard output, a part at a time, as json_text() of the whole would be. Throws a failure where it cannot be
// written.
class json_output {
 public:
  void put(std::string_view text);
  // An object `depth` spaces in. Of its member `large` the value is not looked at: `put_large` writes it.
  void object(const nlohmann::json& of, std::size_t depth, std::string_view large,
              const std::function<void()>& put_large);
  // An array's element, `depth` spaces in, the array's `number`th from 0; and its end, after `count` of them.
  void begin_element(std::size_t number, std::size_t depth);
  void end_array(std::size_t count, std::size_t depth);
  // What was put is written. Nothing else does it for the last part.
  void flush();

 private:
  std::string waiting_;
};

}  // namespace tarn::command
