#include <tarn/io/journal.hpp>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <stdexcept>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/check.hpp"
#include "io/journal_format.hpp"
#include "platform/files.hpp"

namespace tarn::io {
namespace files = platform::files;
using namespace journal_format;

namespace {

// A clock that costs no system call and, on one machine since its start, only grows, over all processors.
std::uint64_t now_ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

// For signal handlers and the dead, not for other threads: the compiler keeps the order of the stores around it. A
// reader in another process needs no more than that either, as it believes checksums, but release costs nothing here.
void store(char* at, std::uint64_t word) noexcept {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(word, std::memory_order_release);
}

// How often this process and its ancestors were forked.
std::atomic<unsigned> forks{0};

void count_forks() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

std::uint64_t random_key() noexcept {
  std::uint64_t key = now_ticks();
  static_cast<void>(::getrandom(&key, sizeof key, GRND_NONBLOCK));
  return key;
}

// Which lane a thread tries first. Threads are spread one after the other.
unsigned own_lane() noexcept {
  static std::atomic<unsigned> threads{0};
  thread_local unsigned own = 0;
  if (own == 0) own = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return own - 1;
}

}  // namespace

// Written by the thread that has `busy`, and by no other.
struct alignas(128) journal::lane {
  std::atomic<bool> busy{false};
  char* at = nullptr;   // where the next line begins; there is a mark of 0, if there is room for one
  char* end = nullptr;  // of the chunk
  std::uint64_t slot = 0;
  std::uint64_t next = 0;      // number of the next line
  std::uint64_t reserved = 0;  // numbers below are this lane's
};

struct journal::state {
  file target;
  char* start = nullptr;
  std::size_t bytes = 0;
  std::uint32_t chunk_bytes = 0;
  std::uint64_t chunks = 0;
  std::uint64_t key = 0;
  std::uint32_t session = 1;
  unsigned forks_then = 0;
  std::vector<lane> lanes;
  std::vector<std::atomic<bool>> held;  // slots that a lane writes into
  alignas(128) std::atomic<std::uint64_t> next_chunk{1};
  std::atomic<std::uint64_t> next_line{1};

