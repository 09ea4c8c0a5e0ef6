#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "profiler/base/output_file.hpp"

namespace tarn::command {

// Returns `value` as text with an indentation of one space, `depth` spaces in; its first line is not indented. Bytes
// that are not UTF-8 are replaced, because names in a program's files may be any bytes.
std::string json_text(const nlohmann::json& value, std::size_t depth);

// Writes JSON to standard output, one part at a time, as json_text() would write the whole. Throws a failure if it
// cannot be written.
class json_output {
 public:
  void put(std::string_view text) { output_.put(text); }
  // Begins an object, `depth` spaces in. `put_large` writes its member `large`, whose value is ignored.
  void object(const nlohmann::json& value, std::size_t depth, std::string_view large,
              const std::function<void()>& put_large);
  // Writes an array's element `number` (from 0), `depth` spaces in; and ends the array after `count` of them.
  void begin_element(std::size_t number, std::size_t depth);
  void end_array(std::size_t count, std::size_t depth);
  // The last part needs this call.
  void end() { output_.end(); }

 private:
  output_file output_{"-"};
};

}  // namespace tarn::command
