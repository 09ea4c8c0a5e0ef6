// Hooks the functions of a program that has run without a recorder, and gives them back.
//
// `tarn record --pid` stops one thread where it holds no lock of the C library, lets it load this library, and calls
// tarn_recorder_attach() in it. Each loaded module has a table of the addresses of the functions that it calls. The
// addresses of the functions behind our hooks are replaced there by those of attached_functions.S; detaching writes
// them back: it looks for ours again, so it remembers nothing about modules, which may have been unloaded. A thread
// that is in a hook then returns through it: the library and its counters stay mapped.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/own_heap.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/sampled_blocks.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))
#define TARN_HIDDEN __attribute__((visibility("hidden")))

using namespace tarn::preload;

namespace {

struct attached_function {
  void* hook;
  void* next;
  void* stub;  // the entry point in attached_functions.S
  const char* name;
};

}  // namespace

extern "C" {
extern TARN_HIDDEN attached_function tarn_attached_begin[], tarn_attached_loader[], tarn_attached_end[];
extern TARN_HIDDEN const char __ehdr_start[];
// 0 while nothing is recorded; otherwise the number of the attachment. Each thread keeps the last number that it has
// seen, so that at its first hook of an attachment it forgets the locks that it held in the previous one.
TARN_HIDDEN [[gnu::used]] constinit std::uint32_t tarn_attached_state = 0;
TARN_HIDDEN [[gnu::used]] constinit thread_local std::uint32_t tarn_seen_state = 0;
}

namespace {

using address = std::uintptr_t;

constexpr std::size_t name_slots = 256;  // a power of two, at least twice the names
constinit attached_function* by_name[name_slots] = {};
constinit std::size_t definers[name_slots] = {};
constinit std::uint32_t attachments = 0;
constinit unsigned long long modules_seen = 0;
constinit lock patching;

std::uint32_t hash_of(const char* name) noexcept {  // that of DT_GNU_HASH
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::size_t slot_of(const char* name) noexcept {
  std::size_t slot = hash_of(name) % name_slots;
  while (by_name[slot] != nullptr && std::strcmp(by_name[slot]->name, name) != 0) slot = (slot + 1) % name_slots;
  return slot;
}

// The parts of a loaded module that matter here. All addresses are absolute.
struct module {
  address base = 0, low = 0, high = 0;    // low, high: of all its segments
  address fixed_low = 0, fixed_high = 0;  // the part that is read-only after relocation
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* hash = nullptr;        // DT_GNU_HASH
  const std::uint32_t* plain_hash = nullptr;  // DT_HASH
  const ElfW(Rela) * tables[2] = {};
  std::size_t counts[2] = {};
  bool is_program = false;
};

module module_of(const dl_phdr_info& info) noexcept {
  constexpr address page = 4096;
  module object;
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
      case DT_RELA: object.tables[0] = reinterpret_cast<const ElfW(Rela)*>(absolute(value)); break;
      case DT_JMPREL: object.tables[1] = reinterpret_cast<const ElfW(Rela)*>(absolute(value)); break;
      case DT_RELASZ: object.counts[0] = value / sizeof(ElfW(Rela)); break;
      case DT_PLTRELSZ: object.counts[1] = value / sizeof(ElfW(Rela)); break;
      default: break;
    }
  }
  return object;
}

// Returns the number of the symbol by which the module exports a function; 0 if it does not.
std::uint32_t exported_symbol(const module& object, const char* name) noexcept {
  if (object.hash == nullptr || object.symbols == nullptr || object.strings == nullptr) return 0;
  const std::uint32_t buckets = object.hash[0], first = object.hash[1], filter_words = object.hash[2];
  const std::uint32_t* const heads = object.hash + 4 + std::size_t{filter_words} * 2;
  const std::uint32_t* const chains = heads + buckets;
  if (buckets == 0) return 0;
  const std::uint32_t hash = hash_of(name);
  std::uint32_t index = heads[hash % buckets];
  if (index < first) return 0;
  for (;; ++index) {
    const std::uint32_t chained = chains[index - first];
    if ((chained | 1) == (hash | 1) && object.symbols[index].st_shndx != SHN_UNDEF &&
        std::strcmp(object.strings + object.symbols[index].st_name, name) == 0)
      return index;
    if ((chained & 1) != 0) return 0;
  }
}

// The symbols of a module whose names are in the table. A relocation is then recognised by its symbol's number, which
// is faster than by name: large programs have a hundred times as many relocations as symbols.
class known_symbols {
 public:
  explicit known_symbols(const module& object) noexcept {
    // In a module with DT_GNU_HASH, undefined symbols come first; the others are found by their names.
    const std::uint32_t end = object.hash != nullptr         ? object.hash[1]
                              : object.plain_hash != nullptr ? object.plain_hash[1]
                                                             : 0;
    for (std::uint32_t number = 1; number < end; ++number) {
      const std::size_t slot = slot_of(object.strings + object.symbols[number].st_name);
      if (by_name[slot] != nullptr) add(number, slot);
    }
    for (std::size_t slot = 0; slot < name_slots; ++slot) {
      if (by_name[slot] == nullptr) continue;
      if (const std::uint32_t number = exported_symbol(object, by_name[slot]->name); number != 0) add(number, slot);
    }
  }
  bool is_empty() const noexcept { return count_ == 0; }
  // Returns the slot of by_name, or name_slots.
  std::size_t slot_of_symbol(std::uint32_t number) const noexcept {
    std::size_t index = number % capacity;
    while (numbers_[index] != 0 && numbers_[index] != number) index = (index + 1) % capacity;
    return numbers_[index] == 0 ? name_slots : slots_[index];
  }

