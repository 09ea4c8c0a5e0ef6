// Reads the recorder's library before it is loaded into another process.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "profiler/launch/remote_process.hpp"

namespace tarn::command {

// The file of the recorder's library, read before the process is stopped.
class recorder_image {
 public:
  explicit recorder_image(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    content_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    for_each<Elf64_Phdr>(header().e_phoff, header().e_phnum, [&](const Elf64_Phdr& part) {
      if (part.p_type == PT_LOAD) loaded_bytes_ = std::max<std::size_t>(loaded_bytes_, part.p_offset + part.p_filesz);
    });
  }

  // Returns the part that a process maps. The rest of the file is for debuggers.
  std::string_view loaded_part() const { return std::string_view(content_).substr(0, loaded_bytes_); }
  // Returns the address of the symbol that it exports by this name, relative to its load address.
  remote_address offset_of(std::string_view name) const {
    remote_address offset = 0;
    for_each<Elf64_Shdr>(header().e_shoff, header().e_shnum, [&](const Elf64_Shdr& section) {
      if (section.sh_type != SHT_DYNSYM) return;
      const auto names = value_at<Elf64_Shdr>(header().e_shoff + section.sh_link * sizeof(Elf64_Shdr)).sh_offset;
      for_each<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym), [&](const Elf64_Sym& symbol) {
        if (name == content_.c_str() + names + symbol.st_name) offset = symbol.st_value;
      });
    });
    return offset;
  }

 private:
  template <class Value>
  Value value_at(std::size_t offset) const {
    Value value{};
    if (offset + sizeof value <= content_.size()) std::memcpy(&value, content_.data() + offset, sizeof value);
    return value;
  }
  template <class Value, class Take>
  void for_each(std::size_t offset, std::size_t count, Take take) const {
    for (std::size_t number = 0; number < count; ++number) take(value_at<Value>(offset + number * sizeof(Value)));
  }
  Elf64_Ehdr header() const { return value_at<Elf64_Ehdr>(0); }

  std::string content_;
  std::size_t loaded_bytes_ = 0;
};

}  // namespace tarn::command
