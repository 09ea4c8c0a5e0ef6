#include "profiler/findings/heap/own_malloc.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "profiler/format/build_id.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

bool has_malloc(const format::module_facts& module) { return (module.own_functions & format::own_malloc) != 0; }

bool names_heaps(Elf* elf, Elf_Scn* section) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB || header.sh_entsize == 0) return false;
  Elf_Data* const data = elf_getdata(section, nullptr);
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int index = 0; data != nullptr && index < count; ++index) {
    GElf_Sym symbol;
    if (gelf_getsym(data, index, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && std::strcmp(name, "tarn_watch_root") == 0) return true;
  }
  return false;
}

// Returns false for a file without symbols, too.
bool contains_heaps(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  elf_version(EV_CURRENT);
  bool is_found = false;
  {
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(file, ELF_C_READ_MMAP, nullptr), &elf_end);
    for (Elf_Scn* section = nullptr; !is_found && (section = elf_nextscn(elf.get(), section)) != nullptr;)
      is_found = names_heaps(elf.get(), section);
  }
  ::close(file);
  return is_found;
}

}  // namespace

const format::module_facts* own_malloc_in(const format::recording& recording) {
  const format::module_facts* match = nullptr;
  for (const format::module_facts& module : recording.modules) {
    if ((module.own_functions & (format::own_malloc | format::own_new)) == 0 || module.image + 1 != recording.images)
      continue;
    if (match == nullptr || has_malloc(module)) match = &module;
  }
  return match;
}

bool records_heap(const format::recording& recording) {
  const format::module_facts* const module = own_malloc_in(recording);
  return std::find(recording.program.sources.begin(), recording.program.sources.end(), "heap") !=
             recording.program.sources.end() &&
         (module == nullptr || !has_malloc(*module));
}

std::string own_malloc_text(const format::module_facts& module) {
  if (has_malloc(module)) return fmt::format("{} has a malloc of its own: its heap was not recorded", module.path);
  return fmt::format(
      "{} has an operator new of its own: of what that serves, only what it takes from malloc was recorded",
      module.path);
}

std::string unrecorded_heaps_text(const format::recording& recording) {
  if (!records_heap(recording)) return {};
  for (const format::module_facts& module : recording.modules) {
    const bool is_malloc = module.path.find("/libtarn-malloc.so") != std::string::npos;
    if (module.image + 1 != recording.images || !module.path.starts_with('/') || is_malloc ||
        format::build_id_of(module.path) != module.build_id || !contains_heaps(format::file_of(module.path)))
      continue;
    return fmt::format(
        "{} allocates from heaps of libtarn.a, too, which are not recorded: see them in tarn top, or record a build "
        "that "
        "uses malloc alone (in Rust without the global allocator)",
        analyse::file_name(module.path));
  }
  return {};
}

}  // namespace tarn::command
