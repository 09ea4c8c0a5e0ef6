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
#include <utility>

#include "profiler/format/unhooked.hpp"
#include "profiler/preload/base/loaded_module.hpp"
#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/own_malloc.hpp"
#include "profiler/preload/records/modules.hpp"
#include "profiler/preload/records/python_codes.hpp"
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
[[gnu::used]] TARN_HIDDEN constinit std::uint32_t tarn_attached_state = 0;
[[gnu::used]] TARN_HIDDEN constinit thread_local std::uint32_t tarn_seen_state = 0;
}

// The number of the last attachment, and of the first one of this process: the earlier ones are of a parent.
constinit std::uint32_t attachments = 0, first_attachment = 1;

namespace {

using address = std::uintptr_t;

constexpr std::size_t name_slots = 256;  // a power of two, at least twice the names
constinit attached_function* by_name[name_slots] = {};
constinit std::size_t definers[name_slots] = {};
constinit unsigned long long modules_seen = 0;
constinit unsigned long long unloads_at_detach = 0;
constinit lock patching;
constinit bool has_fork_handlers = false;

std::size_t slot_of(const char* name) noexcept {
  std::size_t slot = hash_of(name) % name_slots;
  while (by_name[slot] != nullptr && std::strcmp(by_name[slot]->name, name) != 0) slot = (slot + 1) % name_slots;
  return slot;
}

// Remembers which symbols of a module were looked at. `patching` guards it.
class symbol_set {
 public:
  void forget() noexcept {
    std::memset(sets_, 0, (last_word_ + 1) * sizeof *sets_);
    last_word_ = 0;
  }
  // Returns true for a symbol that was not looked at before, and for each one with a number beyond the capacity.
  bool is_new(std::size_t number) noexcept {
    const std::size_t word = number / word_bits;
    if (word >= capacity) return true;
    const std::uint64_t bit = std::uint64_t{1} << number % word_bits;
    if ((sets_[word] & bit) != 0) return false;
    sets_[word] |= bit;
    if (word > last_word_) last_word_ = word;
    return true;
  }

