// Implements platform.hpp for tests: with real memory underneath, a clock that stands still, a record of all
// mappings, and failures on request. It is stricter than the kernel: a call that the contract does not allow ends the
// program with a reason.
//
// It uses the C++ library, whose memory is not Tarn's.
#include "platform/fake/platform.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>

#include "base/bits.hpp"
#include "base/errno_kept.hpp"
#include "platform/counters.hpp"
#include "platform/helper.hpp"
#include "platform/mapping.hpp"
#include "platform/platform.hpp"

namespace tarn::platform {
namespace {

constexpr std::uint64_t start_of_time_ms = 1'000'000;

constinit call_counters counters;
constinit std::atomic<std::uint64_t> kernel_calls{0}, prefaulted{0}, huge_wanted{0}, huge_refused{0};
constinit std::atomic<std::uint64_t> clock_ms{start_of_time_ms};
constinit std::atomic<bool> refuses_growth{false}, refuses_purges{false};
constinit std::atomic<std::size_t> available{0};
constinit std::atomic<void (*)()> at_each_purge{nullptr};
constinit std::atomic<void (*)()> at_each_sleep{nullptr};
constinit std::atomic<void (*)() noexcept> helper{nullptr};

[[noreturn]] void report_violation(const char* call, const void* start, std::size_t bytes, const char* rule) {
  std::fprintf(stderr, "fake platform: %s(%p, %zu): %s\n", call, start, bytes, rule);
  std::abort();
}

// Selects the page requests that fail.
class failing {
 public:
  bool next() noexcept {
    const std::lock_guard hold(mutex_);
    ++made_calls_;
    if (fails_at_ == 0 || (made_calls_ != fails_at_ && !(fails_all_later_ && made_calls_ > fails_at_))) return false;
    ++refused_;
    return true;
  }
  void plan(std::uint64_t n, bool fails_all_later) noexcept {
    const std::lock_guard hold(mutex_);
    fails_at_ = n == 0 ? 0 : made_calls_ + n;
    fails_all_later_ = fails_all_later;
  }
  void reset() noexcept {
    const std::lock_guard hold(mutex_);
    made_calls_ = refused_ = fails_at_ = 0;
    fails_all_later_ = false;
  }
  void count_refusal() noexcept {
    const std::lock_guard hold(mutex_);
    ++refused_;
  }
  std::uint64_t calls_made() noexcept {
    const std::lock_guard hold(mutex_);
    return made_calls_;
  }
  std::uint64_t refused() noexcept {
    const std::lock_guard hold(mutex_);
    return refused_;
  }
  std::mutex& lock() noexcept { return mutex_; }

 private:
  std::mutex mutex_;
  std::uint64_t made_calls_ = 0, refused_ = 0, fails_at_ = 0;
  bool fails_all_later_ = false;
};

// The mappings: pieces that do not overlap, by address. The caller holds `mutex`.
class ledger {
 public:
  std::mutex mutex;
  std::size_t budget = 0;
  char* next_place = nullptr;
  char* near_place = nullptr;

  enum class kind { mapped, reserved, made_writable };

  void add(void* start, std::size_t bytes, kind state) {
    pieces_.emplace(static_cast<char*>(start), piece{bytes, state});
    total_ += bytes;
  }

  // Removes [start, start + bytes) from the pieces that hold it. Returns false if one of its bytes is in no piece.
  bool remove(void* start_, std::size_t bytes) {
    char* const start = static_cast<char*>(start_);
    if (!holds(start, bytes)) return false;
    split(start);
    split(start + bytes);
    pieces_.erase(pieces_.lower_bound(start), pieces_.lower_bound(start + bytes));
    total_ -= bytes;
    return true;
  }

  // Returns true if pieces cover [start, start + bytes) without a gap, and each of them is writable or none is, as
  // `is_writable` says.
  bool is_mapped_as(void* start, std::size_t bytes, bool is_writable) const {
    bool is_uniform = true;
    const bool is_covered = for_range(static_cast<char*>(start), bytes, [&](const piece& part) {
      is_uniform = is_uniform && (part.state != kind::reserved) == is_writable;
    });
    return is_covered && is_uniform;
  }

  bool is_whole(void* start, std::size_t bytes) const {
    const auto position = pieces_.find(static_cast<char*>(start));
    return position != pieces_.end() && position->second.bytes == bytes;
  }

  bool affords(std::size_t extra) const noexcept { return budget == 0 || counters.mapped_now() + extra <= budget; }

  std::vector<fake::mapping> list() const {
    std::vector<fake::mapping> result;
    for (const auto& [start, part] : pieces_) {
      if (part.state == kind::mapped) {
        result.push_back({start, part.bytes});
      }
    }
    return result;
  }
  std::size_t total() const noexcept { return total_; }

