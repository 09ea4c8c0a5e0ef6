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

/// Runs in a forked child, after the handlers above, where the purge helper of the parent was in the middle of a visit.
/// In a process with one thread the helper may wait for a lock that the thread held when a signal interrupted it, and
/// may hold other locks meanwhile. Opens all locks of the engine: the child has one thread, so it needs none of them
/// for what it interrupted.
void open_locks_of_lost_helper() noexcept;

}  // namespace tarn::threads
