// Makes fork safe: the child has one thread and a copy of all heaps.
#pragma once

#include "platform/mutex.hpp"

namespace tarn::threads {

/// Installs the handlers; called once, after set-up.
void install_fork_handlers() noexcept;

/// Has a lock of a level above this one held around each fork, too: one that is taken where no other lock of the engine
/// is held. Must be called before the process has threads, or under no lock by one thread at a time; at most
/// `max_added_locks` times, and again for the same lock without effect.
inline constexpr int max_added_locks = 4;
void hold_around_fork(platform::mutex& lock) noexcept;

}  // namespace tarn::threads