 private:
  static constexpr std::size_t capacity = 1024;
  void add(std::uint32_t number, std::size_t slot) noexcept {
    std::size_t index = number % capacity;
    while (numbers_[index] != 0 && numbers_[index] != number) index = (index + 1) % capacity;
    if (numbers_[index] == number || count_ == capacity / 2) return;
    numbers_[index] = number;
    slots_[index] = static_cast<std::uint16_t>(slot);
    ++count_;
  }
  std::uint32_t numbers_[capacity] = {};  // 0: unused
  std::uint16_t slots_[capacity] = {};
  std::size_t count_ = 0;
};

// Calls `take` for each loaded module except this one and the loader, which has no table for other modules.
template <class Take>
void for_each_module(Take take) noexcept {
  struct walk_state {
    Take& take;
    bool is_first;
  } state{take, true};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& walk = *static_cast<walk_state*>(data);
        module object = module_of(*info);
        object.is_program = walk.is_first;
        walk.is_first = false;
        const char* const slash = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
        const bool is_loader = slash != nullptr && std::strncmp(slash, "/ld-", 4) == 0;
        const auto image_start = reinterpret_cast<address>(__ehdr_start);
        const bool is_own = image_start >= object.low && image_start < object.high;
        if (!is_loader && !is_own && object.symbols != nullptr && object.strings != nullptr) walk.take(object, *info);
        return 0;
      },
      &state);
}

// Calls `change` for each entry in the tables of the module that has the address of a hooked function, or may get it.
template <class Change>
void for_each_address(const module& object, const known_symbols& symbols, Change change) noexcept {
  for (std::size_t table = 0; table < 2; ++table) {
    for (std::size_t index = 0; object.tables[table] != nullptr && index < object.counts[table]; ++index) {
      const ElfW(Rela)& record = object.tables[table][index];
      const auto type = ELF64_R_TYPE(record.r_info);
      const std::size_t number = ELF64_R_SYM(record.r_info);
      if (number == 0 || record.r_addend != 0) continue;
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
      const std::size_t slot = symbols.slot_of_symbol(static_cast<std::uint32_t>(number));
      if (slot == name_slots) continue;
      const ElfW(Sym)& symbol = object.symbols[number];
      // A function that was not called yet has the address of the module's own code, which asks the loader.
      auto& pointer = *reinterpret_cast<std::atomic<address>*>(object.base + record.r_offset);
      const address value = pointer.load(std::memory_order_relaxed);
      const bool is_unresolved = type == R_X86_64_JUMP_SLOT && symbol.st_shndx == SHN_UNDEF && value >= object.low &&
                                 value < object.high && (object.is_program || definers[slot] == 1);
      change(*by_name[slot], pointer, value, is_unresolved);
    }
  }
}

// Makes the part of a module that is read-only after relocation writable while it lives.
class writable_addresses {
 public:
  explicit writable_addresses(const module& object) noexcept : object_(object) { protect(PROT_READ | PROT_WRITE); }
  writable_addresses(const writable_addresses&) = delete;
  writable_addresses& operator=(const writable_addresses&) = delete;
  ~writable_addresses() { protect(PROT_READ); }

 private:
  void protect(int rights) const noexcept {
    if (object_.fixed_low < object_.fixed_high)
      raw_call(SYS_mprotect, object_.fixed_low, object_.fixed_high - object_.fixed_low, rights);
  }
  const module& object_;
};

template <class Choose>
long change_addresses(Choose choose) noexcept {
  long changed = 0;
  for_each_module([&](const module& object, const dl_phdr_info& info) {
    modules_seen = info.dlpi_adds;
    const known_symbols symbols(object);
    if (symbols.is_empty()) return;
    bool is_needed = false;
    for_each_address(object, symbols, [&](const attached_function& function, auto&, address value, bool is_unresolved) {
      is_needed = is_needed || choose(function, value, is_unresolved) != value;
    });
    if (!is_needed) return;
    const writable_addresses writable(object);
    for_each_address(
        object, symbols, [&](const attached_function& function, auto& pointer, address value, bool is_unresolved) {
          const address target = choose(function, value, is_unresolved);
          if (target == value) return;
          pointer.store(target,
                        std::memory_order_release);  // release: a thread that jumps there finds the table filled
          ++changed;
        });
  });
  return changed;
}

