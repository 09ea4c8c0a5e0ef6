#include "profiler/preload/base/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

#include "profiler/format/elf_notes.hpp"
#include "profiler/preload/base/readable.hpp"

namespace tarn::preload {
namespace {

bool is_readable(std::uintptr_t start, std::size_t bytes) noexcept {
  constexpr std::uintptr_t page = 4096;
  for (std::uintptr_t address = start & ~(page - 1); address < start + bytes; address += page) {
    if (!is_word_readable(address)) return false;
  }
  return true;
}

}  // namespace

std::size_t copy_build_id(std::uintptr_t start, std::uintptr_t end, std::uintptr_t bias, unsigned char* copy,
                          std::size_t limit) noexcept {
  const std::size_t unknown = limit + 1;
  const auto contains = [&](std::uintptr_t address, std::size_t bytes) {
    return address >= start && address <= end && bytes <= end - address && is_readable(address, bytes);
  };
  if (!contains(start, sizeof(ElfW(Ehdr)))) return unknown;
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(start);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return unknown;  // it does not begin with the file's begin
  const std::uintptr_t table = start + header->e_phoff;
  if (header->e_phentsize != sizeof(ElfW(Phdr)) || !contains(table, header->e_phnum * sizeof(ElfW(Phdr))))
    return unknown;
  const auto* const parts = reinterpret_cast<const ElfW(Phdr)*>(table);
  for (std::size_t number = 0; number < header->e_phnum; ++number) {
    const ElfW(Phdr)& part = parts[number];
    if (part.p_type != PT_NOTE) continue;
    if (!contains(bias + part.p_vaddr, part.p_filesz)) return unknown;
    const auto* const notes = reinterpret_cast<const unsigned char*>(bias + part.p_vaddr);
    const format::note_content id = format::build_id_among(notes, part.p_filesz, part.p_align);
    if (id.start == nullptr) continue;
    if (id.bytes > limit) return unknown;
    std::memcpy(copy, id.start, id.bytes);
    return id.bytes;
  }
  return 0;
}

}  // namespace tarn::preload
