#include "profiler/preload/base/loaded_module.hpp"

#include <dlfcn.h>

#include <cstring>

namespace tarn::preload {
namespace {

using address = std::uintptr_t;

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];

// A symbol whose version has this bit is only for programs that were linked when the version was the newest.
constexpr ElfW(Half) old_version = 0x8000;

bool is_export(const loaded_module& object, std::uint32_t number, const char* name) noexcept {
  const ElfW(Sym)& symbol = object.symbols[number];
  return symbol.st_shndx != SHN_UNDEF && std::strcmp(object.strings + symbol.st_name, name) == 0 &&
         (object.versions == nullptr || (object.versions[number] & old_version) == 0);
}

std::uint32_t plain_hash_of(const char* name) noexcept {  // that of DT_HASH
  std::uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    hash = (hash ^ (hash >> 28 << 4)) & 0x0fffffff;
  }
  return hash;
}

std::uint32_t symbol_by_plain_hash(const loaded_module& object, const char* name) noexcept {
  const std::uint32_t buckets = object.plain_hash[0];
  if (buckets == 0) return 0;
  const std::uint32_t* const heads = object.plain_hash + 2;
  std::uint32_t index = heads[plain_hash_of(name) % buckets];
  while (index != 0 && !is_export(object, index, name)) index = heads[buckets + index];
  return index;
}

}  // namespace

loaded_module module_of(const dl_phdr_info& info) noexcept {
  constexpr address page = 4096;
  loaded_module object;
  object.base = info.dlpi_addr;
  object.low = UINTPTR_MAX;
  const ElfW(Dyn)* dynamic = nullptr;
  for (const ElfW(Phdr)* part = info.dlpi_phdr; part != info.dlpi_phdr + info.dlpi_phnum; ++part) {
    const address start = object.base + part->p_vaddr, end = start + part->p_memsz;
    if (part->p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(start);
    if (part->p_type == PT_LOAD && start < object.low) object.low = start;
    if (part->p_type == PT_LOAD && end > object.high) object.high = end;
    if (part->p_type == PT_GNU_RELRO) object.fixed_low = start & ~(page - 1), object.fixed_high = end & ~(page - 1);
  }
  // The loader has replaced most of these offsets by addresses.
  const auto absolute = [&](address value) { return value < object.low ? object.base + value : value; };
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    const address value = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB: object.symbols = reinterpret_cast<const ElfW(Sym)*>(absolute(value)); break;
      case DT_STRTAB: object.strings = reinterpret_cast<const char*>(absolute(value)); break;
      case DT_GNU_HASH: object.hash = reinterpret_cast<const std::uint32_t*>(absolute(value)); break;
      case DT_HASH: object.plain_hash = reinterpret_cast<const std::uint32_t*>(absolute(value)); break;
      case DT_VERSYM: object.versions = reinterpret_cast<const ElfW(Half)*>(absolute(value)); break;
      case DT_RELA: object.tables[0] = reinterpret_cast<const ElfW(Rela)*>(absolute(value)); break;
      case DT_JMPREL: object.tables[1] = reinterpret_cast<const ElfW(Rela)*>(absolute(value)); break;
      case DT_RELASZ: object.counts[0] = value / sizeof(ElfW(Rela)); break;
      case DT_PLTRELSZ: object.counts[1] = value / sizeof(ElfW(Rela)); break;
      case DT_RELACOUNT: object.relative_count = value; break;
      default: break;
    }
  }
  return object;
}

std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t exported_symbol(const loaded_module& object, const char* name) noexcept {
  if (object.symbols == nullptr || object.strings == nullptr) return 0;
  if (object.hash == nullptr) return object.plain_hash == nullptr ? 0 : symbol_by_plain_hash(object, name);
  const std::uint32_t buckets = object.hash[0], first = object.hash[1], filter_words = object.hash[2];
  const std::uint32_t* const heads = object.hash + 4 + std::size_t{filter_words} * 2;
  const std::uint32_t* const chains = heads + buckets;
  if (buckets == 0) return 0;
  const std::uint32_t hash = hash_of(name);
  std::uint32_t index = heads[hash % buckets];
  if (index < first) return 0;
  for (;; ++index) {
    const std::uint32_t chained = chains[index - first];
    if ((chained | 1) == (hash | 1) && is_export(object, index, name)) return index;
    if ((chained & 1) != 0) return 0;
  }
}

bool is_definition(const void* function) noexcept {
  dl_find_object object;
  const bool is_found = ::_dl_find_object(const_cast<void*>(function), &object) == 0;
  if (is_found && object.dlfo_link_map->l_name[0] != '\0') return true;  // dladdr1 reads all symbols of the module
  Dl_info facts;
  const ElfW(Sym)* symbol = nullptr;
  return ::dladdr1(function, &facts, const_cast<void**>(reinterpret_cast<const void**>(&symbol)), RTLD_DL_SYMENT) ==
             0 ||
         symbol == nullptr || symbol->st_shndx != SHN_UNDEF;
}

void* first_definition(const char* name) noexcept {
  void* function = nullptr;
  for_each_module([&](const loaded_module& object, const dl_phdr_info&) {
    const std::uint32_t number = function == nullptr ? exported_symbol(object, name) : 0;
    if (number != 0 && ELF64_ST_TYPE(object.symbols[number].st_info) == STT_FUNC)
      function = reinterpret_cast<void*>(object.base + object.symbols[number].st_value);
  });
  return function;
}

void visit_modules(void (*take)(const loaded_module& object, const dl_phdr_info& info, void* data) noexcept,
                   void* data) noexcept {
  struct walk_state {
    decltype(take) visit;
    void* data;
    bool is_first;
  } state{take, data, true};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* pointer) {
        auto& walk = *static_cast<walk_state*>(pointer);
        loaded_module object = module_of(*info);
        object.is_program = walk.is_first;
        walk.is_first = false;
        const char* const slash = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
        const bool is_loader = slash != nullptr && std::strncmp(slash, "/ld-", 4) == 0;
        const auto image_start = reinterpret_cast<address>(__ehdr_start);
        const bool is_own = image_start >= object.low && image_start < object.high;
        if (!is_loader && !is_own && object.symbols != nullptr && object.strings != nullptr)
          walk.visit(object, *info, walk.data);
        return 0;
      },
      &state);
}

}  // namespace tarn::preload
