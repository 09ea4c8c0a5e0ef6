#include "record/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "record/lock.hpp"
#include "record/memory.hpp"

namespace tarn::record {
namespace {

enum class state : int { undecided, refused, attached };
constinit std::atomic<state> now = state::undecided;
constinit lock deciding;
constinit format::region_header* region = nullptr;
constinit std::uint32_t own_image = 0;

// Reads as 1 in the recorded process. The kernel wipes this page in each child of a fork, however it was made, so
// that no handler has to run and none is too late.
constinit const std::atomic<std::uint32_t>* own_process = nullptr;

bool make_fork_page() noexcept {
  void* const page = map(4096);
  if (page == nullptr || ::madvise(page, 4096, MADV_WIPEONFORK) != 0) return false;
  static_cast<std::atomic<std::uint32_t>*>(page)->store(1, std::memory_order_relaxed);
  own_process = static_cast<const std::atomic<std::uint32_t>*>(page);
  return true;
}

long number_in(const char* text) noexcept { return text == nullptr ? -1 : std::strtol(text, nullptr, 10); }

bool map_region(const char* path) noexcept {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status;
  const bool right = ::fstat(file, &status) == 0 && status.st_size == static_cast<off_t>(format::region_bytes);
  void* const start =
      !right ? MAP_FAILED
             : ::mmap(nullptr, format::region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  const int problem = errno;
  if (right && start == MAP_FAILED) {  // the header alone fits, to say so
    void* const first = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (first != MAP_FAILED)
      static_cast<format::region_header*>(first)->problem.store(static_cast<std::uint32_t>(problem));
  }
  ::close(file);
  if (start == MAP_FAILED) return false;
  region = static_cast<format::region_header*>(start);
  if (region->mark != format::region_mark || region->version != format::region_version || !make_fork_page()) {
    return false;
  }
  own_image = region->images.fetch_add(1, std::memory_order_relaxed);
  return true;
}

state decide() noexcept {
  const holding held(deciding);
  const state known = now.load(std::memory_order_relaxed);
  if (known != state::undecided) return known;
  const int before = errno;
  const char* const path = ::getenv(format::region_variable);
  const bool ours = path != nullptr && number_in(::getenv(format::process_variable)) == ::getpid();
  const state decided = ours && map_region(path) ? state::attached : state::refused;
  errno = before;
  // Release: who reads `attached` without the lock reads `region` too.
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

std::uint32_t image() noexcept { return own_image; }
format::region_header& header() noexcept { return *region; }

format::offset hand_out(std::size_t bytes) noexcept {
  bytes = (bytes + 15) / 16 * 16;
  const format::offset place = region->used.fetch_add(bytes, std::memory_order_relaxed);
  if (place + bytes <= format::region_bytes) return place;
  region->used.store(format::region_bytes, std::memory_order_relaxed);  // full from now on; never wraps
  return 0;
}

bool is_recorded() noexcept { return own_process->load(std::memory_order_relaxed) != 0; }

}  // namespace tarn::record
