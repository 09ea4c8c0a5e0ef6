// Notes the modules of recorded stacks, and tells those apart that the program loaded at the same addresses, one after
// the other (profiler/format/generations.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tarn::preload {

// Counts the noted modules that were found to be gone. What was remembered of stacks before may be of their code.
extern constinit std::atomic<std::uint32_t> module_changes;  // NOLINT(bugprone-dynamic-static-initializers): constinit

// Forgets all modules. Call it before everything else, and again in a child of fork.
void begin_modules_anew() noexcept;

// Notes the module that contains `function`, with `functions` (format::own_malloc, own_new) of its own.
void note_module_of(const void* function, std::uint32_t functions) noexcept;

// Notes the modules of the return addresses. Returns true when another one has taken the place of a noted one.
bool note_modules(const std::uintptr_t* frames, std::size_t count) noexcept;

// Changes return addresses in the process to those that are recorded. It does nothing until a module is gone.
void set_generations(std::uintptr_t* frames, std::size_t count) noexcept;

// Looks which of the noted modules are gone. Call it when the program may have unloaded some; no lock of the loader is
// needed.
void look_for_gone_modules() noexcept;

// Takes all noted modules for gone until each is met again. Call it where the program was not watched for a time.
void doubt_modules() noexcept;

}  // namespace tarn::preload
