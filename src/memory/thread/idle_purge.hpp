// Gives free memory back to the system while the program makes no calls: a program that frees much and then waits
// makes no further call in which that could be done.
//
// A helper (platform/helper.hpp) checks all spaces every quarter of `purge_delay_ms`, and ends as soon as none of
// them has memory that is due later. The thread that frees enough memory to justify a helper starts it. No helper
// starts if the option `background_purge` is 0.
#pragma once

namespace tarn::threads {

/// Sets the helper up; called once at process start, after the engine's fork handlers are installed.
void install_idle_purge() noexcept;

/// Ends the helper, and waits until it has left the code, which is about to be unmapped. No other helper starts
/// afterwards.
void end_idle_purge() noexcept;

}  // namespace tarn::threads
