// Handles a program that restricts its own system calls, by seccomp(2) or prctl(2).
#pragma once

namespace tarn::preload {

// Tells which of the recorder's calls are restricted: none, its own, or also those that dispatching the program's
// calls takes. `strict` allows only read, write and the end; the kernel then takes the processor's clock away, too.
enum class restriction { unrestricted, own_calls, all_calls, strict };

// Returns how a call restricts all further ones. `arguments` are its arguments.
restriction restriction_by(long number, const long* arguments) noexcept;

// Call these before such a call, and after one that failed. A restricted recorder makes no system call of its own. It
// records the program's system calls only if the filter allows the calls that dispatching needs. In strict mode its
// clock stands still.
void calls_are_restricted(restriction restriction) noexcept;
void calls_are_not_restricted() noexcept;

}  // namespace tarn::preload
