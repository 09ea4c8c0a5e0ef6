#include <tarn/detail/fast_clock.hpp>
#include <tarn/io/journal.hpp>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "io/journal_file.hpp"
#include "io/journal_format.hpp"
#include "platform/race_detector.hpp"

namespace tarn::io {
using namespace journal_format;

namespace {

// Counts the forks of this process and of its ancestors.
constinit std::atomic<unsigned> forks{0};

// Registers at load, because a fork that has already begun ignores handlers that are registered later.
[[gnu::constructor]] void count_forks() noexcept {
  ::pthread_atfork(journal_file::prepare_fork, journal_file::finish_fork_in_parent, [] {
    forks.fetch_add(1, std::memory_order_relaxed);
    journal_file::finish_fork_in_child();
  });
}

// A later chdir(2) must not lead reopen() to another file.
std::string make_absolute(std::string path) {
  std::error_code failed;
  const std::filesystem::path full = std::filesystem::absolute(path, failed);
  if (!failed && !path.empty()) path = full.native();
  return path;
}

// Numbers a thread when it appends for the first time. Numbers begin with 1.
[[gnu::noinline]] unsigned number_thread() noexcept {
  // A blocked SIGBUS ends the process in spite of its handler. A truncated file must not end it, so unblock the signal.
  sigset_t bus;
  ::sigemptyset(&bus);
  ::sigaddset(&bus, SIGBUS);
  ::pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
  static std::atomic<unsigned> threads{0};
  return threads.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Initial-exec: a signal handler must not be the first one to allocate the memory of thread-local variables.
struct thread_record {
  unsigned number = 0;
  std::atomic<unsigned> lanes{0};  // of all journals, that the thread is in or tries; only the thread writes it
  std::atomic<std::uint64_t> other_tick{0};  // of its last line in another lane than the one that it tries first
};
constinit thread_local thread_record this_thread [[gnu::tls_model("initial-exec")]];

// Adds to the lanes of the calling thread, which a signal handler may read between any two instructions.
void count_lane(unsigned change) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  this_thread.lanes.store(this_thread.lanes.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Returns the lane that a thread tries first. Threads are spread over the lanes one after the other.
unsigned own_lane() noexcept {
  if (this_thread.number == 0) [[unlikely]] {
    this_thread.number = number_thread();
  }
  return this_thread.number - 1;
}

// Returns the processor's counter when it differs from `tick`. Lines of one tick are read in the order of their
// numbers, which a thread's lines in several lanes do not have. The counter of an Arm processor may have 24 million
// ticks a second, and then two lines often have one tick.
[[gnu::noinline]] std::uint64_t next_tick(std::uint64_t tick) noexcept {
  for (;;) {
    if (const std::uint64_t now = tarn::detail::clock_tick(); now != tick) return now;
  }
}

// The lanes for signal handlers, as a multiple of the others. A thread that is interrupted inside an append so many
// times, by handlers that append inside each other, still finds a lane, if half of the chunks suffice for all lanes.
constexpr std::uint64_t nested_appends = 3;

// Attempts of a signal handler to find a lane: the threads that have them may leave them meanwhile.
constexpr unsigned max_attempts = 16;

}  // namespace

// Only the thread that has set `is_busy` writes a lane. `write_position` is null in a lane without a chunk. The file of
// a lane with a chunk stays, because reopen() enters all lanes before it destroys a file.
struct alignas(128) journal::lane {
  std::atomic<bool> is_busy{false};
  char* write_position = nullptr;  // where the next line begins; there is a mark of 0, if there is room for one
  char* end = nullptr;             // of the chunk
  char* begin = nullptr;
  journal_file* file = nullptr;
  std::uint64_t slot = 0;
  std::uint64_t number = 0;    // of the chunk: the word at `begin`, unless the file was truncated
  unsigned restorations = 0;   // of the file, before the chunk was begun
  std::uint64_t next = 0;      // number of the next line
  std::uint64_t reserved = 0;  // numbers below are this lane's

  void begin_chunk(journal_file& target, std::uint64_t of_slot, std::uint64_t chunk_number) noexcept {
    file = &target;
    slot = of_slot;
    number = chunk_number;
    begin = target.chunk_at(slot);
    write_position = begin + sizeof(chunk_header);
    end = begin + target.chunk_bytes();
  }
  void leave_chunk() noexcept {
    if (write_position != nullptr) file->leave_chunk(slot);
    write_position = nullptr;
  }
};

struct journal::state {
  std::string path;
  journal_options options;
  unsigned forks_at_open = 0;
  std::atomic<bool> reported_drops{false};
  std::unique_ptr<journal_file> own_file;
  std::uint64_t earlier_truncations = 0;   // of files that reopen() has closed
  std::atomic<journal_file*> file;         // the address of own_file, for threads that have a lane
  std::atomic<std::uint32_t> chunk_bytes;  // of that file, or of the one before while reopen() runs
  // The first lanes are for all appends; their number is a power of two. The others are for signal handlers that
  // interrupted an append. Such a handler must not wait until a lane is free, because the threads that have them may
  // be in such handlers, too, which wait for its own.
  std::vector<lane> lanes;
  std::size_t last_lane = 0;  // of those for all, and so the mask of their indices
  std::atomic<std::uint64_t> dropped_lines{0};
  alignas(128) std::atomic<std::uint64_t> next_line{1};

  state(std::string path, const journal_options& options);

  /// Returns the current file, which stays as long as the calling thread is in a lane.
  journal_file& current() const noexcept { return *file.load(std::memory_order_acquire); }
  bool is_inherited() const noexcept { return forks.load(std::memory_order_relaxed) != forks_at_open; }
  void check_process() const;
  std::unique_ptr<journal_file> open_file(journal_file::cut_off_file if_truncated) const;
  void skip_lines(std::uint64_t min_line) noexcept;
  /// Returns null if the lane that this thread prefers is taken.
  lane* enter_preferred();
  /// Returns null, in a signal handler that interrupted an append, if no lane is free.
  lane* enter_another() noexcept;
  void drop_line() noexcept;
  static bool try_to_enter(lane& tried) noexcept;
  static void leave(lane& left) noexcept;
  void turn(lane& own_lane, journal_file& target) noexcept;
  static std::size_t longest_line_of(std::uint32_t chunk) noexcept {
    return chunk - sizeof(chunk_header) - sizeof(line_header);
  }
  std::size_t longest_line() const noexcept { return longest_line_of(chunk_bytes.load(std::memory_order_acquire)); }
  [[noreturn]] void fail_long(std::size_t size, std::size_t longest) const;
};

journal::state::state(std::string path_, const journal_options& options_)
    : path(std::move(path_)), options(options_), own_file(std::make_unique<journal_file>(path, options)) {
  forks_at_open = forks.load(std::memory_order_relaxed);
  const std::uint64_t chunks = own_file->chunks();
  const std::uint64_t for_all = std::bit_floor(std::clamp<std::uint64_t>(options.lanes, 1, chunks / 4));
  lanes = std::vector<lane>(std::min(for_all * (1 + nested_appends), chunks / 2));
  last_lane = for_all - 1;
  skip_lines(own_file->next_file().next_line);
  // The first lane continues where the file ends.
  if (const journal_file::continuation& unfinished = own_file->next_file(); unfinished.slot_number != 0) {
    lane& first = lanes.front();
    first.begin_chunk(*own_file, unfinished.slot, unfinished.slot_number);
    first.write_position = first.begin + unfinished.offset;
    first.next = unfinished.next;
    first.reserved = unfinished.reserved;
    first.restorations = own_file->settled_restorations();
  }
  chunk_bytes.store(own_file->chunk_bytes(), std::memory_order_relaxed);
  file.store(own_file.get(), std::memory_order_release);
}

// Ensures that no line gets a number below this one.
void journal::state::skip_lines(std::uint64_t min_line) noexcept {
  std::uint64_t next = next_line.load(std::memory_order_relaxed);
  while (next < min_line && !next_line.compare_exchange_weak(next, min_line, std::memory_order_relaxed)) {
  }
}

inline void journal::state::check_process() const {
  if (is_inherited()) [[unlikely]] {
    throw std::logic_error(path + ": a journal of the parent process; a forked child must open its own");
  }
}

inline bool journal::state::try_to_enter(lane& tried) noexcept {
  count_lane(1);
  // acquire: this thread sees the stores of the last one in the lane. Otherwise two lines could begin at one address.
  const bool is_mine = !tried.is_busy.exchange(true, std::memory_order_acquire);
  if (is_mine) {
    platform::note_acquire(&tried.is_busy);
  } else {
    count_lane(~0u);
  }
  return is_mine;
}

// Each thread that is inside has a lane of its own, so a thread that is stopped in the middle blocks no other.
inline journal::lane* journal::state::enter_preferred() {
  check_process();
  lane& preferred = lanes[own_lane() & last_lane];
  return try_to_enter(preferred) ? &preferred : nullptr;
}

// A thread that has no lane may wait, because threads that have one do not wait for another.
journal::lane* journal::state::enter_another() noexcept {
  const bool has_a_lane = this_thread.lanes.load(std::memory_order_relaxed) != 0;
  for (unsigned attempt = 1;; ++attempt) {
    for (std::size_t number = last_lane + 1; has_a_lane && number < lanes.size(); ++number) {
      if (try_to_enter(lanes[number])) return &lanes[number];
    }
    for (std::size_t turn = 1; turn <= last_lane + 1; ++turn) {
      lane& tried = lanes[(own_lane() + turn) & last_lane];
      if (try_to_enter(tried)) return &tried;
    }
    if (has_a_lane && attempt == max_attempts) {
      drop_line();
      return nullptr;
    }
    ::sched_yield();
  }
}

void journal::state::drop_line() noexcept {
  if (dropped_lines.fetch_add(1, std::memory_order_relaxed) != 0) return;
  base::text_buffer<1024> message;
  message.append("tarn: journal ")
      .append_escaped(path, 512)
      .append(": a line of a signal handler is dropped, because ");
  message.append("interrupted appends have all ").decimal(lanes.size());
  message.append(" lanes: raise journal_options::lanes\n").write_to(STDERR_FILENO);
}

inline void journal::state::leave(lane& left) noexcept {
  // release: pairs with the acquire of the next thread in this lane. Inline code of the program wrote the line.
  platform::note_release(&left.is_busy);
  left.is_busy.store(false, std::memory_order_release);
  count_lane(~0u);
}

// Takes the next chunk, for a lane that has none, or whose chunk is full or was lost.
void journal::state::turn(lane& own_lane, journal_file& target) noexcept {
  if (own_lane.reserved != 0) {
    // Returns the unused line numbers if no other lane has reserved more, so that one thread's numbers have no gaps.
    std::uint64_t expected = own_lane.reserved;
    next_line.compare_exchange_strong(expected, own_lane.next, std::memory_order_relaxed);
  }
  own_lane.leave_chunk();
  // Comes first, so that the next line notices a truncation that happens during this function.
  own_lane.restorations = target.settled_restorations();
  std::uint64_t slot;
  const std::uint64_t number = target.take_chunk(slot);
  own_lane.next = next_line.fetch_add(max_lines(target.chunk_bytes()), std::memory_order_relaxed);
  own_lane.reserved = own_lane.next + max_lines(target.chunk_bytes());
  own_lane.begin_chunk(target, slot, number);

  chunk_header head{number, own_lane.next, target.session(), 0};
  head.check = check_of(head, target.key());
  store_word(own_lane.begin, 0);           // 1. no chunk: its lines, the oldest ones, are dropped
  store_word(own_lane.write_position, 0);  // 2. the end, before anybody can take old bytes for a line
  std::memcpy(own_lane.begin + sizeof number, reinterpret_cast<char*>(&head) + sizeof number,
              sizeof head - sizeof number);
  store_word(own_lane.begin, number);  // 3. a chunk without a line
}

// Opens the file that the path names now. Throws if it has too few chunks for the lanes.
std::unique_ptr<journal_file> journal::state::open_file(journal_file::cut_off_file if_truncated) const {
  auto opened = std::make_unique<journal_file>(path, options, if_truncated);
  if (opened->chunks() / 2 < lanes.size()) {
    throw error(EINVAL, path,
                "is a journal of " + std::to_string(opened->chunks()) + " chunks, and this one needs " +
                    std::to_string(2 * lanes.size()),
                error::nowhere, error::ending::without_reason);
  }
  return opened;
}

void journal::state::fail_long(std::size_t size, std::size_t longest) const {
  throw std::length_error(path + ": a line of " + std::to_string(size) + " bytes; the longest is " +
                          std::to_string(longest));
}

journal::journal(std::string path, journal_options options)
    : state_(std::make_unique<state>(make_absolute(std::move(path)), options)) {}

journal::~journal() = default;

std::uint64_t journal::append(std::string_view text) {
  // A line that is too long needs no lane. reopen() may change the file afterwards, so turn() tests the size again.
  if (const std::size_t longest = state_->longest_line(); text.size() > longest) {
    state_->fail_long(text.size(), longest);
  }
  entry line(*this);
  if (line.is_dropped()) [[unlikely]] {
    return 0;
  }
  for (;;) {
    if (text.size() > line.room) line.turn(text.size());
    text.copy(line.buffer, text.size());
    if (const std::uint64_t number = line.commit(text.size()); number != 0) [[likely]] {
      return number;
    }
  }
}

[[gnu::always_inline]] inline void journal::entry::begin() noexcept {
  store_word(own_lane->write_position, mark_of(part, own_lane->file->session(), 0));
  buffer = own_lane->write_position + sizeof(line_header);
  room = static_cast<std::size_t>(own_lane->end - buffer);
  tick = tarn::detail::clock_tick();
  if (tick == this_thread.other_tick.load(std::memory_order_relaxed)) [[unlikely]] {
    tick = next_tick(tick);
  }
  // Prefetches the cache lines of the next lines for writing. Otherwise the next entry into a lane waits for them.
  constexpr std::size_t cache_line = 64, first_ahead = 10, lines_ahead = 4;
  for (std::size_t number = 0; number < lines_ahead; ++number) {
    __builtin_prefetch(own_lane->write_position + (first_ahead + number) * cache_line, 1);
  }
}

[[gnu::always_inline]] inline void journal::entry::begin_in_lane() noexcept {
  journal_file& target = owner.current();
  if (own_lane->write_position == nullptr || own_lane->file != &target ||
      static_cast<std::size_t>(own_lane->end - own_lane->write_position) < sizeof(line_header)) {
    owner.turn(*own_lane, target);
  }
  begin();
}

journal::entry::entry(journal& log) : owner(*log.state_), own_lane(owner.enter_preferred()) {
  if (own_lane == nullptr) [[unlikely]] {
    enter_another();
  } else {
    begin_in_lane();
  }
}

[[gnu::noinline]] void journal::entry::enter_another() noexcept {
  next_tick(tarn::detail::clock_tick());  // the line before may have this tick
  own_lane = owner.enter_another();
  if (is_dropped()) {
    buffer = nullptr;
    room = 0;
    return;
  }
  begin_in_lane();
  this_thread.other_tick.store(tick, std::memory_order_relaxed);
}

journal::entry::~entry() {
  if (is_dropped()) [[unlikely]] {
    return;
  }
  if (buffer != nullptr) store_word(own_lane->write_position, 0);
  state::leave(*own_lane);
}

// The lane may be another one.
void journal::entry::begin_again() noexcept {
  begin();
  this_thread.other_tick.store(tick, std::memory_order_relaxed);
}

void journal::entry::turn(std::size_t size) {
  // The chunk must be of the file whose limit was tested: reopen() may change the file at any moment.
  journal_file& target = owner.current();
  const std::size_t longest = state::longest_line_of(target.chunk_bytes());
  if (size > longest) owner.fail_long(size, longest);
  store_word(own_lane->write_position, 0);
  owner.turn(*own_lane, target);
  begin_again();
}

std::uint64_t journal::entry::commit(std::size_t size) noexcept {
  TARN_CHECK(size <= room);
  journal_file& target = *own_lane->file;
  const std::uint64_t number = own_lane->next;
  const std::uint64_t mark = mark_of(whole, target.session(), size);
  const std::uint64_t check = check_of(buffer, size, mark, tick, number, target.key());
  std::memcpy(own_lane->write_position + offsetof(line_header, tick), &tick, sizeof tick);
  std::memcpy(own_lane->write_position + offsetof(line_header, check), &check, sizeof check);
  char* const behind = own_lane->write_position + step(size);
  if (behind != own_lane->end) store_word(behind, 0);
  store_word(own_lane->write_position, mark);
  // Checks for a truncation after all stores, because each of them may have touched a lost page. The chunk's number is
  // also gone, without any fault, if somebody truncated the file and made it as long as before.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool is_counted = target.restorations() != own_lane->restorations;
  if (is_counted || load_word(own_lane->begin) != own_lane->number) [[unlikely]] {
    if (!is_counted) target.restore();
    // The line may be in a part of the file that is left, and must not be there twice.
    store_word(own_lane->write_position, 0);
    owner.turn(*own_lane, target);
    begin_again();
    return 0;
  }
  own_lane->write_position = behind;
  ++own_lane->next;
  buffer = nullptr;
  return number;
}

bool journal::reopen() {
  state& shared_state = *state_;
  shared_state.check_process();
  journal_file& before = *shared_state.own_file;
  const bool is_same_file = before.has_its_path();
  if (is_same_file && before.detach_error() == 0) return false;
  std::unique_ptr<journal_file> next;
  if (is_same_file) {
    before.unlock();
    try {
      next = shared_state.open_file(journal_file::cut_off_file::is_extended);
    } catch (...) {
      before.lock_again();  // the journal stays this process's, and a later attempt may succeed
      throw;
    }
  } else {
    next = shared_state.open_file(journal_file::cut_off_file::is_refused);
  }
  shared_state.skip_lines(next->next_file().next_line);
  if (next->next_file().slot_number != 0) next->leave_chunk(next->next_file().slot);
  // release: a thread that sees the file's address sees its content.
  shared_state.file.store(next.get(), std::memory_order_release);
  // release: a thread that has seen longest_line() grow finds the file that has room for such a line.
  shared_state.chunk_bytes.store(next->chunk_bytes(), std::memory_order_release);
  for (lane& writer_lane : shared_state.lanes) {
    // When this thread is in the lane, every thread that entered it earlier has left. A thread that enters later sees
    // the new file, because the exchanges of one lane have an order. An idle lane drops the old file here.
    while (!state::try_to_enter(writer_lane)) ::sched_yield();
    if (writer_lane.file == &before) writer_lane.leave_chunk();
    state::leave(writer_lane);
  }
  shared_state.earlier_truncations += before.truncations();
  shared_state.own_file = std::move(next);  // nobody is in the old one
  return true;
}

bool journal::is_inherited() const noexcept { return state_->is_inherited(); }

void journal::report_dropped_line() const noexcept {
  if (!is_inherited() || state_->reported_drops.exchange(true, std::memory_order_relaxed)) return;
  base::text_buffer<1024> message;
  message.append("tarn: journal ").append_escaped(state_->path, 512).append(": process ");
  message.decimal(static_cast<std::uint64_t>(::getpid()));
  message.append(" is a forked child of the one that opened it, so its log lines are dropped: open a journal after ");
  message.append("fork() or daemon()\n").write_to(STDERR_FILENO);
}

std::size_t journal::longest_line() const noexcept { return state_->longest_line(); }

const std::string& journal::path() const noexcept { return state_->path; }

std::uint64_t journal::dropped_lines() const noexcept { return state_->dropped_lines.load(std::memory_order_relaxed); }

std::uint64_t journal::truncations() const noexcept {
  return state_->earlier_truncations + state_->own_file->truncations();
}

void journal::sync() {
  state_->check_process();
  state_->own_file->sync();
}

}  // namespace tarn::io
