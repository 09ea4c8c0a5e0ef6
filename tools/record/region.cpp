#include "record/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "format/clock.hpp"
#include "record/lock.hpp"
#include "record/memory.hpp"
#include "record/raw_call.hpp"

namespace tarn::record {

constinit format::region_header* own_region = nullptr;
constinit std::atomic<std::uint32_t>* own_process = nullptr;

namespace {

enum class state : int { undecided, refused, attached };
constinit std::atomic<state> now = state::undecided;
constinit lock deciding;
constinit format::region_header* first = nullptr;  // of the process that was started; null unless children are recorded
constinit std::uint32_t own_image = 0;

bool make_fork_page() noexcept {
  void* const page = map(4096);
  if (page == nullptr || ::madvise(page, 4096, MADV_WIPEONFORK) != 0) return false;
  static_cast<std::atomic<std::uint32_t>*>(page)->store(1, std::memory_order_relaxed);
  own_process = static_cast<std::atomic<std::uint32_t>*>(page);
  return true;
}

long number_in(const char* text) noexcept { return text == nullptr ? -1 : std::strtol(text, nullptr, 10); }

// What ps shows of this process, as of its exec.
void note_words() noexcept {
  constexpr std::size_t most = 4096;
  const format::offset place = hand_out(sizeof(std::uint64_t) + most);
  const long file = place == 0 ? -1 : raw_call(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return;
  auto* const count = at<std::uint64_t>(place);
  const long got = raw_call(SYS_read, file, count + 1, most);
  raw_call(SYS_close, file);
  if (got <= 0) return;
  *count = static_cast<std::uint64_t>(got);
  own_region->words.store(place, std::memory_order_release);
}

// `there`: where the region before it is, which it replaces; or null.
bool map_region(const char* path, void* there) noexcept {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status;
  const bool right = ::fstat(file, &status) == 0 && status.st_size == static_cast<off_t>(format::region_bytes);
  void* const start = !right ? MAP_FAILED
                             : ::mmap(there, format::region_bytes, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_NORESERVE | (there == nullptr ? 0 : MAP_FIXED), file, 0);
  const int problem = errno;
  if (right && start == MAP_FAILED) {  // the header alone fits, to say so
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED)
      static_cast<format::region_header*>(page)->problem.store(static_cast<std::uint32_t>(problem));
  }
  ::close(file);
  if (start == MAP_FAILED) return false;
  own_region = static_cast<format::region_header*>(start);
  if (own_region->mark != format::region_mark || own_region->version != format::region_version) return false;
  if (own_process == nullptr && !make_fork_page()) return false;
  own_process->store(1, std::memory_order_relaxed);
  own_image = own_region->images.fetch_add(1, std::memory_order_relaxed);
  own_region->process.store(static_cast<std::uint32_t>(raw_call(SYS_getpid)), std::memory_order_relaxed);
  if (own_region->begun_ns.load(std::memory_order_relaxed) == 0)
    own_region->begun_ns.store(format::monotonic_nanoseconds(), std::memory_order_relaxed);
  note_words();
  return true;
}

// The first region's header, by which children find theirs.
bool map_first(const char* path) noexcept {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  void* const start = ::mmap(nullptr, sizeof *first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  ::close(file);
  if (start == MAP_FAILED) return false;
  auto* const found = static_cast<format::region_header*>(start);
  if (found->mark == format::region_mark && found->version == format::region_version && found->spares != 0) {
    first = found;
    return true;
  }
  ::munmap(start, sizeof *first);
  return false;
}

// The spare that this process has from before its exec, or takes now; null when none is left.
const format::spare_region* own_spare() noexcept {
  const auto process = static_cast<std::uint32_t>(::getpid());
  const std::uint32_t count = first->spares < format::most_spares ? first->spares : format::most_spares;
  for (std::uint32_t at = 0; at < count; ++at) {
    if (first->spare[at].process.load(std::memory_order_relaxed) == process) return &first->spare[at];
  }
  for (std::uint32_t at = 0; at < count; ++at) {
    std::uint32_t none = 0;
    if (first->spare[at].process.compare_exchange_strong(none, process, std::memory_order_relaxed)) {
      return &first->spare[at];
    }
  }
  first->missed.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

// Beside the first region: `path` names that.
bool map_spare(const char* path, void* there) noexcept {
  const format::spare_region* const spare = own_spare();
  if (spare == nullptr) return false;
  char own[64];
  const char* const name = std::strrchr(path, '/');
  if (name == nullptr || name - path > 40) return false;
  std::size_t used = static_cast<std::size_t>(name - path) + 1;
  std::memcpy(own, path, used);
  char digits[10];
  std::size_t count = 0;
  for (std::uint32_t rest = spare->file; rest != 0 || count == 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) own[used++] = digits[--count];
  own[used] = '\0';
  return map_region(own, there);
}

// The environment may have changed when a child wants it. The command's paths are short: no other is ours.
constinit char first_path[64] = {};

state decide() noexcept {
  const holding held(deciding);
  const state known = now.load(std::memory_order_relaxed);
  if (known != state::undecided) return known;
  const int before = errno;
  const char* const path = ::getenv(format::region_variable);
  bool ours = false;
  if (path != nullptr && std::strlen(path) < sizeof first_path) {
    const bool follows = map_first(path);
    if (number_in(::getenv(format::process_variable)) == ::getpid()) {
      ours = map_region(path, nullptr);
    } else if (follows) {
      ours = map_spare(path, nullptr);
    }
    if (ours && follows) std::strcpy(first_path, path);
  }
  const state decided = ours ? state::attached : state::refused;
  errno = before;
  // Release: who reads `attached` without the lock reads `own_region` too.
  now.store(decided, std::memory_order_release);
  return decided;
}

}  // namespace

bool attach() noexcept {
  const state known = now.load(std::memory_order_acquire);
  if (known != state::undecided) [[likely]]
    return known == state::attached;
  if (::environ == nullptr) return false;
  return decide() == state::attached;
}

bool follow_fork() noexcept {
  if (first == nullptr || now.load(std::memory_order_relaxed) != state::attached) return false;
  deciding.begin_anew();
  const int before = errno;
  const bool done = map_spare(first_path, own_region);
  errno = before;
  return done;
}

std::uint32_t image() noexcept { return own_image; }

format::offset hand_out(std::size_t bytes) noexcept {
  bytes = (bytes + 15) / 16 * 16;
  const format::offset place = own_region->used.fetch_add(bytes, std::memory_order_relaxed);
  if (place + bytes <= format::region_bytes) return place;
  own_region->used.store(format::region_bytes, std::memory_order_relaxed);  // full from now on; never wraps
  return 0;
}

}  // namespace tarn::record