 private:
  struct piece {
    std::size_t bytes;
    kind state;
  };
  using pieces = std::map<char*, piece>;

  pieces::const_iterator find_piece(char* address) const {
    auto next = pieces_.upper_bound(address);
    if (next == pieces_.begin()) return pieces_.end();
    --next;
    return address < next->first + next->second.bytes ? next : pieces_.end();
  }

  template <class Each>
  bool for_range(char* start, std::size_t bytes, Each visit) const {
    char* position = start;
    while (position < start + bytes) {
      const auto piece_found = find_piece(position);
      if (piece_found == pieces_.end()) return false;
      visit(piece_found->second);
      position = piece_found->first + piece_found->second.bytes;
    }
    return true;
  }
  bool holds(char* start, std::size_t bytes) const {
    return for_range(start, bytes, [](const piece&) {});
  }

  void split(char* address) {
    const auto piece_found = find_piece(address);
    if (piece_found == pieces_.end() || piece_found->first == address) return;
    const piece whole = piece_found->second;
    const auto before = static_cast<std::size_t>(address - piece_found->first);
    pieces_[piece_found->first].bytes = before;
    pieces_.emplace(address, piece{whole.bytes - before, whole.state});
  }

  pieces pieces_;
  std::size_t total_ = 0;
};

// It is never destroyed, because the engine maps and unmaps until the process is gone.
failing& failures() {
  static auto* const only = [] {
    auto* const instance = new failing;
    // The environment can ask for failures before main, which a test cannot.
    if (const char* const n = std::getenv("FAKE_FAIL_REQUEST")) instance->plan(std::strtoull(n, nullptr, 10), false);
    return instance;
  }();
  return *only;
}
ledger& mapping_ledger() {
  static auto* const only = [] {
    auto* const instance = new ledger;
    failures();
    // The forking thread holds these locks, so that no lock of the child belongs to a thread that it does not have.
    pthread_atfork([] { mapping_ledger().mutex.lock(), failures().lock().lock(); },
                   [] { failures().lock().unlock(), mapping_ledger().mutex.unlock(); },
                   [] { failures().lock().unlock(), mapping_ledger().mutex.unlock(); });
    return instance;
  }();
  return *only;
}

// A call that changes the mappings: it is counted, holds their lock, and keeps errno.
struct request {
  request() noexcept { call_counters::count(kernel_calls); }

