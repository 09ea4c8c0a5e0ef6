#include "io/watched_mapping.hpp"

#include <cerrno>

namespace tarn::io {
namespace {

std::atomic<watched_mapping*> mappings{nullptr};
struct sigaction before {};

}  // namespace

watched_mapping& watched_mapping::take() {
  static const bool is_installed = (install(), true);
  static_cast<void>(is_installed);
  for (watched_mapping* mapping = mappings.load(std::memory_order_acquire); mapping != nullptr;
       mapping = mapping->next_) {
    if (!mapping->is_taken_.exchange(true, std::memory_order_acquire)) return *mapping;
  }
  auto* const record = new watched_mapping;
  record->is_taken_.store(true, std::memory_order_relaxed);
  record->next_ = mappings.load(std::memory_order_relaxed);
  // release: a thread that finds the record finds its `next_`.
  while (!mappings.compare_exchange_weak(record->next_, record, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return *record;
}

void watched_mapping::watch(const void* start, std::size_t bytes, cure handler, void* owner) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  cure_ = handler;
  owner_ = owner;
  has_faulted_.store(false, std::memory_order_relaxed);
  end_.store(address + bytes, std::memory_order_relaxed);
  // release: a handler that sees the start sees the rest of the record.
  start_.store(address, std::memory_order_release);
}

void watched_mapping::forget() noexcept {
  start_.store(0, std::memory_order_release);
  is_taken_.store(false, std::memory_order_release);
}

bool watched_mapping::repair(std::uintptr_t address) {
  for (watched_mapping* mapping = mappings.load(std::memory_order_acquire); mapping != nullptr;
       mapping = mapping->next_) {
    const std::uintptr_t start = mapping->start_.load(std::memory_order_acquire);
    if (start == 0 || address < start || address >= mapping->end()) continue;
    // relaxed: the same thread reads it, after the access that led here.
    mapping->has_faulted_.store(true, std::memory_order_relaxed);
    return mapping->cure_(*mapping, mapping->owner_, address);
  }
  return false;
}

void watched_mapping::handle(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool is_repaired = repair(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved_errno;
  if (is_repaired) return;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    ::sigaction(SIGBUS, &before, nullptr);  // the access is repeated, and faults as it would without this handler
  }
}

void watched_mapping::install() noexcept {
  struct sigaction ours {};
  ours.sa_sigaction = handle;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, &before);
}

}  // namespace tarn::io