long hook_addresses() noexcept {
  return change_addresses([](const attached_function& function, address value, bool is_unresolved) {
    const bool is_next = function.next != nullptr && value == reinterpret_cast<address>(function.next);
    return is_next || (is_unresolved && function.next != nullptr) ? reinterpret_cast<address>(function.stub) : value;
  });
}

long restore_addresses() noexcept {
  return change_addresses([](const attached_function& function, address value, bool) {
    return value == reinterpret_cast<address>(function.stub) ? reinterpret_cast<address>(function.next) : value;
  });
}

// Returns null for a function that only the program's file refers to: its address is then an entry of that file's own
// table.
void* function_behind(const char* name) noexcept {
  void* const function = next_function(name);
  if (function == nullptr) return nullptr;
  Dl_info facts;
  const ElfW(Sym)* symbol = nullptr;
  const bool is_known =
      ::dladdr1(function, &facts, const_cast<void**>(reinterpret_cast<const void**>(&symbol)), RTLD_DL_SYMENT) != 0;
  return is_known && symbol != nullptr && symbol->st_shndx == SHN_UNDEF ? nullptr : function;
}

bool fill_table() noexcept {
  Dl_info facts;
  void* own_map = nullptr;
  if (::dladdr1(__ehdr_start, &facts, &own_map, RTLD_DL_LINKMAP) == 0) return false;
  for (attached_function* function = tarn_attached_begin; function != tarn_attached_end; ++function) {
    function->next = function_behind(function->name);
    function->hook = function < tarn_attached_loader ? ::dlsym(own_map, function->name) : function->next;
    if (function->hook == nullptr || function->hook == function->next) {
      if (function < tarn_attached_loader) function->next = nullptr;
    }
    by_name[slot_of(function->name)] = function;
  }
  for_each_module([](const module& object, const dl_phdr_info&) {
    for (std::size_t slot = 0; slot < name_slots; ++slot) {
      if (by_name[slot] != nullptr && exported_symbol(object, by_name[slot]->name) != 0) ++definers[slot];
    }
  });
  return true;
}

// A child of fork has the hooks in its tables, and records nothing.
void forget_in_child() noexcept { tarn_attached_state = 0; }

long begin_once(long file) noexcept {
  if (!start_late(file)) return -ENOMEM;
  if (raw_call(SYS_gettid) != raw_call(SYS_getpid)) thread::note_stack({});
  ::pthread_atfork(nullptr, nullptr, forget_in_child);
  return fill_table() ? 0 : -ENOENT;
}

}  // namespace

extern "C" {

TARN_HIDDEN [[gnu::used]] void tarn_begin_attached_thread(attached_function*) noexcept {
  const bool is_first = tarn_seen_state == 0;
  tarn_seen_state = __atomic_load_n(&tarn_attached_state, __ATOMIC_RELAXED);
  if (is_inside()) return;
  if (!is_first) {
    entry guard;
    if (guard) guard.self().locks = {};
  } else if (raw_call(SYS_gettid) == raw_call(SYS_getpid)) {
    thread::note_stack(main_stack());
  }
}

// May take the loader's lock, because the program has just called a function of the loader, which takes it, too.
TARN_HIDDEN [[gnu::used]] void tarn_hook_new_modules(attached_function*) noexcept {
  if (is_inside()) return;
  const hidden_thread hidden;
  unsigned long long loads = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &loads);
  if (loads == modules_seen) return;
  const holding guard(patching);
  if (tarn_attached_state != 0) hook_addresses();
}

// Begins to record in the region of the file, or continues in the earlier region if `file` is negative. Closes the file
// that this library came from, if `library_file` is not negative. Returns the number of the attachment, or an errno as
// its negative.
TARN_EXPORT long tarn_recorder_attach(long file, long library_file) noexcept {
  if (library_file >= 0) raw_call(SYS_close, library_file);
  if (tarn_attached_state != 0) return -EALREADY;
  {
    const hidden_thread hidden;
    if (file >= 0) {
      if (const long problem = begin_once(file); problem != 0) return problem;
    } else {
      forget_sampled();
      resume_recording();
    }
    const holding guard(patching);
    __atomic_store_n(&tarn_attached_state, ++attachments, __ATOMIC_RELEASE);
    const long hooked = hook_addresses();
    if (hooked == 0) __atomic_store_n(&tarn_attached_state, 0U, __ATOMIC_RELEASE);
    if (hooked == 0) return -ENOENT;
  }
  if (file >= 0) {
    try_operators_out();
    note_own_heap_of_program();
  }
  return static_cast<long>(attachments);
}

// Restores all addresses. Returns 0, or an errno as its negative if nothing is recorded.
TARN_EXPORT long tarn_recorder_detach() noexcept {
  if (tarn_attached_state == 0) return -EALREADY;
  const hidden_thread hidden;
  const holding guard(patching);
  restore_addresses();
  __atomic_store_n(&tarn_attached_state, 0U, __ATOMIC_RELEASE);
  end_recording();
  return 0;
}

}  // extern "C"
