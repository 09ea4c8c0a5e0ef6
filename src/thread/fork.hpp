// fork: the child has one thread and a copy of all heaps.
#pragma once

namespace tarn::threads {

/// Once, after set-up.
void install_fork_handlers() noexcept;

}  // namespace tarn::threads
