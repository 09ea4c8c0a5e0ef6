#include "profiler/preload/records/modules.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "profiler/format/generations.hpp"
#include "profiler/preload/base/build_id.hpp"
#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/records/lock_table.hpp"
#include "profiler/preload/records/python_stack.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/stacks/rows.hpp"

namespace tarn::preload {

constinit std::atomic<std::uint32_t> module_changes = 0;

namespace {

// A module as the loader has it. These tell whether another one is at its addresses now.
struct loaded_object {
  std::uintptr_t start, end;
  const void* map;
  const void* frame_table;
  bool operator==(const loaded_object&) const = default;
  bool has(std::uintptr_t address) const noexcept { return address - start < end - start; }
  bool overlaps(const loaded_object& second) const noexcept { return start < second.end && second.start < end; }
};

struct noted_module {
  loaded_object object;
  std::uint64_t generation;
  const format::module_record* record;  // null: the region has no room for it
  std::atomic<bool> is_gone;
};

// `noting` guards the writers. A module is published by the count; after that only `is_gone` and, of one that is gone,
// `map` change.
constinit noted_module modules[format::max_modules] = {};
constinit std::atomic<std::uint32_t> module_count = 0;
constinit lock noting;

constinit char own_path[4096] = {};  // the program's path
constinit std::size_t own_path_bytes = 0;

std::string_view path_of(const link_map& map) noexcept {
  return *map.l_name != '\0' ? std::string_view(map.l_name) : std::string_view(own_path, own_path_bytes);
}

// Returns false where no module is.
bool find_object(std::uintptr_t address, loaded_object& object) noexcept {
  dl_find_object found_object;
  if (::_dl_find_object(reinterpret_cast<void*>(address), &found_object) != 0 || found_object.dlfo_link_map == nullptr)
    return false;
  object = {reinterpret_cast<std::uintptr_t>(found_object.dlfo_map_start),
            reinterpret_cast<std::uintptr_t>(found_object.dlfo_map_end), found_object.dlfo_link_map,
            found_object.dlfo_eh_frame};
  return true;
}

noted_module* find_module(std::uintptr_t address) noexcept {
  for (std::uint32_t number = module_count.load(std::memory_order_acquire); number-- > 0;) {
    noted_module& module = modules[number];
    if (module.object.has(address) && !module.is_gone.load(std::memory_order_acquire)) return &module;
  }
  return nullptr;
}

bool is_in_gone_module(std::uintptr_t address) noexcept {
  const std::uint32_t count = module_count.load(std::memory_order_acquire);
  return std::any_of(modules, modules + count, [&](const noted_module& module) { return module.object.has(address); });
}

// The caller holds `noting`.
void mark_gone(noted_module& module) noexcept {
  module.is_gone.store(true, std::memory_order_relaxed);
  module_changes.fetch_add(1, std::memory_order_release);  // release: who sees it sees that the module is gone
}
void end(noted_module& module) noexcept {
  forget_rows(module.object.start, module.object.end);
  mark_gone(module);
}

struct build_id {
  unsigned char content[sizeof format::module_record::build_id];
  std::size_t bytes;
};
build_id build_id_of(const loaded_object& object) noexcept {
  build_id id = {};
  id.bytes = copy_build_id(object.start, object.end, static_cast<const link_map*>(object.map)->l_addr, id.content,
                           sizeof id.content);
  return id;
}

// Returns true if the file of a module that is gone was loaded again at its addresses. Files without a build id count
// as one if their path is the same, as nobody can tell them apart later.
bool is_of_same_file(const noted_module& module, const loaded_object& object, const build_id& id) noexcept {
  if (module.object.start != object.start || module.object.end != object.end || module.record == nullptr) return false;
  const format::module_record& record = *module.record;
  return id.bytes <= sizeof id.content && id.bytes == record.build_id_bytes &&
         std::memcmp(id.content, record.build_id, id.bytes) == 0 &&
         std::string_view(reinterpret_cast<const char*>(&record + 1), record.path_bytes) ==
             path_of(*static_cast<const link_map*>(object.map));
}

// Returns null when the region has no room.
const format::module_record* make_record(std::uintptr_t address, const loaded_object& object, const build_id& id,
                                         std::uint64_t generation, std::uint32_t own_functions) noexcept {
  const std::uint32_t number = header().modules.load(std::memory_order_relaxed);
  if (number == format::max_modules) return nullptr;
  const auto& map = *static_cast<const link_map*>(object.map);
  const std::string_view path = path_of(map);
  const format::offset offset = hand_out(sizeof(format::module_record) + path.size());
  if (offset == 0) return nullptr;
  auto& record = *record_at<format::module_record>(offset);
  record.image = image();
  record.path_bytes = static_cast<std::uint32_t>(path.size());
  record.start = format::in_generation(object.start, generation);
  record.end = format::in_generation(object.end, generation);
  record.bias = format::in_generation(map.l_addr, generation);
  record.own_functions = own_functions | (is_in_interpreter(address) ? format::own_python : 0);
  record.build_id_bytes = static_cast<std::uint32_t>(id.bytes);
  std::memcpy(record.build_id, id.content, sizeof id.content);
  std::memcpy(&record + 1, path.data(), path.size());
  header().module_at[number].store(offset, std::memory_order_release);
  header().modules.store(number + 1, std::memory_order_release);
  return &record;
}

// The caller holds `noting`. Returns null where no module is, or no room for it.
noted_module* note(std::uintptr_t address, std::uint32_t own_functions) noexcept {
  const std::uint32_t count = module_count.load(std::memory_order_relaxed);
  loaded_object object;
  if (!find_object(address, object)) {
    for (noted_module* module = find_module(address); module != nullptr; module = find_module(address)) end(*module);
    return nullptr;
  }
  const build_id id = build_id_of(object);
  std::uint64_t generation = 0;
  noted_module* reloaded_module = nullptr;
  bool has_predecessor = false;
  for (std::uint32_t number = 0; number < count; ++number) {
    noted_module& module = modules[number];
    if (!module.object.overlaps(object)) continue;
    const bool is_gone = module.is_gone.load(std::memory_order_relaxed);
    if (!is_gone && module.object == object) {
      if (own_functions == 0) return &module;
      generation = module.generation;
      continue;
    }
    if (!is_gone) end(module);
    has_predecessor = true;
    if (is_of_same_file(module, object, id)) reloaded_module = &module;
    generation = std::max(generation, module.generation + 1);
  }
  if (has_predecessor) end_locks_in(object.start, object.end);
  if (reloaded_module != nullptr) {
    reloaded_module->object = object;
    reloaded_module->is_gone.store(false, std::memory_order_release);
    return reloaded_module;
  }
  if (count == format::max_modules) return nullptr;
  noted_module& module = modules[count];
  module.object = object;
  module.generation = std::min(generation, format::nameless_generation);
  module.record = make_record(address, object, id, module.generation, own_functions);
  module.is_gone.store(false, std::memory_order_relaxed);
  module_count.store(count + 1, std::memory_order_release);
  return &module;
}

bool has_module(std::uintptr_t frame) noexcept { return !format::is_python_address(frame); }

}  // namespace

void begin_modules_anew() noexcept {
  noting.begin_anew();
  module_count.store(0, std::memory_order_relaxed);
  module_changes.store(0, std::memory_order_relaxed);
  if (own_path_bytes != 0) return;
  const long length = raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", own_path, sizeof own_path);
  own_path_bytes = length < 0 ? 0 : static_cast<std::size_t>(length);
  // The kernel says so of a file that was replaced, which may be there under its path.
  constexpr std::string_view deleted = " (deleted)";
  if (std::string_view(own_path, own_path_bytes).ends_with(deleted)) own_path_bytes -= deleted.size();
}

void note_module_of(const void* function, std::uint32_t functions) noexcept {
  const holding guard(noting);
  note(reinterpret_cast<std::uintptr_t>(function), functions);
}

bool note_modules(const std::uintptr_t* frames, std::size_t count) noexcept {
  const std::uint32_t changes = module_changes.load(std::memory_order_relaxed);
  const noted_module* module = nullptr;  // that of the frame before, which is mostly that of the next one
  for (std::size_t index = 0; index < count; ++index) {
    if (!has_module(frames[index])) continue;
    const std::uintptr_t address = format::without_generation(frames[index]) - 1;
    if (module != nullptr && module->object.has(address)) continue;
    module = find_module(address);
    loaded_object object;
    if (module != nullptr && find_object(address, object) && module->object == object) continue;
    const holding guard(noting);
    module = note(address, 0);
  }
  return module_changes.load(std::memory_order_relaxed) != changes;
}

void set_generations(std::uintptr_t* frames, std::size_t count) noexcept {
  if (module_changes.load(std::memory_order_acquire) == 0) return;
  const noted_module* module = nullptr;
  for (std::size_t index = 0; index < count; ++index) {
    if (!has_module(frames[index])) continue;
    const std::uintptr_t frame = format::without_generation(frames[index]), address = frame - 1;
    if (module == nullptr || !module->object.has(address)) module = find_module(address);
    loaded_object object;
    if (module == nullptr && find_object(address, object)) {
      const holding guard(noting);
      module = note(address, 0);
    }
    const std::uint64_t generation = module != nullptr            ? module->generation
                                     : is_in_gone_module(address) ? format::nameless_generation
                                                                  : 0;
    frames[index] = format::in_generation(frame, generation);
  }
}

void look_for_gone_modules() noexcept {
  const holding guard(noting);
  const std::uint32_t count = module_count.load(std::memory_order_relaxed);
  for (std::uint32_t number = 0; number < count; ++number) {
    noted_module& module = modules[number];
    if (module.is_gone.load(std::memory_order_relaxed)) continue;
    loaded_object object;  // its map is not read: another thread may be about to free it
    if (!find_object(module.object.start, object) || object != module.object) end(module);
  }
}

void doubt_modules() noexcept {
  const holding guard(noting);
  forget_rows(0, UINTPTR_MAX);
  const std::uint32_t count = module_count.load(std::memory_order_relaxed);
  for (std::uint32_t number = 0; number < count; ++number) {
    if (!modules[number].is_gone.load(std::memory_order_relaxed)) mark_gone(modules[number]);
  }
}

}  // namespace tarn::preload
