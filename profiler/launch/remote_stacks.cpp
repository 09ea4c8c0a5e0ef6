#include "profiler/launch/remote_stacks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "profiler/unwind/copied_stack.hpp"
#include "profiler/unwind/walk.hpp"

namespace tarn::command {

#if defined(__x86_64__)

remote_stacks::remote_stacks(const remote_process& process) : process_(process) {
  for (const remote_mapping& mapping : process.mappings()) {
    const bool is_vdso = mapping.path == "[vdso]";
    if (!mapping.is_code || (!is_vdso && !mapping.path.starts_with('/'))) continue;
    std::unique_ptr<unwind::elf_file>& file = files_[mapping.path];
    if (file == nullptr) {
      file = std::make_unique<unwind::elf_file>(is_vdso ? unwind::elf_file::vdso()
                                                        : unwind::elf_file::mapped(process.number(), mapping.path));
    }
    const remote_address bias =
        is_vdso ? mapping.start : file->bias_of(mapping.start, mapping.offset).value_or(mapping.start - mapping.offset);
    code_[mapping.start] = {mapping.end, bias, file.get()};
  }
}

unwind::row remote_stacks::row_at(remote_address address) {
  const auto next = code_.upper_bound(address);
  if (next == code_.begin() || std::prev(next)->second.end <= address) return {};
  const code& found_code = std::prev(next)->second;
  return found_code.file->row_at(address - found_code.bias);
}

std::vector<remote_address> remote_stacks::frames_of(const user_regs_struct& registers) {
  constexpr std::size_t max_bytes = 256 * 1024, max_frames = 512, page_bytes = 4096;
  std::vector<std::byte> stack(max_bytes);
  std::size_t size = 0;
  // The stack may end before, at any page.
  while (size < max_bytes) {
    const std::size_t step = std::min<std::size_t>(max_bytes - size, page_bytes - (registers.rsp + size) % page_bytes);
    if (!process_.read(registers.rsp + size, stack.data() + size, step)) break;
    size += step;
  }
  unwind::copied_stack memory(registers.rsp, stack.data(), size);
  std::array<std::uintptr_t, max_frames> frames;
  bool is_sure = true;
  // The thread stands at its next instruction; a caller stands behind its call.
  const unwind::caller innermost = {registers.rip + 1, registers.rsp, registers.rbp};
  unwind::row last_row;
  const std::size_t count = unwind::walk(
      innermost, memory,
      [&](std::uintptr_t address) {
        last_row = row_at(address);
        is_sure = is_sure && last_row.rule != unwind::row::unknown && last_row.rule != unwind::row::signal;
        return last_row;
      },
      frames.data(), frames.size());
  if (!is_sure || last_row.rule != unwind::row::outermost) return {};
  return {frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count)};
}

#endif

}  // namespace tarn::command
