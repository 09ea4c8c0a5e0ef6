// Makes fork safe: the child has one thread and a copy of all heaps.
#pragma once

#include "platform/mutex.hpp"

namespace tarn::threads {

/// Installs the handlers; called once, after set-up.
void install_fork_handlers() noexcept;

/// Adds a lock of a higher level to those that are held around each fork. It must be a lock that is taken only while no
/// other lock of the engine is held. Call this before the process has threads, or under no lock and by one thread at a
/// time; for at most `max_added_locks` locks. A second call for the same lock has no effect.
inline constexpr int max_added_locks = 4;
void hold_around_fork(platform::mutex& lock) noexcept;

/// Runs in a forked child, after the handlers above, where the purge helper of the parent was in the middle of a visit.
/// In a process with one thread the helper may wait for a lock that the thread held when a signal interrupted it, and
/// may hold other locks meanwhile. Opens all locks of the engine: the child has one thread, which needs none of them to
/// finish the interrupted call.
void open_locks_of_lost_helper() noexcept;

}  // namespace tarn::threads
