// Reads names of functions that the program compiled at run time, from the files in which such compilers list them
// for perf: /tmp/perf-PID.map and jit-PID.dump.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tarn::analyse {

class jit_symbols {
 public:
  jit_symbols() = default;
  // Reads the files of a process that started at that second (of the epoch), if they belong to this user or root and
  // are not older. Ignores files that it cannot read.
  jit_symbols(std::uint64_t process, std::uint64_t started);

  // These read the text of a perf map, and the bytes of a jitdump; later entries replace earlier ones. read_dump
  // returns false if a jitdump has another byte order or kind.
  void read_map(std::string_view text);
  bool read_dump(std::string_view bytes);

  // Returns null if there is no function at the address.
  const std::string* name_at(std::uint64_t address) const;

 private:
  struct function {
    std::uint64_t end;
    std::string name;
  };
  void add(std::uint64_t start, std::uint64_t bytes, std::string_view name);

  std::map<std::uint64_t, function> functions_;  // by start address; no two functions overlap
};

// The module name of a place with such a function.
inline constexpr std::string_view jit_module = "[made at run time]";

}  // namespace tarn::analyse
