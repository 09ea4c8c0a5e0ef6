#include <tarn/detail/versions.hpp>

#include <algorithm>
#include <cstdlib>

#include <tarn/reloadable.hpp>

#include "base/text.hpp"
#include "platform/platform.hpp"
#include "platform/threads.hpp"
#include "reclaim/readers.hpp"

namespace tarn::detail {
namespace {

void destroy_all(version_base* oldest) noexcept {
  while (oldest != nullptr) {
    version_base* const next = oldest->next;
    oldest->destroy(oldest);
    oldest = next;
  }
}

template <class Each>
void for_each_read(Each visit) {
  for (reclaim::reader_block* block = reclaim::all_blocks(); block != nullptr; block = block->next) {
    for (reader_slot& slot : block->slots) {
      // seq_cst: see pin_slow. It also acquires: everything that a reader did before it emptied the slot is complete.
      const version_base* const read = slot.load(std::memory_order_seq_cst);
      platform::note_acquire(&slot);
      if (read != nullptr) visit(read, *block, slot);
    }
  }
}

[[noreturn]] void fault_still_read(const char* kind, const char* name, const void* object, std::uint64_t version,
                                   std::uint32_t thread) noexcept {
  base::text_buffer<512> message;
  message.append("tarn: ").append(kind);
  if (name != nullptr) message.append(" \"").append_escaped(name).append("\" at ").pointer(object);
  message.append(" ends while version ").decimal(version).append(" is read by ");
  platform::append_thread(message, thread);
  message.append('\n').write_to(2);
  std::abort();
}

}  // namespace

versions::versions(const char* kind, const char* name, std::size_t max_retired, version_base* first, give_unlinked give,
                   std::uint64_t number) noexcept
    : current_(first), number_(number), max_retired_(max_retired), give_(give), kind_(kind), name_(name) {
  reclaim::prepare_readers();
}

versions::~versions() {
  version_base* unread = nullptr;
  {
    const platform::locked hold(reclaim::writers_lock());
    add_retired(current_.load(std::memory_order_relaxed));
    unread = take_unread();
    if (retired_ != nullptr) {
      for_each_read([&](const version_base* read, const reclaim::reader_block& block, const reader_slot&) {
        for (version_base* retired = retired_; retired != nullptr; retired = retired->next) {
          if (retired == read && !block.is_inherited()) {
            fault_still_read(kind_, name_, this, read->number, block.thread.load(std::memory_order_relaxed));
          }
          retired->is_inherited |= retired == read;
        }
      });
      if (reclaim::is_barrier_lost()) {  // the versions were kept for possible readers; at destruction there may be
                                         // none
        for (version_base* retired = retired_; retired != nullptr; retired = retired->next) retired->is_read = false;
        unread = unlink_unread();
      }
    }  // the rest is never freed: a snapshot of the parent process may be in use
  }
  destroy_all(unread);
}

// By default each thread may keep one version, so that a publish is not refused because a busy machine interrupted some
// readers.
bool versions::has_room() const noexcept {
  constexpr std::size_t beside_one_each = 16;
  return retired_count_ < (max_retired_ != 0 ? max_retired_ : beside_one_each) ||
         (max_retired_ == 0 && retired_count_ < beside_one_each + reclaim::reading_threads());
}

// Returns the versions that nobody reads. The caller holds the lock, and destroys the result after releasing it,
// because T's destructor may run any code.
version_base* versions::take_unread() noexcept {
  if (retired_ == nullptr || !reclaim::synchronise_with_readers()) return nullptr;
  for (version_base* retired = retired_; retired != nullptr; retired = retired->next) {
    retired->is_read = false;
    retired->is_inherited = false;
  }
  for_each_read([&](const version_base* read, const reclaim::reader_block& block, reader_slot& slot) {
    for (version_base* retired = retired_; retired != nullptr; retired = retired->next) {
      if (retired != read) continue;
      if (!block.is_inherited()) {
        retired->is_read = true;
      } else if (give_ == nullptr) {
        retired->is_inherited = true;
      } else {  // reads of generations never change their thread, so this one ended with the parent's thread
        slot.store(nullptr, std::memory_order_relaxed);
      }
    }
  });
  if (give_ != nullptr) {  // of generations, those stay that are newer than one that is read; the list begins with them
    const version_base* oldest_read = nullptr;
    for (const version_base* retired = retired_; retired != nullptr; retired = retired->next) {
      oldest_read = retired->is_read ? retired : oldest_read;
    }
    for (version_base* retired = retired_; oldest_read != nullptr && retired != oldest_read; retired = retired->next) {
      retired->is_read = true;
    }
  }
  return unlink_unread();
}

version_base* versions::unlink_unread() noexcept {
  version_base* unread = nullptr;
  retired_count_ = 0;
  for (version_base** position = &retired_; *position != nullptr;) {
    version_base* const retired = *position;
    if (retired->is_read || retired->is_inherited) {
      retired_count_ += retired->is_read ? 1 : 0;
      position = &retired->next;
    } else {
      *position = retired->next;
      retired->next = unread;
      unread = retired;
    }
  }
  return unread;
}

void versions::add_retired(version_base* version) noexcept {
  version->retired_ms = platform::now_ms();
  version->next = retired_;
  retired_ = version;
  ++retired_count_;
}

void versions::retire(current_version& target) noexcept {
  const platform::locked hold(reclaim::writers_lock());
  // seq_cst: see pin_slow.
  if (version_base* const version = target.exchange(nullptr, std::memory_order_seq_cst)) add_retired(version);
}

void versions::assign_number(version_base& first) noexcept {
  const platform::locked hold(reclaim::writers_lock());
  first.number = number_.load(std::memory_order_relaxed) + 1;
  number_.store(first.number, std::memory_order_release);
}

versions::outcome versions::replace(current_version& target, version_base* next, std::uint64_t expected) noexcept {
  version_base* unread = nullptr;
  outcome result = outcome::refused;
  {
    const platform::locked hold(reclaim::writers_lock());
    const version_base* const before = target.load(std::memory_order_relaxed);
    if (before == nullptr || (expected != 0 && expected != before->number)) return outcome::changed;
    if (!has_room()) unread = take_unread();
    if (has_room()) {
      next->number = number_.load(std::memory_order_relaxed) + 1;
      // seq_cst: see pin_slow. It also releases: a thread that finds the version sees it complete.
      platform::note_release(&target);
      version_base* const old = target.exchange(next, std::memory_order_seq_cst);
      number_.store(next->number, std::memory_order_release);
      if (give_ != nullptr) give_(*next, *old);
      add_retired(old);
      version_base* const freed_later = take_unread();
      version_base** end = &unread;
      while (*end != nullptr) end = &(*end)->next;
      *end = freed_later;
      result = outcome::published;
    }
  }
  destroy_all(unread);
  return result;
}

std::size_t versions::collect() noexcept {
  version_base* unread = nullptr;
  std::size_t left = 0;
  {
    const platform::locked hold(reclaim::writers_lock());
    unread = take_unread();
    left = retired_count_;
  }
  destroy_all(unread);
  return left;
}

bool versions::wait_for_readers(std::chrono::steady_clock::time_point deadline) noexcept {
  while (collect() != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    platform::sleep_ms(1);
  }
  return true;
}

std::vector<parked_reader> versions::parked_readers() const {
  std::vector<parked_reader> result;
  const std::uint64_t now = platform::now_ms();
  {
    const platform::locked hold(reclaim::writers_lock());
    for_each_read([&](const version_base* read, const reclaim::reader_block& block, const reader_slot&) {
      for (const version_base* retired = retired_; retired != nullptr; retired = retired->next) {
        if (retired == read && !block.is_inherited()) {
          result.push_back({block.thread.load(std::memory_order_relaxed),
                            {},
                            retired->number,
                            std::chrono::milliseconds(now - retired->retired_ms)});
        }
      }
    });
  }
  for (parked_reader& reader : result) {
    char name[platform::thread_name_bytes];
    static_cast<void>(platform::thread_name(reader.thread, name));
    reader.name = name;
  }
  std::sort(result.begin(), result.end(),
            [](const parked_reader& a, const parked_reader& b) { return a.version < b.version; });
  return result;
}

void versions::refuse() const {
  base::text_buffer<512> message;
  message.append("tarn: ").append(kind_).append(" \"").append_escaped(name_).append("\": not published: ");
  bool is_lost = false;
  {
    const platform::locked hold(reclaim::writers_lock());
    is_lost = reclaim::is_barrier_lost();
    message.decimal(max_retired_ != 0 ? max_retired_ : retired_count_).append(" replaced versions are ");
  }
  if (is_lost) {
    message.append(
        "kept, because the kernel now refuses membarrier(2), which tells whether they are read: allow it in ");
    message.append("the seccomp filter, or set the filter before the first read");
    throw publish_refused(std::string(message.view()));
  }
  message.append("still read");
  if (const std::vector<parked_reader> readers = parked_readers(); !readers.empty()) {
    const parked_reader& oldest = readers.front();
    message.append(", the oldest, version ").decimal(oldest.version).append(", by thread ").decimal(oldest.thread);
    message.append(" \"").append_escaped(oldest.name).append("\" for ");
    message.decimal(static_cast<std::uint64_t>(oldest.since.count())).append(" ms since");
  }
  throw publish_refused(std::string(message.view()));
}

}  // namespace tarn::detail
