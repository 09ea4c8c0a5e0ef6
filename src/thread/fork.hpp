// Makes fork safe: the child has one thread and a copy of all heaps.
#pragma once

namespace tarn::threads {

/// Installs the handlers; called once, after set-up.
void install_fork_handlers() noexcept;

}  // namespace tarn::threads