  explicit state(std::string path, const journal_options& options);
  ~state() {
    if (start != nullptr) files::unmap(start, bytes);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  bool is_all_zeros(const header& first);
  header make(const journal_options& options);
  void recover();
  char* chunk_at(std::uint64_t slot) const noexcept { return start + header_bytes + slot * chunk_bytes; }
  std::size_t longest_line() const noexcept { return chunk_bytes - sizeof(chunk_header) - sizeof(line_header); }
  lane& enter();
  void turn(lane& mine) noexcept;
  [[noreturn]] void fail_long(std::size_t size) const;
};

journal::state::state(std::string path, const journal_options& options)
    : target(file::open_to_update(std::move(path), options.mode)) {
  count_forks();
  forks_then = forks.load(std::memory_order_relaxed);
  if (const files::outcome locked = files::lock(target.descriptor()); locked < 0) {
    throw error(static_cast<int>(-locked), target.name(), "cannot be locked: somebody appends to this journal");
  }
  struct stat status;
  if (const files::outcome known = files::status(target.descriptor(), &status); known < 0) {
    throw error(static_cast<int>(-known), target.name(), "has no status");
  }
  header first{};
  char* const to = reinterpret_cast<char*>(&first);
  std::size_t got = 0;
  for (std::size_t now; got < sizeof first && (now = target.read_some(to + got, sizeof first - got)) != 0;) got += now;
  const char* const wrong = wrong_with(first);
  if (wrong != nullptr && S_ISREG(status.st_mode) && is_all_zeros(first)) {
    first = make(options);
  } else if (wrong != nullptr) {
    throw error(EINVAL, target.name(), wrong);
  }
  chunk_bytes = first.chunk_bytes;
  chunks = first.chunks;
  key = first.key;
  bytes = header_bytes + chunks * chunk_bytes;
  if (wrong == nullptr && static_cast<std::uint64_t>(status.st_size) < bytes) {
    throw error(EINVAL, target.name(), "is a journal of " + std::to_string(bytes) + " bytes that was cut off",
                static_cast<std::uint64_t>(status.st_size));
  }
  const files::outcome mapped = files::map(target.descriptor(), 0, bytes, true);
  if (mapped < 0) {
    throw error(static_cast<int>(-mapped), target.name(), "cannot be mapped (" + std::to_string(bytes) + " bytes)");
  }
  start = reinterpret_cast<char*>(mapped);
  held = std::vector<std::atomic<bool>>(chunks);
  // A power of two, so that a thread finds its own by a mask.
  lanes = std::vector<lane>(std::bit_floor(std::clamp<std::uint64_t>(options.lanes, 1, chunks / 2)));
  recover();
  if (options.prepare != 0) {
    constexpr int populate_write = 23;  // MADV_POPULATE_WRITE of Linux 5.14; advice, so it may fail
    files::advise(start, std::min<std::uint64_t>(bytes, options.prepare), populate_write);
  }
}

// An empty file, or one of somebody who died before he had written the header. A stranger's file may begin with zeros,
// too: it is looked through to its end.
bool journal::state::is_all_zeros(const header& first) {
  constexpr header nothing{};
  if (std::memcmp(&first, &nothing, sizeof first) != 0) return false;
  std::string block(64 * 1024, '\0');
  for (std::size_t got; (got = target.read_some(block.data(), block.size())) != 0;) {
    if (std::any_of(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got),
                    [](char byte) { return byte != 0; })) {
      return false;
    }
  }
  return true;
}

header journal::state::make(const journal_options& options) {
  if (!std::has_single_bit(options.chunk) || options.chunk < least_chunk || options.chunk > largest_chunk) {
    throw std::invalid_argument("a journal's chunk of " + std::to_string(options.chunk) +
                                " bytes: not a power of two from 1024 to 2^30");
  }
  header made{};
  std::memcpy(made.magic, magic, sizeof magic);
  made.version = version;
  made.chunk_bytes = options.chunk;
  made.chunks = std::clamp<std::uint64_t>(options.bytes / options.chunk, least_chunks, most_chunks);
  made.key = random_key();
  made.check = check_of(made);
  // Every page has its place on the disk from the start: a full disk is an error here, and no SIGBUS later.
  const files::outcome room = files::allocate(target.descriptor(), header_bytes + made.chunks * made.chunk_bytes);
  if (room < 0) {
    files::cut(target.descriptor(), 0);  // what there was of it; the file had no lines
    throw error(static_cast<int>(-room), target.name(),
                "has no room for a journal of " + std::to_string(made.chunks * made.chunk_bytes) + " bytes");
  }
  // In one call: nobody dies in the middle of it.
  const std::string_view bytes_of_header(reinterpret_cast<const char*>(&made), sizeof made);
  if (const files::outcome at = files::seek(target.descriptor(), 0, SEEK_SET); at != 0) {
    throw error(static_cast<int>(-at), target.name(), "cannot be written at its start");
  }
  target.write_some({&bytes_of_header, 1});
  return made;
}

// Goes on where the journal ends. The chunk with the highest first line has the highest lines of all (numbers are
// reserved in the order in which chunks are taken), so only that one is walked. If it ends well it is written on.
void journal::state::recover() {
  std::uint64_t newest_slot = 0, newest_first = 0, highest = 0, last_session = 0;
  for (std::uint64_t slot = 0; slot < chunks; ++slot) {
    chunk_header found;
    std::memcpy(&found, chunk_at(slot), sizeof found);
    if (!is_chunk_of(found, slot, chunks, key)) continue;
    highest = std::max(highest, found.number);
    last_session = std::max(last_session, found.session);
    if (found.first > newest_first) newest_first = found.first, newest_slot = slot;
  }
  next_chunk.store(highest + 1, std::memory_order_relaxed);
  session = static_cast<std::uint32_t>(last_session + 1);
  if (newest_first == 0) return;

  std::uint64_t number = newest_first;
  chunk_walk walk(chunk_at(newest_slot), chunk_bytes);
  while (walk.next()) {
    last_session = std::max<std::uint64_t>(last_session, session_of(walk.line().mark));
    ++number;
  }
  session = static_cast<std::uint32_t>(last_session + 1);
  const std::uint64_t reserved = newest_first + most_lines(chunk_bytes);
  if (!walk.is_torn() && !walk.is_lost()) {
    lane& first = lanes.front();
    first.at = chunk_at(newest_slot) + walk.offset();
    first.end = chunk_at(newest_slot) + chunk_bytes;
    first.slot = newest_slot;
    first.next = number;
    first.reserved = reserved;
    held[newest_slot].store(true, std::memory_order_relaxed);
  }
  // Where it does not end well there may be more lines than were seen: none of their numbers comes again.
  next_line.store(walk.is_torn() ? number : reserved, std::memory_order_relaxed);
}

// Everybody who is inside has a lane of his own, so a thread that is stopped in the middle keeps nobody from appending.
journal::lane& journal::state::enter() {
  if (forks.load(std::memory_order_relaxed) != forks_then) {
    throw std::logic_error(target.name() + ": a journal of the parent process; a forked child must open its own");
  }
  const std::size_t mask = lanes.size() - 1, first = own_lane();
  for (;;) {
    for (std::size_t turn = 0; turn <= mask; ++turn) {
      lane& tried = lanes[(first + turn) & mask];
      // acquire: what the last one wrote into the lane is seen here. Otherwise two lines would begin at one place.
      if (!tried.busy.exchange(true, std::memory_order_acquire)) [[likely]] {
        return tried;
      }
    }
    ::sched_yield();
  }
}

// The next chunk for a lane that has none, or whose chunk is full.
void journal::state::turn(lane& mine) noexcept {
  if (mine.at != nullptr) {
    // Numbers that nobody used, if nobody has reserved more: so one thread's numbers have no gaps.
    std::uint64_t expected = mine.reserved;
    next_line.compare_exchange_strong(expected, mine.next, std::memory_order_relaxed);
    // release: the next one who takes this slot writes after all that was written here.
    held[mine.slot].store(false, std::memory_order_release);
  }
  std::uint64_t number;
  do {  // ends: the lanes hold at most half of the slots
    number = next_chunk.fetch_add(1, std::memory_order_relaxed);
    mine.slot = (number - 1) % chunks;
  } while (held[mine.slot].exchange(true, std::memory_order_acquire));
  mine.next = next_line.fetch_add(most_lines(chunk_bytes), std::memory_order_relaxed);
  mine.reserved = mine.next + most_lines(chunk_bytes);

  char* const begin = chunk_at(mine.slot);
  chunk_header made{number, mine.next, session, 0};
  made.check = check_of(made, key);
  store(begin, 0);                // 1. no chunk: its lines, the oldest, are gone
  store(begin + sizeof made, 0);  // 2. the end, before anybody can take old bytes for a line
  std::memcpy(begin + sizeof number, reinterpret_cast<char*>(&made) + sizeof number, sizeof made - sizeof number);
  store(begin, number);  // 3. a chunk without a line
  mine.at = begin + sizeof made;
  mine.end = begin + chunk_bytes;
}

void journal::state::fail_long(std::size_t size) const {
  throw std::length_error(target.name() + ": a line of " + std::to_string(size) + " bytes; the longest is " +
                          std::to_string(longest_line()));
}

journal::journal(std::string path, journal_options options)
    : state_(std::make_unique<state>(std::move(path), options)) {}

journal::~journal() = default;

std::uint64_t journal::append(std::string_view text) {
  if (text.size() > state_->longest_line()) state_->fail_long(text.size());
  entry line(*this);
  if (text.size() > line.room) line.turn(text.size());
  std::memcpy(line.place, text.data(), text.size());
  return line.commit(text.size());
}

journal::entry::entry(journal& of) : all(*of.state_), mine(all.enter()) {
  if (mine.at == nullptr || static_cast<std::size_t>(mine.end - mine.at) < sizeof(line_header)) all.turn(mine);
  store(mine.at, mark_of(part, all.session, 0));
  place = mine.at + sizeof(line_header);
  room = static_cast<std::size_t>(mine.end - place);
}

journal::entry::~entry() {
  if (place != nullptr) store(mine.at, 0);
  // release: pairs with the acquire of who enters this lane next.
  mine.busy.store(false, std::memory_order_release);
}

void journal::entry::turn(std::size_t size) {
  if (size > all.longest_line()) all.fail_long(size);
  store(mine.at, 0);
  all.turn(mine);
  store(mine.at, mark_of(part, all.session, 0));
  place = mine.at + sizeof(line_header);
  room = static_cast<std::size_t>(mine.end - place);
}

std::uint64_t journal::entry::commit(std::size_t size) noexcept {
  TARN_CHECK(size <= room);
  const std::uint64_t number = mine.next;
  line_header line{mark_of(whole, all.session, size), now_ticks(), 0};
  line.check = check_of(place, size, line.mark, line.tick, number, all.key);
  std::memcpy(mine.at + sizeof line.mark, reinterpret_cast<char*>(&line) + sizeof line.mark,
              sizeof line - sizeof line.mark);
  char* const behind = mine.at + step(size);
  if (behind != mine.end) store(behind, 0);
  store(mine.at, line.mark);
  mine.at = behind;
  ++mine.next;
  place = nullptr;
  return number;
}

std::size_t journal::longest_line() const noexcept { return state_->longest_line(); }

const std::string& journal::path() const noexcept { return state_->target.name(); }

void journal::sync() {
  files::outcome done;
  do {
    done = files::sync_map(state_->start, state_->bytes);
  } while (done == -EINTR);
  if (done < 0) {
    throw error(static_cast<int>(-done), state_->target.name(), "may not be on the disk: sync failed");
  }
}

}  // namespace tarn::io
