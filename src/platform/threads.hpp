// Functions on threads that ask the kernel; the fake platform uses the same ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/text.hpp"

namespace tarn::platform {

inline constexpr std::size_t thread_name_bytes = 16;

/// Reads the name of a thread of this process, as tools show it. Returns false and an empty name when there is no
/// such thread.
bool thread_name(std::uint32_t number, char (&name)[thread_name_bytes]) noexcept;

/// Appends "thread NUMBER", with the name in quotes if there is such a thread.
void append_thread(base::text& message, std::uint32_t number) noexcept;

/// Returns true if the process certainly has one thread. It costs one load, and is false if the C library cannot tell.
bool is_only_thread() noexcept;

/// Returns whether dlclose() may unmap this code: it is in a shared library that was linked without -z nodelete.
bool is_unloadable() noexcept;

/// Returns whether barrier_in_all_threads() works here. It needs Linux 4.14, and some sandboxes refuse it.
[[nodiscard]] bool prepare_barriers() noexcept;

/// Makes each running thread of the process pass a full memory barrier, and then returns. It costs the caller a few
/// microseconds, and other threads nothing while it is not called. Returns false if the kernel refuses it, which may
/// begin at any time: a program may restrict itself after prepare_barriers().
bool barrier_in_all_threads() noexcept;

}  // namespace tarn::platform
