// Records a call stack as return addresses, and prints it.
//
// Works inside malloc: it allocates nothing and takes no lock (the unwinder of GCC's runtime library finds its tables
// by _dl_find_object). In a library it is linked statically, so a C program does not get another library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::base {

struct call_stack {
  static constexpr std::size_t max_frames = 16;

  const void* frames[max_frames];  ///< return addresses, the innermost first
  std::uint32_t count = 0;

  /// Records the callers of this function, from the frame that returns to `first` on. If no frame does, and in
  /// a static program, it records `first` alone. Costs about a microsecond.
  void note(const void* first) noexcept;

  /// Writes one line for each frame: "tarn:     /srv/server+0x11c9".
  void write_to(int descriptor) const noexcept;
};

}  // namespace tarn::base