 private:
  static constexpr std::size_t word_bits = 64, capacity = (std::size_t{1} << 18) / word_bits;
  std::uint64_t sets_[capacity] = {};
  std::size_t last_word_ = 0;
};
constinit symbol_set visited_symbols;

// Calls `take` for each entry in the tables of the module that gets the address of a symbol. The symbols are those of
// the relocations: their place in the module's own tables depends on the linker, and whether they are exported, too.
template <class Take>
void for_each_relocation(const loaded_module& object, Take take) noexcept {
  for (std::size_t table = 0; table < 2; ++table) {
    if (object.tables[table] == nullptr) continue;
    for (std::size_t index = table == 0 ? object.relative_count : 0; index < object.counts[table]; ++index) {
      const ElfW(Rela)& record = object.tables[table][index];
      const auto type = ELF64_R_TYPE(record.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
      if (ELF64_R_SYM(record.r_info) != 0 && record.r_addend == 0) take(record);
    }
  }
}

// The symbols of a module whose names are in the table. A relocation is then recognised by its symbol's number, which
// is faster than by name: large programs have a hundred times as many relocations as symbols.
class known_symbols {
 public:
  explicit known_symbols(const loaded_module& object) noexcept {
    visited_symbols.forget();
    for_each_relocation(object, [&](const ElfW(Rela) & record) {
      const auto number = static_cast<std::uint32_t>(ELF64_R_SYM(record.r_info));
      if (!visited_symbols.is_new(number)) return;
      const std::size_t slot = slot_of(object.strings + object.symbols[number].st_name);
      if (by_name[slot] != nullptr) add(number, slot);
    });
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

// Calls `change` for each entry in the tables of the module that has the address of a hooked function, or may get it.
template <class Change>
void for_each_address(const loaded_module& object, const known_symbols& symbols, Change change) noexcept {
  for_each_relocation(object, [&](const ElfW(Rela) & record) {
    const std::size_t number = ELF64_R_SYM(record.r_info);
    const std::size_t slot = symbols.slot_of_symbol(static_cast<std::uint32_t>(number));
    if (slot == name_slots) return;
    // A function that was not called yet has the address of the module's own code, which asks the loader.
    auto& pointer = *reinterpret_cast<std::atomic<address>*>(object.base + record.r_offset);
    const address value = pointer.load(std::memory_order_relaxed);
    const bool is_unresolved = ELF64_R_TYPE(record.r_info) == R_X86_64_JUMP_SLOT &&
                               object.symbols[number].st_shndx == SHN_UNDEF && value >= object.low &&
                               value < object.high && (object.is_program || definers[slot] == 1);
    change(*by_name[slot], pointer, value, is_unresolved);
  });
}

// Makes the part of a module that is read-only after relocation writable while it lives.
class writable_addresses {
 public:
  explicit writable_addresses(const loaded_module& object) noexcept : object_(object) {
    protect(PROT_READ | PROT_WRITE);
  }
  writable_addresses(const writable_addresses&) = delete;
  writable_addresses& operator=(const writable_addresses&) = delete;
  ~writable_addresses() { protect(PROT_READ); }

 private:
  void protect(int rights) const noexcept {
    if (object_.fixed_low < object_.fixed_high)
      raw_call(SYS_mprotect, object_.fixed_low, object_.fixed_high - object_.fixed_low, rights);
  }
  const loaded_module& object_;
};

// Returns how many modules were loaded and unloaded so far. It takes the loader's lock.
dl_phdr_info loader_counts() noexcept {
  dl_phdr_info first_module = {};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* copy) {
        *static_cast<dl_phdr_info*>(copy) = *info;
        return 1;
      },
      &first_module);
  return first_module;
}

template <class Choose>
void change_addresses(Choose choose) noexcept {
  for_each_module([&](const loaded_module& object, const dl_phdr_info& info) {
    modules_seen = info.dlpi_adds;
    const known_symbols symbols(object);
    if (symbols.is_empty()) return;
    bool is_needed = false;
    for_each_address(object, symbols, [&](const attached_function& function, auto&, address value, bool is_unresolved) {
      is_needed = is_needed || choose(function, value, is_unresolved) != value;
    });
    if (!is_needed) return;
    const writable_addresses writable(object);
    for_each_address(object, symbols,
                     [&](const attached_function& function, auto& pointer, address value, bool is_unresolved) {
                       const address target = choose(function, value, is_unresolved);
                       // release: a thread that jumps there finds the table filled
                       if (target != value) pointer.store(target, std::memory_order_release);
                     });
  });
}

// Returns whether anything is hooked. A child of fork has the hooks of its parent.
bool hook_addresses() noexcept {
  bool is_hooked = false;
  change_addresses([&](const attached_function& function, address value, bool is_unresolved) {
    const auto stub = reinterpret_cast<address>(function.stub);
    const bool is_next = function.next != nullptr && value == reinterpret_cast<address>(function.next);
    const address target = is_next || (is_unresolved && function.next != nullptr) ? stub : value;
    is_hooked = is_hooked || target == stub;
    return target;
  });
  return is_hooked;
}

// Returns format::unhooked_bit of each function that the program's own file calls and that another function stands in
// for, so that its calls are not recorded.
long unhooked_functions() noexcept {
  long functions = 0;
  for_each_module([&](const loaded_module& object, const dl_phdr_info&) {
    if (!object.is_program) return;
    const known_symbols symbols(object);
    for_each_address(object, symbols, [&](const attached_function& function, auto&, address value, bool) {
      // An address of the program's own file leads to its malloc, or to another entry.
      const bool is_own = value >= object.low && value < object.high;
      if (value != 0 && !is_own && value != reinterpret_cast<address>(function.stub))
        functions |= tarn::format::unhooked_bit(function.name);
    });
  });
  return functions;
}

void restore_addresses() noexcept {
  change_addresses([](const attached_function& function, address value, bool) {
    return value == reinterpret_cast<address>(function.stub) ? reinterpret_cast<address>(function.next) : value;
  });
}

bool fill_table() noexcept {
  Dl_info facts;
  void* own_map = nullptr;
  if (::dladdr1(__ehdr_start, &facts, &own_map, RTLD_DL_LINKMAP) == 0) return false;
  for (attached_function* function = tarn_attached_begin; function != tarn_attached_end; ++function) {
    function->next = next_function(function->name);
    function->hook = function < tarn_attached_loader ? ::dlsym(own_map, function->name) : function->next;
    if (function->hook == nullptr || function->hook == function->next) {
      if (function < tarn_attached_loader) function->next = nullptr;
    }
    by_name[slot_of(function->name)] = function;
  }
  const holding guard(patching);
  std::memset(definers, 0, sizeof definers);
  for_each_module([](const loaded_module& object, const dl_phdr_info&) {
    for (std::size_t slot = 0; slot < name_slots; ++slot) {
      if (by_name[slot] != nullptr && exported_symbol(object, by_name[slot]->name) != 0) ++definers[slot];
    }
  });
  return true;
}

// A fork waits while another thread looks through the modules: otherwise the child could not do so, because the
// loader's lock would stay taken in it. It does not wait for ever: it may have been called under that lock.
constinit thread_local bool holds_patching = false;
void wait_for_patching() noexcept {
  constexpr int max_tries = 2000;
  constexpr timespec pause{0, 20'000};
  if (is_inside()) return;  // a handler of a signal has interrupted that very thread
  for (int tries = 0; !holds_patching && tries < max_tries; ++tries) {
    holds_patching = patching.try_acquire();
    if (!holds_patching) own_call(SYS_nanosleep, &pause, nullptr);
  }
}
void end_waiting() noexcept {
  if (std::exchange(holds_patching, false)) patching.release();
}
// A child of fork has the hooks in its tables, and records nothing.
void forget_in_child() noexcept {
  end_waiting();
  tarn_attached_state = 0;
}

// A parent may have been recorded, or just about to be, when it forked this process.
void leave_attachments_of_parent() noexcept {
  __atomic_store_n(&tarn_attached_state, 0U, __ATOMIC_RELEASE);
  patching.begin_anew();
  first_attachment = attachments + 1;
  begin_process_anew();
}

long begin_once(long file) noexcept {
  leave_attachments_of_parent();
  const hidden_thread hidden;
  if (!start_late(file)) return -ENOMEM;
  if (raw_call(SYS_gettid) != raw_call(SYS_getpid)) thread::note_stack({});
  if (!std::exchange(has_fork_handlers, true)) ::pthread_atfork(wait_for_patching, end_waiting, forget_in_child);
  if (!fill_table()) return -ENOENT;
  own_page.has_region.store(1, std::memory_order_relaxed);
  return 0;
}

long continue_again() noexcept {
  if (tarn_attached_state != 0) return -EALREADY;
  const hidden_thread hidden;
  forget_sampled();
  if (!set_up_late_blocks()) return -ENOMEM;
  if (loader_counts().dlpi_subs != unloads_at_detach) doubt_modules();
  resume_python_codes();
  resume_recording();
  return 0;
}

}  // namespace

extern "C" {

[[gnu::used]] TARN_HIDDEN void tarn_begin_attached_thread(attached_function*) noexcept {
  const bool is_first = tarn_seen_state < first_attachment;
  if (is_first && tarn_seen_state != 0) begin_thread_anew();
  tarn_seen_state = __atomic_load_n(&tarn_attached_state, __ATOMIC_RELAXED);
  if (is_inside()) return;
  if (!is_first) {
    entry guard;
    if (guard) guard.self().begin_attachment();
  } else if (raw_call(SYS_gettid) == raw_call(SYS_getpid)) {
    thread::note_stack(main_stack());
  }
}

// May take the loader's lock, because the program has just called a function of the loader, which takes it, too.
[[gnu::used]] TARN_HIDDEN void tarn_hook_new_modules(attached_function*) noexcept {
  if (is_inside()) return;
  const hidden_thread hidden;
  if (loader_counts().dlpi_adds == modules_seen) return;
  const holding guard(patching);
  if (tarn_attached_state != 0) hook_addresses();
}

// Begins to record in the region of the file, or continues in the process's region if `file` is negative. Closes the
// file that this library came from, if `library_file` is not negative. Returns the number of the attachment, and in the
// upper half unhooked_functions(), or an errno as its negative.
TARN_EXPORT long tarn_recorder_attach(long file, long library_file) noexcept {
  if (library_file >= 0) raw_call(SYS_close, library_file);
  if (const long problem = file >= 0 ? begin_once(file) : continue_again(); problem != 0) return problem;
  long unhooked = 0;
  {
    const hidden_thread hidden;
    const holding guard(patching);
    __atomic_store_n(&tarn_attached_state, ++attachments, __ATOMIC_RELEASE);
    if (!hook_addresses()) {
      __atomic_store_n(&tarn_attached_state, 0U, __ATOMIC_RELEASE);
      return -ENOENT;
    }
    unhooked = unhooked_functions();
  }
  if (file >= 0) {
    find_operators();
    note_own_malloc_of_program();
  }
  return static_cast<long>(attachments) | unhooked << tarn::format::unhooked_shift;
}

// Restores all addresses. Returns 0, or an errno as its negative if nothing is recorded.
TARN_EXPORT long tarn_recorder_detach() noexcept {
  if (tarn_attached_state == 0) return -EALREADY;
  const hidden_thread hidden;
  const holding guard(patching);
  restore_addresses();
  leave_python_codes();
  unloads_at_detach = loader_counts().dlpi_subs;
  __atomic_store_n(&tarn_attached_state, 0U, __ATOMIC_RELEASE);
  end_recording();
  return 0;
}

}  // extern "C"
