// The tables of a loaded module that tell which functions it defines and which it calls.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace tarn::preload {

// All addresses are absolute.
struct loaded_module {
  std::uintptr_t base = 0, low = 0, high = 0;    // low, high: of all its segments
  std::uintptr_t fixed_low = 0, fixed_high = 0;  // the part that is read-only after relocation
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* hash = nullptr;        // DT_GNU_HASH
  const std::uint32_t* plain_hash = nullptr;  // DT_HASH
  const ElfW(Half) * versions = nullptr;      // of the symbols
  const ElfW(Rela) * tables[2] = {};
  std::size_t counts[2] = {};
  std::size_t relative_count = 0;  // how many records of the first table, at its start, name no symbol
  bool is_program = false;
};

loaded_module module_of(const dl_phdr_info& info) noexcept;

// Computes the hash of DT_GNU_HASH.
std::uint32_t hash_of(const char* name) noexcept;

// Returns the number of the symbol by which the module exports a function in its newest version; 0 if it does not.
std::uint32_t exported_symbol(const loaded_module& object, const char* name) noexcept;

// Returns false if the address is that of an entry by which its module calls another module's function: the loader
// takes it for the function's if a program at fixed addresses refers to it.
bool is_definition(const void* function) noexcept;

// Returns the function that the first module in the loader's order exports; null if none does. This library and the
// loader do not count.
void* first_definition(const char* name) noexcept;

// Calls `take` for each loaded module except this one and the loader, which has no table for other modules.
void visit_modules(void (*take)(const loaded_module& object, const dl_phdr_info& info, void* data) noexcept,
                   void* data) noexcept;
template <class Take>
void for_each_module(Take take) noexcept {
  visit_modules([](const loaded_module& object, const dl_phdr_info& info,
                   void* data) noexcept { (*static_cast<Take*>(data))(object, info); },
                &take);
}

}  // namespace tarn::preload
