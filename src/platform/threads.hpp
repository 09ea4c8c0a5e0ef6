// What the kernel knows of threads; the same over either platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::platform {

inline constexpr std::size_t thread_name_bytes = 16;

/// The name of a thread of this process, as tools show it. False, and an empty name, when there is no such thread.
bool thread_name(std::uint32_t number, char (&name)[thread_name_bytes]) noexcept;

/// Whether barrier_in_all_threads() works here: it needs Linux 4.14, and some sandboxes refuse it.
[[nodiscard]] bool prepare_barriers() noexcept;

/// Each running thread of the process passes a full memory barrier before this returns. A few microseconds for the
/// caller, nothing for the others while nobody calls it.
void barrier_in_all_threads() noexcept;

}  // namespace tarn::platform
