// Copies the build id of a loaded module from its memory: the file may have been replaced since it was loaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::preload {

// Copies it to `copy`, which has room for `limit` bytes. `start` and `end` bound the module's memory. Returns its
// length, 0 where the module has none, or more than `limit` where it is not known. The pages are read only where the
// kernel finds them readable, as a file that was cut has none.
std::size_t copy_build_id(std::uintptr_t start, std::uintptr_t end, std::uintptr_t bias, unsigned char* copy,
                          std::size_t limit) noexcept;

}  // namespace tarn::preload
