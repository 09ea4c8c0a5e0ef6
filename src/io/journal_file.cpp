#include "io/journal_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "base/error_text.hpp"
#include "base/text.hpp"
#include "platform/files.hpp"
#include "platform/fork_section.hpp"
#include "platform/mutex.hpp"
#include "platform/race_detector.hpp"

namespace tarn::io {
namespace files = platform::files;
using namespace journal_format;

namespace {

// A fault in a file that looks complete has one of two causes: another thread has restored the file meanwhile, or the
// disk fails. The first happens at most once for each lane, so more faults than this mean the second.
constexpr unsigned max_futile_restorations = 1u << 12;

std::uint64_t random_key() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::uint64_t key = static_cast<std::uint64_t>(now.tv_sec) << 32 ^ static_cast<std::uint64_t>(now.tv_nsec);
  static_cast<void>(::getrandom(&key, sizeof key, GRND_NONBLOCK));
  return key;
}

std::string content_of(const char* path) {
  std::string content;
  const files::outcome opened = files::open(path, O_RDONLY, 0);
  if (opened < 0) return content;
  const int descriptor = static_cast<int>(opened);
  char part[4096];
  for (files::outcome count; (count = files::read(descriptor, part, sizeof part)) > 0;) {
    content.append(part, static_cast<std::size_t>(count));
  }
  files::close(descriptor);
  return content;
}

// Makes a system call until no signal interrupts it.
template <class Call>
files::outcome retry_interrupted(Call system_call) noexcept {
  files::outcome result;
  do {
    result = system_call();
  } while (result == -EINTR);
  return result;
}

// Returns the process that locked the file, as the kernel lists it; 0 where it does not.
pid_t holder_of_lock(int descriptor) {
  struct stat status;
  if (files::status(descriptor, &status) < 0) return 0;
  const std::string locks = content_of("/proc/locks");  // 1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF
  for (std::size_t start = 0; start < locks.size();) {
    const std::size_t end = std::min(locks.find('\n', start), locks.size());
    int process = 0;
    unsigned major = 0, minor = 0;
    unsigned long inode = 0;
    if (std::sscanf(locks.substr(start, end - start).c_str(), "%*d: FLOCK %*s %*s %d %x:%x:%lu", &process, &major,
                    &minor, &inode) == 4 &&
        inode == status.st_ino && makedev(major, minor) == status.st_dev) {
      return process;
    }
    start = end + 1;
  }
  return 0;
}

// Says who has the lock that this process did not get.
std::string reason_of_lock(int descriptor) {
  const pid_t holder = holder_of_lock(descriptor);
  if (holder == ::getpid()) return "is open in this process, as another journal: close that one first";
  const std::string name = content_of(("/proc/" + std::to_string(holder) + "/comm").c_str());
  if (name.empty()) return "is open in another journal: close that one first (fuser names the processes of a file)";
  return "is open in process " + std::to_string(holder) + " (" + name.substr(0, name.find('\n')) +
         "): end that one first, or choose another path";
}

// Descriptors and mappings of a forked child hold the lock of a file, too, and would keep it after the end of the
// process that appends. So a fork waits while another thread opens, maps or closes a file, and the child finds all of
// them in this list.
constinit platform::mutex changes{platform::lock_rank::isolated};
constinit platform::fork_section forking;
constinit journal_file* newest_file = nullptr;

// Keeps forks away. Memory must not be allocated here: the fork may have the locks of the heap already. Signals are
// blocked, because a handler that forks would wait for its own thread.
class change_section {
 public:
  change_section() noexcept {
    sigset_t every;
    ::sigfillset(&every);
    ::pthread_sigmask(SIG_BLOCK, &every, &before_);
    changes.lock();
  }
  ~change_section() {
    changes.unlock();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  change_section(const change_section&) = delete;
  change_section& operator=(const change_section&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void journal_file::prepare_fork() noexcept {
  if (forking.enter()) {
    changes.lock_for_fork();
    forking.note_owner();
  }
}

void journal_file::finish_fork_in_parent() noexcept {
  if (forking.leave()) changes.unlock_after_fork();
}

void journal_file::finish_fork_in_child() noexcept {
  for (journal_file* inherited = newest_file; inherited != nullptr; inherited = inherited->next_) {
    inherited->leave_to_parent();
  }
  newest_file = nullptr;
  if (forking.leave_in_child()) changes.reset();
}

journal_file::journal_file(const std::string& path, const journal_options& options, cut_off_file if_truncated) {
  if (path.find('\0') != std::string::npos) {
    throw error(EINVAL, path.c_str(), "a path with a null byte in it cannot be opened");
  }
  bool is_new = false;
  try {
    for (;;) {
      is_new = open_or_create(path, options.mode);
      target_ = file::borrow(descriptor_, path);
      struct stat status;
      lock(status, is_new);
      // Another process may have created the file, found no room, and removed it: nobody would find lines in it.
      if (status.st_nlink != 0 || has_its_path()) {
        open(options, if_truncated, is_new, status);
        return;
      }
      close();
    }
  } catch (...) {
    // Only a file of this process is removed; another one may have its name. A child that was forked meanwhile leaves
    // it.
    if (is_new && descriptor_ >= 0 && has_its_path()) files::remove(target_.name().c_str());
    close();
    throw;
  }
}

// Returns true if it created the file.
bool journal_file::open_or_create(const std::string& path, unsigned mode) {
  if (open_descriptor(path, O_RDWR | O_CREAT | O_EXCL, mode) >= 0) return true;
  const files::outcome opened = retry_interrupted([&] { return open_descriptor(path, O_RDWR | O_CREAT, mode); });
  if (opened < 0) throw error(static_cast<int>(-opened), path, "cannot be opened to read and write");
  return false;
}

journal_file::~journal_file() { close(); }

files::outcome journal_file::open_descriptor(const std::string& path, int flags, unsigned mode) noexcept {
  const change_section section;
  const files::outcome opened = files::open(path.c_str(), flags, mode);
  if (opened >= 0) {
    descriptor_ = static_cast<int>(opened);
    next_ = newest_file;
    newest_file = this;
  }
  return opened;
}

void journal_file::close() noexcept {
  const change_section section;
  if (mapping_ != nullptr) mapping_->forget();
  if (start_ != nullptr) files::unmap(start_, bytes_);
  start_ = nullptr;
  close_descriptor();
  for (journal_file** position = &newest_file; *position != nullptr; position = &(*position)->next_) {
    if (*position == this) {
      *position = next_;
      break;
    }
  }
}

// Unlocks the file explicitly, because a child may have been forked that has not yet closed its descriptor. A child
// that was made without the handlers of a fork must not do so: it has the lock of its parent.
void journal_file::close_descriptor() noexcept {
  if (descriptor_ < 0) return;
  if (process_ == ::getpid()) ::flock(descriptor_, LOCK_UN);
  files::close(descriptor_);
  descriptor_ = -1;
}

// Also reads the status. Clears `is_new` if another process had the file between its creation and this lock: it is then
// that process's, which may have appended lines and ended since.
void journal_file::lock(struct stat& status, bool& is_new) {
  const files::outcome lock_result = retry_interrupted([&] { return files::lock(target_.descriptor()); });
  if (lock_result == -EWOULDBLOCK) {
    is_new = false;
    throw error(EWOULDBLOCK, target_.name(), reason_of_lock(target_.descriptor()), error::nowhere,
                error::ending::without_reason);
  }
  if (lock_result < 0) {
    throw error(static_cast<int>(-lock_result), target_.name(),
                lock_result == -EOPNOTSUPP || lock_result == -ENOSYS
                    ? "cannot be locked: put it on a file system that supports flock(2)"
                    : "cannot be locked");
  }
  if (const files::outcome status_result = files::status(target_.descriptor(), &status); status_result < 0) {
    throw error(static_cast<int>(-status_result), target_.name(), "has a status that cannot be read");
  }
  is_new = is_new && status.st_size == 0;
}

void journal_file::open(const journal_options& options, cut_off_file if_truncated, bool is_new,
                        const struct stat& status) {
  // Reading a pipe could last without end.
  if (!S_ISREG(status.st_mode)) {
    throw error(EINVAL, target_.name(), "is not a journal", error::nowhere, error::ending::without_reason);
  }
  char* const header_start = reinterpret_cast<char*>(&header_);
  std::size_t header_read = 0;
  for (std::size_t part; header_read < sizeof header_ &&
                         (part = target_.read_some(header_start + header_read, sizeof header_ - header_read)) != 0;) {
    header_read += part;
  }
  const char* const defect = wrong_with(header_);
  if (defect != nullptr) {
    if (!is_all_zeros()) throw error(EINVAL, target_.name(), defect, error::nowhere, error::ending::without_reason);
    create(options);
  }
  chunk_bytes_ = header_.chunk_bytes;
  chunks_ = header_.chunks;
  key_ = header_.key;
  bytes_ = header_bytes + chunks_ * chunk_bytes_;
  if (defect == nullptr && static_cast<std::uint64_t>(status.st_size) < bytes_) {
    if (if_truncated == cut_off_file::is_refused) {
      throw error(EINVAL, target_.name(),
                  "is a journal of " + std::to_string(bytes_) +
                      " bytes that was cut off (read its lines by tarn journal, and open another path)",
                  static_cast<std::uint64_t>(status.st_size), error::ending::without_reason);
    }
    const files::outcome allocate_result =
        retry_interrupted([&] { return files::allocate(target_.descriptor(), bytes_); });
    if (allocate_result < 0) {
      throw error(static_cast<int>(-allocate_result), target_.name(),
                  "was cut, and cannot be extended to its " + std::to_string(bytes_) + " bytes: free disk space");
    }
  }
  busy_slots_ = std::vector<std::atomic<bool>>(chunks_);
  map(options);
  // A new file is empty, and reading it would bring all of it into memory.
  if (!is_new) recover();
}

// Returns true for an empty file, and for one whose process died before it had written the header. It reads the file to
// its end, because another program's file may begin with zeros, too.
bool journal_file::is_all_zeros() {
  constexpr header nothing{};
  if (std::memcmp(&header_, &nothing, sizeof header_) != 0) return false;
  std::string block(64 * 1024, '\0');
  for (std::size_t count; (count = target_.read_some(block.data(), block.size())) != 0;) {
    if (std::any_of(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count),
                    [](char byte) { return byte != 0; })) {
      return false;
    }
  }
  return true;
}

void journal_file::create(const journal_options& options) {
  if (!std::has_single_bit(options.chunk_bytes) || options.chunk_bytes < min_chunk_bytes ||
      options.chunk_bytes > max_chunk_bytes) {
    throw std::invalid_argument(target_.name() + ": journal_options::chunk_bytes is " +
                                std::to_string(options.chunk_bytes) + ", not a power of two from 1024 to 2^30");
  }
  if (options.bytes < options.chunk_bytes) {
    throw std::invalid_argument(target_.name() + ": journal_options::bytes is " + std::to_string(options.bytes) +
                                ", less than one chunk of " + std::to_string(options.chunk_bytes) + " bytes");
  }
  if (options.bytes / options.chunk_bytes > max_chunks) {
    throw std::invalid_argument(target_.name() + ": journal_options::bytes is " + std::to_string(options.bytes) +
                                ", more than " + std::to_string(max_chunks * options.chunk_bytes) + " with chunks of " +
                                std::to_string(options.chunk_bytes) + " bytes");
  }
  std::memcpy(header_.magic, magic, sizeof magic);
  header_.version = version;
  header_.chunk_bytes = options.chunk_bytes;
  header_.chunks = std::max<std::uint64_t>(options.bytes / options.chunk_bytes, min_chunks);
  header_.key = random_key();
  header_.check = check_of(header_);
  // Allocates all pages on the disk now, so that a full disk is an error here and not at an append.
  const files::outcome allocate_result = retry_interrupted(
      [&] { return files::allocate(target_.descriptor(), header_bytes + header_.chunks * options.chunk_bytes); });
  if (allocate_result < 0) {
    files::cut(target_.descriptor(), 0);  // undoes the partial allocation; the file had no lines
    throw error(static_cast<int>(-allocate_result), target_.name(),
                "has no room for a journal of " + std::to_string(header_.chunks * options.chunk_bytes) + " bytes");
  }
  // Writes the header in one call, so that the death of the process cannot leave half of it.
  if (const files::outcome seek_result = files::seek(target_.descriptor(), 0, SEEK_SET); seek_result != 0) {
    throw error(static_cast<int>(-seek_result), target_.name(), "cannot be written at its start");
  }
  std::string_view unwritten(reinterpret_cast<const char*>(&header_), sizeof header_);
  try {
    while (!unwritten.empty()) unwritten.remove_prefix(target_.write_some({&unwritten, 1}));
  } catch (...) {
    files::cut(target_.descriptor(), 0);  // a part of a header would be no journal
    throw;
  }
}

void journal_file::map(const journal_options& options) {
  mapping_ = &watched_mapping::take();
  files::outcome map_result;
  {
    const change_section section;
    map_result = files::map(target_.descriptor(), 0, bytes_, true);
    if (map_result >= 0) {
      start_ = reinterpret_cast<char*>(map_result);
      mapping_->watch(start_, bytes_, repair, this);
    }
  }
  if (map_result < 0) {
    throw error(static_cast<int>(-map_result), target_.name(),
                "cannot be mapped (" + std::to_string(bytes_) + " bytes)");
  }
  if (options.prefault_bytes != 0) {
    constexpr int populate_write = 23;  // MADV_POPULATE_WRITE of Linux 5.14; advice, so it may fail
    files::advise(start_, std::min<std::uint64_t>(bytes_, options.prefault_bytes), populate_write);
  }
}

// Finds where the journal ends. The chunk with the highest first line has the highest line numbers, because numbers are
// reserved in the order in which chunks are taken; so only that chunk is read. If its last line is whole, the journal
// continues in it.
void journal_file::recover() {
  // Reads only the first page of each chunk.
  files::advise(start_, bytes_, MADV_RANDOM);
  std::uint64_t newest_slot = 0, newest_first_line = 0, newest_number = 0, highest = 0, last_session = 0;
  for (std::uint64_t slot = 0; slot < chunks_; ++slot) {
    chunk_header head;
    std::memcpy(&head, chunk_at(slot), sizeof head);
    if (!is_chunk_of(head, slot, chunks_, key_)) continue;
    highest = std::max(highest, head.number);
    last_session = std::max(last_session, head.session);
    if (head.first > newest_first_line) {
      newest_first_line = head.first;
      newest_slot = slot;
      newest_number = head.number;
    }
  }
  next_chunk_.store(highest + 1, std::memory_order_relaxed);
  session_ = static_cast<std::uint32_t>(last_session + 1);
  files::advise(start_, bytes_, MADV_NORMAL);
  if (newest_first_line == 0) return;

  std::uint64_t next_line = newest_first_line;
  chunk_walk walk(chunk_at(newest_slot), chunk_bytes_);
  while (walk.next()) {
    last_session = std::max<std::uint64_t>(last_session, session_of(walk.line().mark));
    ++next_line;
  }
  session_ = static_cast<std::uint32_t>(last_session + 1);
  const std::uint64_t reserved = newest_first_line + max_lines(chunk_bytes_);
  if (!walk.is_torn() && !walk.is_lost()) {
    continues_ = {newest_slot, newest_number, walk.offset(), next_line, reserved, reserved};
    busy_slots_[newest_slot].store(true, std::memory_order_relaxed);
  } else {
    // A chunk that ends with a torn line may hold more lines than were seen, whose numbers must not be used again.
    continues_.next_line = walk.is_torn() ? next_line : reserved;
  }
}

std::uint64_t journal_file::take_chunk(std::uint64_t& slot) noexcept {
  std::uint64_t number;
  do {  // ends: the lanes hold at most half of the slots
    number = next_chunk_.fetch_add(1, std::memory_order_relaxed);
    slot = (number - 1) % chunks_;
  } while (busy_slots_[slot].exchange(true, std::memory_order_acquire));
  platform::note_acquire(&busy_slots_[slot]);
  return number;
}

void journal_file::leave_chunk(std::uint64_t slot) noexcept {
  // release: the next lane that takes this slot writes after all stores of this one.
  platform::note_release(&busy_slots_[slot]);
  busy_slots_[slot].store(false, std::memory_order_release);
}

bool journal_file::repair(watched_mapping&, void* owner, std::uintptr_t) {
  static_cast<journal_file*>(owner)->restore();
  return true;
}

void journal_file::restore() noexcept {
  // Blocks all signals: a handler that appends would wait for the restoration that its own thread has interrupted.
  sigset_t every, before;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_BLOCK, &every, &before);
  while (is_restoring_.exchange(true, std::memory_order_acquire)) ::sched_yield();
  if (detach_error() == 0) {
    if (const int failed = try_to_restore(); failed != 0) detach(failed);
  }
  if (restorations() % 2 != 0) restorations_.fetch_add(1, std::memory_order_seq_cst);
  is_restoring_.store(false, std::memory_order_release);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The number of restorations is odd during one, as in a sequence lock. The wait ends, because a restoration blocks all
// signals: this thread cannot have interrupted it.
unsigned journal_file::settled_restorations() const noexcept {
  for (;;) {
    if (const unsigned count = restorations(); count % 2 == 0) return count;
    ::sched_yield();
  }
}

int journal_file::try_to_restore() noexcept {
  struct stat status;
  if (const files::outcome status_result = files::status(target_.descriptor(), &status); status_result < 0) {
    return static_cast<int>(-status_result);
  }
  header head{};
  static_cast<void>(files::read_at(target_.descriptor(), &head, sizeof head, 0));
  const bool is_long_enough = static_cast<std::uint64_t>(status.st_size) >= bytes_;
  const bool has_header = std::memcmp(&head, &header_, sizeof head) == 0;
  const bool looks_complete = is_long_enough && has_header;
  futile_restorations_ = looks_complete ? futile_restorations_ + 1 : 0;
  if (futile_restorations_ > max_futile_restorations) return EIO;
  // This comes before the file has pages again. So a thread that stores into a new page, and then reads the number of
  // restorations, sees that there was one.
  if (!looks_complete) restorations_.fetch_add(1, std::memory_order_seq_cst);
  // Allocates the pages even if the file is long enough, because it may have holes, and the disk may be full.
  const files::outcome extend_result = retry_interrupted([&] { return files::extend(target_.descriptor(), bytes_); });
  if (extend_result < 0) return static_cast<int>(-extend_result);
  if (!has_header) {
    const files::outcome write_result =
        retry_interrupted([&] { return files::write_at(target_.descriptor(), &header_, sizeof header_, 0); });
    if (write_result < 0) return static_cast<int>(-write_result);
    if (static_cast<std::size_t>(write_result) < sizeof header_) return EIO;
  }
  if (looks_complete || restorations() > 2) return 0;
  base::text_buffer<1024> message;
  message.append("tarn: journal ").append_escaped(target_.name(), 512);
  message.append(": was truncated to ").decimal(static_cast<std::uint64_t>(status.st_size));
  message.append(" bytes: older lines are gone, new ones are kept; to rotate, rename it and call journal::reopen()\n");
  message.write_to(STDERR_FILENO);
  return 0;
}

bool journal_file::put_memory_in_place() noexcept {
  return ::mmap(start_, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

// The addresses stay mapped: the fork may have been called by a signal handler that interrupted an append.
void journal_file::leave_to_parent() noexcept {
  if (descriptor_ < 0 || (start_ != nullptr && !put_memory_in_place())) return;
  files::close(descriptor_);
  descriptor_ = -1;
}

// New lines go to anonymous memory and are lost; the process survives.
void journal_file::detach(int reason) noexcept {
  detached_.store(reason, std::memory_order_relaxed);
  if (restorations() % 2 == 0) restorations_.fetch_add(1, std::memory_order_seq_cst);
  const bool is_mapped = put_memory_in_place();
  base::text_buffer<1024> message;
  message.append("tarn: journal ")
      .append_escaped(target_.name(), 512)
      .append(": was truncated and cannot be restored (");
  message.append(base::error_text(reason));
  message.append("): new lines are in no file until journal::reopen() succeeds\n");
  message.write_to(STDERR_FILENO);
  if (!is_mapped) ::abort();  // the next store would fault again, forever
}

bool journal_file::has_its_path() const noexcept {
  struct stat own_status;
  struct statx named;
  if (files::status(target_.descriptor(), &own_status) < 0 ||
      files::status_of(AT_FDCWD, target_.name().c_str(), 0, &named) < 0) {
    return false;
  }
  return own_status.st_ino == named.stx_ino && own_status.st_dev == makedev(named.stx_dev_major, named.stx_dev_minor);
}

void journal_file::sync() {
  files::outcome sync_result = retry_interrupted([&] { return files::sync_map(start_, bytes_); });
  if (sync_result >= 0 && detach_error() != 0) sync_result = -detach_error();
  if (sync_result < 0)
    throw error(static_cast<int>(-sync_result), target_.name(), "may not be on the disk: sync failed");
}

void journal_file::unlock() noexcept { ::flock(target_.descriptor(), LOCK_UN); }

void journal_file::lock_again() noexcept {
  static_cast<void>(retry_interrupted([&] { return files::lock(target_.descriptor()); }));
}

}  // namespace tarn::io
