#include "sync/faults.hpp"

#include <cstdlib>
#include <string_view>

#include <tarn/with.hpp>

#include "base/text.hpp"
#include "platform/platform.hpp"
#include "platform/threads.hpp"

namespace tarn::sync {
namespace {

using line = base::text_buffer<1024>;

[[noreturn]] void die(base::text& message) noexcept {
  message.append('\n').write_to(2);
  std::abort();
}

// Appends the file name without its folders, because a line must have room for four locations.
void append_place(base::text& message, const std::source_location& location) noexcept {
  const std::string_view path = location.file_name();
  message.append_escaped(path.substr(path.rfind('/') + 1)).append(':').decimal(location.line());
}

void append_lock(base::text& message, const lock_site& lock) noexcept {
  message.append(lock.is_of_coroutines ? "async_shared \"" : "shared \"").append_escaped(lock.name).append("\" at ");
  message.pointer(lock.object);
}

void append_shared(base::text& message, const void* object, const char* name) noexcept {
  message.append("shared \"").append_escaped(name).append("\" at ").pointer(object);
}

}  // namespace

void fault_lock_order(const lock_pair& now, const lock_pair* before, std::size_t count) noexcept {
  line message;
  message.append("tarn: lock order: ");
  append_lock(message, now.second);
  append_place(message.append(" is locked at "), now.second.location);
  append_lock(message.append(" while "), now.first);
  append_place(message.append(" is held, since "), now.first.location);
  for (std::size_t index = 0; index < count; ++index) {
    message.append(index == 0 ? "; but before, " : "; and ");
    append_lock(message, before[index].second);
    append_place(message.append(" was locked at "), before[index].second.location);
    append_lock(message.append(" while "), before[index].first);
    append_place(message.append(" was held, since "), before[index].first.location);
  }
  message.append(now.second.is_of_coroutines ? ": take them in one order"
                                             : ": take them in one order, or together by tarn::with");
  die(message);
}

void fault_lock_rank(const lock_pair& now) noexcept {
  line message;
  message.append("tarn: lock rank: ");
  append_lock(message, now.second);
  message.append(" of level ").decimal(static_cast<std::uint64_t>(now.second.level));
  append_place(message.append(" is locked at "), now.second.location);
  append_lock(message.append(" while "), now.first);
  message.append(" of level ").decimal(static_cast<std::uint64_t>(now.first.level));
  append_place(message.append(" is held, since "), now.first.location);
  message.append(": take the lock of the lower level first");
  die(message);
}

void fault_lock_twice(const lock_pair& now) noexcept {
  line message;
  message.append("tarn: lock twice: ");
  append_lock(message, now.second);
  append_place(message.append(" is locked at "), now.second.location);
  message.append(now.second.is_of_coroutines ? " by the coroutine" : " by the thread");
  append_place(message.append(" that holds it since "), now.first.location);
  message.append(": use the first handle, or end it before");
  die(message);
}

void fault_held_for_ever(const lock_site& lock) noexcept {
  line message;
  platform::append_thread(message.append("tarn: "), platform::thread_number());
  append_shared(message.append(" exits while holding "), lock.object, lock.name);
  append_place(message.append(", locked at "), lock.location);
  message.append(": end each handle before its thread");
  die(message);
}

void fault_not_the_holder(const void* object, const char* name) noexcept {
  line message;
  append_shared(message.append("tarn: "), object, name);
  platform::append_thread(message.append(" is unlocked by "), platform::thread_number());
  message.append(", which does not hold it: a handle stays with its thread, and is not kept over a co_await");
  die(message);
}

void fault_destroyed_while_held(const void* object, const char* name) noexcept {
  line message;
  append_shared(message.append("tarn: "), object, name);
  platform::append_thread(message.append(" is destroyed by "), platform::thread_number());
  message.append(" while it is locked: end all handles before the object");
  die(message);
}

void fault_destroyed_while_awaited(const void* object, const char* name) noexcept {
  line message;
  append_shared(message.append("tarn: "), object, name);
  platform::append_thread(message.append(" is destroyed by "), platform::thread_number());
  message.append(" while another thread waits for it: end the waits before the object");
  die(message);
}

void fault_suspended_while_held(const lock_site& lock, const void* object,
                                const std::source_location& location) noexcept {
  line message;
  append_place(message.append("tarn: async_shared at ").pointer(object).append(" is waited for at "), location);
  append_shared(message.append(" while "), lock.object, lock.name);
  append_place(message.append(" is held, since "), lock.location);
  message.append(": it would stay locked while the coroutine is suspended; end the handle before co_await");
  die(message);
}

void fault_async_destroyed(const void* object) noexcept {
  line message;
  message.append("tarn: async_shared at ").pointer(object);
  message.append(" is destroyed while it is locked: end all handles before the object");
  die(message);
}

void fault_foreign_thread(const char* category, const void* object, std::uint32_t owner,
                          const char* owner_name) noexcept {
  line message;
  message.append("tarn: ").append(category).append(" at ").pointer(object).append(" of thread ").decimal(owner);
  platform::append_thread(message.append(" \"").append_escaped(owner_name).append("\" is used by "),
                          platform::thread_number());
  message.append(": use it in its own thread only, or make the object tarn::shared");
  die(message);
}

void fault_built_twice(const void* object, const std::source_location& location,
                       const std::source_location& before) noexcept {
  line message;
  append_place(message.append("tarn: read-only object at ").pointer(object).append(" is built again at "), location);
  append_place(message.append("; it was built at "), before);
  message.append(": build it once, or make it tarn::reloadable");
  die(message);
}

void fault_built_late(const void* object, const std::source_location& location,
                      const std::source_location& workers_since) noexcept {
  line message;
  append_place(message.append("tarn: read-only object at ").pointer(object).append(" is built at "), location);
  append_place(message.append(" while workers run, since "), workers_since);
  message.append(": build it before them, or make it tarn::reloadable");
  die(message);
}

void fault_not_built(const void* object) noexcept {
  line message;
  message.append("tarn: read-only object at ")
      .pointer(object)
      .append(" is read before it is built: call build() before the first read");
  die(message);
}

void fault_already_working(const std::source_location& location, const std::source_location& since) noexcept {
  line message;
  append_place(message.append("tarn: a tarn::application or tarn::work_phase begins at "), location);
  append_place(message.append(" while another one lives, since "), since);
  message.append(": a process may have one at a time");
  die(message);
}

}  // namespace tarn::sync

namespace tarn::detail {

void fault_empty_handle(const char* category) noexcept {
  sync::line message;
  message.append("tarn: an empty handle of ").append(category).append(" was used: test it first, as in if (handle)");
  sync::die(message);
}

void fault_same_twice(const void* object, const std::source_location& location) noexcept {
  sync::line message;
  message.append("tarn: with() at ");
  sync::append_place(message, location);
  message.append(": the object at ").pointer(object).append(" is given twice: pass each object once");
  sync::die(message);
}

}  // namespace tarn::detail
