// Reads the parts of an ELF file that unwinding needs: the segments' addresses and the call frame information.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/unwind/call_frames.hpp"

namespace tarn::unwind {

// Copies the call frame information, so that a file that is replaced or cut while it is used does no harm. A file that
// cannot be read, or is no ELF file of 64 bits, has no parts and no rows.
class elf_file {
 public:
  explicit elf_file(const std::string& path);
  // Reads the vdso, which the kernel maps into every process, from this one.
  static elf_file vdso();
  // Reads a file that a process has mapped by this path. The process may have another root, and may have ended. A file
  // that is gone from there, or never had a name, is read from the memory of the process.
  static elf_file mapped(pid_t process, const std::string& path);

  // Returns the load bias where the file's `offset` is mapped at `start`, as code.
  std::optional<std::uint64_t> bias_of(std::uint64_t start, std::uint64_t offset) const;
  // Returns the range of addresses of all its parts, before the bias is added.
  std::uint64_t low() const { return low_; }
  std::uint64_t high() const { return high_; }

  // Returns the row of an address of the file, before the bias is added. Rows are cached.
  row row_at(std::uint64_t address);

 private:
  struct part {
    std::uint64_t address = 0, offset = 0, file_bytes = 0;
    bool is_code = false;
  };
  elf_file() = default;
  static elf_file in_memory(pid_t process, const std::string& path);
  // `read` copies bytes at an offset of the file, and returns whether it could.
  template <class Read>
  void load(Read read);

  std::vector<part> parts_;
  std::uint64_t low_ = 0, high_ = 0;
  std::vector<unsigned char> frames_;  // .eh_frame_hdr and .eh_frame, with the bytes between and behind them
  std::uint64_t frames_at_ = 0;        // address of the first byte
  std::size_t header_ = 0;             // where in `frames_` the .eh_frame_hdr lies
  std::unordered_map<std::uint64_t, row> rows_;
};

}  // namespace tarn::unwind
