#include "profiler/preload/base/seccomp_filter.hpp"

#include <algorithm>

#include "profiler/preload/base/readable.hpp"

namespace tarn::preload {
namespace {

bool is_readable_array(std::uintptr_t start, std::size_t bytes) noexcept {
  constexpr std::uintptr_t word = 8, page = 4096;
  if (start == 0) return false;
  for (std::uintptr_t index = start & ~(word - 1); index < start + bytes; index = (index / page + 1) * page) {
    if (!is_word_readable(index)) return false;
  }
  return is_word_readable((start + bytes - 1) & ~(word - 1));
}

}  // namespace

bool filter_allows(long address, std::span<const format::tested_call> calls) noexcept {
  if (!is_readable_array(static_cast<std::uintptr_t>(address), sizeof(sock_fprog))) return false;
  const sock_fprog program = *reinterpret_cast<const sock_fprog*>(address);
  if (!is_readable_array(reinterpret_cast<std::uintptr_t>(program.filter), program.len * sizeof(sock_filter)))
    return false;
  return std::all_of(calls.begin(), calls.end(), [&](const format::tested_call& call) {
    return format::allows(program.filter, program.len, call);
  });
}

}  // namespace tarn::preload