  base::errno_kept keep;
  ledger& map = mapping_ledger();
  std::lock_guard<std::mutex> hold{map.mutex};
};

void enter(std::atomic<std::uint64_t>& kind) noexcept {
  call_counters::count(kind);
  call_counters::count(kernel_calls);
}

bool is_pages(std::size_t bytes) noexcept { return bytes != 0 && bytes % page_bytes() == 0; }

void* map_exactly(char* address, std::size_t bytes, std::size_t alignment) noexcept {
  if (!base::is_aligned(address, alignment)) return nullptr;
  void* const start = mapping::make(counters, bytes, alignment, address - guard_bytes);
  if (start != nullptr && start != address) {
    mapping::destroy(counters, start, bytes);
    return nullptr;
  }
  return start;
}

// Moves all of a mapping, which then is gone, or a part of one.
bool move_to(const char* name, bool is_whole, void* start, std::size_t bytes, void* target,
             std::size_t target_bytes) noexcept {
  const request call;
  ledger& map = call.map;
  if (!map.is_mapped_as(start, bytes, true) || (is_whole && !map.is_whole(start, bytes)) ||
      !map.is_mapped_as(target, target_bytes, true) || !map.is_whole(target, target_bytes) || bytes > target_bytes) {
    report_violation(
        name, start, bytes,
        is_whole ? "not from one whole mapping to a larger one" : "not from a mapping to a whole one that is larger");
  }
  if (failures().next()) {
    mapping::destroy(counters, target, target_bytes);
  } else if (is_whole ? mapping::move(counters, start, bytes, target, target_bytes)
                      : mapping::move_part(counters, start, bytes, target, target_bytes)) {
    if (is_whole) {
      map.remove(start, bytes);
      counters.unmapped(bytes);
    }
    return true;
  }
  map.remove(target, target_bytes);
  counters.unmapped(target_bytes);
  return false;
}

}  // namespace

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void* map(std::size_t bytes, std::size_t alignment) noexcept {
  if (!is_pages(bytes) || !base::is_power_of_two(alignment) || alignment < page_bytes()) {
    report_violation("map", nullptr, bytes, "not whole pages, or no alignment");
  }
  const request call;
  ledger& map = call.map;
  if (failures().next()) return nullptr;
  char* const address = map.next_place;
  map.next_place = nullptr;
  if (!map.affords(bytes)) {
    failures().count_refusal();
    return nullptr;
  }
  char* const wish = map.near_place == nullptr ? nullptr : map.near_place - guard_bytes;
  void* const start =
      address == nullptr ? mapping::make(counters, bytes, alignment, wish) : map_exactly(address, bytes, alignment);
  if (start != nullptr) {
    map.add(start, bytes, ledger::kind::mapped);
    counters.mapped(bytes);
  }
  return start;
}

void* reserve(std::size_t bytes) noexcept {
  if (!is_pages(bytes)) report_violation("reserve", nullptr, bytes, "not whole pages");
  const request call;
  ledger& map = call.map;
  if (failures().next()) return nullptr;
  void* const start = mapping::reserve(counters, bytes);
  if (start != nullptr) map.add(start, bytes, ledger::kind::reserved);
  return start;
}

bool make_writable(void* start, std::size_t bytes) noexcept {
  const request call;
  ledger& map = call.map;
  if (!is_pages(bytes) || !map.is_mapped_as(start, bytes, false)) {
    report_violation("make_writable", start, bytes, "no part of reserve's address space, or writable already");
  }
  if (failures().next()) return false;
  if (!map.affords(bytes)) {
    failures().count_refusal();
    return false;
  }
  if (!mapping::open(counters, start, bytes)) return false;
  map.remove(start, bytes);
  map.add(start, bytes, ledger::kind::made_writable);
  counters.mapped(bytes);
  return true;
}

bool make_inaccessible(void* start, std::size_t bytes) noexcept {
  const request call;
  ledger& map = call.map;
  if (!is_pages(bytes) || !map.is_mapped_as(start, bytes, true)) {
    report_violation("make_inaccessible", start, bytes, "no writable part of reserve's address space");
  }
  if (failures().next() || !mapping::close(counters, start, bytes)) return false;
  map.remove(start, bytes);
  map.add(start, bytes, ledger::kind::reserved);
  counters.unmapped(bytes);
  return true;
}

void unmap(void* start, std::size_t bytes) noexcept {
  const request call;
  ledger& map = call.map;
  if (!is_pages(bytes) || !map.is_mapped_as(start, bytes, true) || !map.is_whole(start, bytes)) {
    report_violation("unmap", start, bytes, "no whole mapping");
  }
  map.remove(start, bytes);
  mapping::destroy(counters, start, bytes);
  counters.unmapped(bytes);
}

// Tests that count mappings must see the end of each one, so no address is kept.
bool keep_addresses(void*, std::size_t) noexcept { return false; }
void give_addresses(void* start, std::size_t bytes) noexcept {
  report_violation("give_addresses", start, bytes, "no addresses that were kept");
}

bool resize(void* start, std::size_t old_bytes, std::size_t new_bytes) noexcept {
  const request call;
  ledger& map = call.map;
  if (!is_pages(new_bytes) || !map.is_mapped_as(start, old_bytes, true) || !map.is_whole(start, old_bytes)) {
    report_violation("resize", start, old_bytes, "no mapping of this size");
  }
  if (new_bytes > old_bytes) {
    if (failures().next() || refuses_growth.load()) return false;
    if (!map.affords(new_bytes - old_bytes)) {
      failures().count_refusal();
      return false;
    }
  }
  if (!mapping::resize(counters, start, old_bytes, new_bytes)) return false;
  map.remove(start, old_bytes);
  map.add(start, new_bytes, ledger::kind::mapped);
  counters.mapped(new_bytes);
  counters.unmapped(old_bytes);
  return true;
}

bool move(void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept {
  return move_to("move", true, start, bytes, target, target_bytes);
}
bool move_part(void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept {
  return move_to("move_part", false, start, bytes, target, target_bytes);
}

bool purge(void* start, std::size_t bytes) noexcept {
  const base::errno_kept keep;
  enter(counters.madvise);
  {
    ledger& map = mapping_ledger();
    const std::lock_guard hold(map.mutex);
    if (!is_pages(bytes) || !map.is_mapped_as(start, bytes, true)) {
      report_violation("purge", start, bytes, "no part of a mapping");
    }
  }
  if (void (*const call)() = at_each_purge.load()) call();
  if (refuses_purges.load() || ::madvise(start, bytes, MADV_DONTNEED) != 0) return false;
  call_counters::count(counters.purge_runs);
  call_counters::count(counters.purge_bytes, bytes);
  return true;
}

bool prefault(void* start, std::size_t bytes) noexcept {
  enter(counters.madvise);
  ledger& map = mapping_ledger();
  const std::lock_guard hold(map.mutex);
  if (!map.is_mapped_as(start, bytes, true)) report_violation("prefault", start, bytes, "no part of a mapping");
  if (failures().next()) return false;
  volatile char* const bytes_of = static_cast<volatile char*>(start);
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes()) bytes_of[offset] = bytes_of[offset];
  call_counters::count(prefaulted, bytes);
  return true;
}

void advise_huge(void* start, std::size_t bytes, bool asks_for_huge) noexcept {
  enter(counters.madvise);
  ledger& map = mapping_ledger();
  const std::lock_guard hold(map.mutex);
  if (!map.is_mapped_as(start, bytes, true)) report_violation("advise_huge", start, bytes, "no part of a mapping");
  call_counters::count(asks_for_huge ? huge_wanted : huge_refused);
}

std::uint64_t now_ms() noexcept { return clock_ms.load(std::memory_order_relaxed); }
void sleep_ms(std::uint32_t duration_ms) noexcept {
  clock_ms += duration_ms;
  constexpr timespec moment{0, 20'000};  // a thread for which the caller waits must be able to run
  nanosleep(&moment, nullptr);
}
void sleep_while(const std::uint32_t* word, std::uint32_t expected, std::uint32_t wanted_ms) noexcept {
  if (void (*const call)() = at_each_sleep.load()) call();
  clock_ms += __atomic_load_n(word, __ATOMIC_RELAXED) == expected ? wanted_ms : 0;
}
std::size_t address_space_limit() noexcept { return 0; }
std::size_t available_memory() noexcept { return available.load() == 0 ? SIZE_MAX : available.load(); }

std::uint32_t thread_number() noexcept { return static_cast<std::uint32_t>(gettid()); }

std::uintptr_t thread_token() noexcept { return static_cast<std::uintptr_t>(pthread_self()); }

void wait(const std::uint32_t* word, std::uint32_t expected) noexcept {
  const base::errno_kept keep;
  call_counters::count(kernel_calls);
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void wake_one(const std::uint32_t* word) noexcept {
  const base::errno_kept keep;
  call_counters::count(kernel_calls);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

system_call_counts system_calls() noexcept { return counters.calls(); }
purge_counts purge_totals() noexcept { return counters.purges(); }
std::size_t mapped_bytes() noexcept { return counters.mapped_now(); }

bool start_helper(void (*work)() noexcept) noexcept { return helper.exchange(work) == nullptr; }
void forget_helper() noexcept { helper = nullptr; }
bool wait_for_helper_end(std::uint32_t) noexcept { return helper.load() == nullptr; }

namespace fake {

void reset() noexcept {
  failures().reset();
  set_budget(0);
  map_next_at(nullptr);
  map_near(nullptr);
  refuses_growth = refuses_purges = false;
  available = 0;
  at_each_purge = nullptr;
  at_each_sleep = nullptr;
  platform::kernel_calls = prefaulted = huge_wanted = huge_refused = 0;
}

void fail_request(std::uint64_t n) noexcept { failures().plan(n, false); }
void fail_requests_from(std::uint64_t n) noexcept { failures().plan(n, true); }
std::uint64_t page_requests() noexcept { return failures().calls_made(); }
std::uint64_t refused_requests() noexcept { return failures().refused(); }

void set_budget(std::size_t bytes) noexcept {
  const std::lock_guard hold(mapping_ledger().mutex);
  mapping_ledger().budget = bytes;
}
void set_available_memory(std::size_t bytes) noexcept { available = bytes; }
void map_next_at(void* address) noexcept {
  const std::lock_guard hold(mapping_ledger().mutex);
  mapping_ledger().next_place = static_cast<char*>(address);
}
void map_near(void* address) noexcept {
  const std::lock_guard hold(mapping_ledger().mutex);
  mapping_ledger().near_place = static_cast<char*>(address);
}
void refuse_growth(bool is_refused) noexcept { refuses_growth = is_refused; }
void refuse_purges(bool is_refused) noexcept { refuses_purges = is_refused; }
void call_at_purge(void (*call)()) noexcept { at_each_purge = call; }
void call_at_sleep(void (*call)()) noexcept { at_each_sleep = call; }

std::vector<mapping> mappings() {
  const std::lock_guard hold(mapping_ledger().mutex);
  return mapping_ledger().list();
}
std::size_t outstanding_bytes() noexcept {
  const std::lock_guard hold(mapping_ledger().mutex);
  return mapping_ledger().total();
}

std::uint64_t kernel_calls() noexcept { return platform::kernel_calls.load(); }
std::uint64_t prefaulted_bytes() noexcept { return prefaulted.load(); }
std::uint64_t huge_advices(bool asks_for_huge) noexcept { return (asks_for_huge ? huge_wanted : huge_refused).load(); }

bool run_helper() noexcept {
  void (*const work)() noexcept = helper.exchange(nullptr);
  if (work != nullptr) work();
  return work != nullptr;
}

void set_now_ms(std::uint64_t now) noexcept { clock_ms = now; }
void advance_ms(std::uint64_t amount) noexcept { clock_ms += amount; }

}  // namespace fake
}  // namespace tarn::platform
