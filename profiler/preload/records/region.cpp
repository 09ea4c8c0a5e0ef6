#include "profiler/preload/records/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>

#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/base/raw_call.hpp"

namespace tarn::preload {

constinit format::region_header* own_region = nullptr;
constinit process_page own_page = {};
constinit bool has_region = false;

// `tarn record` reads the page through it.
extern "C" {
[[gnu::visibility("default")]] extern const process_page* tarn_recorder_page;
constinit const process_page* tarn_recorder_page = nullptr;
}

namespace {

constinit format::region_header* first = nullptr;  // the started process's; null unless children are recorded
constinit bool has_lost_first = false;             // it cannot be opened since an exec of this process
constinit std::uint32_t own_image = 0;

// Returns 0 when /proc does not tell it. It is read before each use, as a child of unshare(2) is in another
// namespace.
std::uint32_t pid_namespace() noexcept {
  char text[32] = {};  // pid:[4026531836]
  raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", text, sizeof text - 1);
  std::uint64_t number = 0;
  for (const char& letter : text) {
    if (letter >= '0' && letter <= '9') number = number * 10 + static_cast<std::uint64_t>(letter - '0');
  }
  return static_cast<std::uint32_t>(number);
}

// Returns the start time of this process in ticks since boot, or 0 when /proc does not tell it. An exec does not
// change it.
std::uint64_t start_time() noexcept {
  char text[1024] = {};
  const long file = raw_call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return 0;
  raw_call(SYS_read, file, text, sizeof text - 1);
  raw_call(SYS_close, file);
  const char* position = std::strrchr(text, ')');  // the end of the name, which may contain anything
  for (int word = 0; position != nullptr && word < 20; ++word) position = std::strchr(position + 1, ' ');
  std::uint64_t time = 0;
  for (position = position == nullptr ? text + sizeof text - 1 : position + 1; *position >= '0' && *position <= '9';
       ++position) {
    time = time * 10 + static_cast<std::uint64_t>(*position - '0');
  }
  return time;
}

// Returns the value of a variable, or null when there is none.
const char* value_of(const char* const* environment, const char* name) noexcept {
  const std::size_t size = std::strlen(name);
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, size) == 0 && (*environment)[size] == '=') return *environment + size + 1;
  }
  return nullptr;
}

// Returns the number that a text is, or -1 when it is none.
long number_in(const char* text) noexcept {
  if (text == nullptr || *text == '\0') return -1;
  long number = 0;
  for (; *text >= '0' && *text <= '9' && number < INT32_MAX; ++text) number = number * 10 + (*text - '0');
  return *text == '\0' ? number : -1;
}

// Descriptors of regions that this process and the programs that it starts hold open: that of the first region has this
// number, and those of some spares follow. A path of the first region may name them, as NUMBER:SPARE:COUNT.
struct held_regions {
  std::uint32_t number = 0, first_spare = 0, spares = 0;  // all 0: there are none
};
held_regions held_regions_in(const char* path) noexcept {
  std::uint32_t values[3] = {};
  for (std::size_t index = 0; index < std::size(values); ++index) {
    if (*path < '0' || *path > '9') return {};
    while (*path >= '0' && *path <= '9' && values[index] < INT32_MAX / 16)
      values[index] = values[index] * 10 + static_cast<std::uint32_t>(*path++ - '0');
    if (*path++ != (index + 1 < std::size(values) ? ':' : '\0')) return {};
  }
  return {values[0], values[1], values[2]};
}

constinit long first_kept_number = 500;
// The numbers from here on lie below 512, as the one above does: the kernel's table has that size already.
constexpr std::uint32_t first_held_number = 400, max_held_spares = 64;

long duplicate(std::uint32_t number) noexcept { return raw_call(SYS_fcntl, number, F_DUPFD_CLOEXEC, 3); }

long open_region(const char* path) noexcept {
  if (const held_regions descriptors = held_regions_in(path); descriptors.number != 0)
    return duplicate(descriptors.number);
  return raw_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
}

// Maps the pages of `file` as shared memory; returns an errno as its negative. `address` is the mapping to replace, or
// null.
long map_shared(long file, std::size_t bytes, void* address) noexcept {
  if (address == nullptr) return map_sparsely(bytes, MAP_SHARED, file);
  // A child of fork replaces its parent's region. It has not locked its memory: that is not inherited.
  const long start =
      raw_call(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, 0);
  if (!is_error(start)) own_call(SYS_madvise, start, bytes, MADV_DONTDUMP);
  return start;
}

// Notes the command line that ps shows of this process, as of its exec, or the program's name where there is no /proc.
void note_words() noexcept {
  constexpr std::size_t limit = 4096;
  const format::offset offset = hand_out(sizeof(std::uint64_t) + limit);
  if (offset == 0) return;
  auto* const count = record_at<std::uint64_t>(offset);
  long length = 0;
  if (const long file = raw_call(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0); file >= 0) {
    length = raw_call(SYS_read, file, count + 1, limit);
    raw_call(SYS_close, file);
  }
  if (length <= 0) {
    const std::size_t bytes = std::strlen(program_invocation_name) + 1;
    length = static_cast<long>(bytes < limit ? bytes : limit);
    std::memcpy(count + 1, program_invocation_name, static_cast<std::size_t>(length));
  }
  *count = static_cast<std::uint64_t>(length);
  own_region->arguments.store(offset, std::memory_order_release);
}

// The region's file stays open for the program that this process becomes by exec, because that program may have another
// user, another /proc, or another root. The descriptor is far above the numbers that programs rely on. In a process
// that has threads already it is below 64, so that the kernel need not enlarge its table: it would wait some tens of
// milliseconds for all processors.
struct kept_descriptor {
  long number = -1;
  std::uint64_t inode = 0;
};
constinit kept_descriptor region_file = {};

std::uint64_t inode_of(long file) noexcept {
  struct stat status;
  return raw_call(SYS_fstat, file, &status) == 0 ? status.st_ino : 0;
}

void keep(long file) noexcept {
  if (region_file.number >= 0 && inode_of(region_file.number) == region_file.inode)
    raw_call(SYS_close, region_file.number);
  long number = raw_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, first_kept_number);
  if (is_error(number)) number = raw_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, 3);  // that is above the limit
  region_file = {number, inode_of(file)};
}

// Returns the size in bytes of the region that the file may be; 0 when it is none.
std::size_t region_bytes(long file) noexcept {
  struct stat status;
  const bool may_be = raw_call(SYS_fstat, file, &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_size >= static_cast<off_t>(format::min_region_bytes);
  return may_be ? static_cast<std::size_t>(status.st_size) : 0;
}

// Forgets where the heap of an earlier image was. A page of the set that holds nothing is not touched.
void forget_heap_mebibytes() noexcept {
  for (std::atomic<std::uint32_t>& word : own_region->heap_mebibytes) {
    if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);
  }
}

// The first part of the region may be touched. The rest has no access, so that mlockall(MCL_CURRENT) provides no page
// there.
constexpr std::size_t access_step = std::size_t{4} << 20;
constinit std::atomic<std::size_t> accessible_bytes = 0;

std::size_t access_end(std::size_t used_bytes) noexcept {
  return std::min((used_bytes + access_step - 1) / access_step * access_step,
                  static_cast<std::size_t>(own_region->bytes));
}

void limit_access() noexcept {
  const std::size_t end = access_end(own_region->used_bytes.load(std::memory_order_relaxed));
  const long result =
      raw_call(SYS_mprotect, reinterpret_cast<char*>(own_region) + end, own_region->bytes - end, PROT_NONE);
  accessible_bytes.store(result == 0 ? end : own_region->bytes, std::memory_order_relaxed);
}

// Several threads may do so at once.
bool extend_access(std::size_t used_bytes) noexcept {
  const std::size_t end = access_end(used_bytes);
  if (own_call(SYS_mprotect, own_region, end, PROT_READ | PROT_WRITE) != 0) return false;
  std::size_t before = accessible_bytes.load(std::memory_order_relaxed);
  while (before < end && !accessible_bytes.compare_exchange_weak(before, end, std::memory_order_relaxed)) {
  }
  return true;
}

// Maps the region of the file, and closes the file. `address` is the earlier region that it replaces, or null.
bool map_region(long file, void* address) noexcept {
  if (file < 0) return false;
  const std::size_t bytes = region_bytes(file);
  const long start = bytes != 0 ? map_shared(file, bytes, address) : -EINVAL;
  if (bytes != 0 && is_error(start)) {  // maps the header alone, to report the error
    const long page = map_shared(file, 4096, nullptr);
    if (!is_error(page))
      reinterpret_cast<format::region_header*>(page)->problem.store(static_cast<std::uint32_t>(-start));
  }
  if (!is_error(start)) keep(file);
  raw_call(SYS_close, file);
  if (is_error(start)) return false;
  own_region = reinterpret_cast<format::region_header*>(start);
  if (own_region->mark != format::region_mark || own_region->version != format::region_version) return false;
  limit_access();
  if (raw_call(SYS_madvise, &own_page, sizeof own_page, MADV_WIPEONFORK) != 0) return false;
  has_region = true;
  resume_recording();
  own_image = own_region->images.fetch_add(1, std::memory_order_relaxed);
  own_region->process.store(static_cast<std::uint32_t>(raw_call(SYS_getpid)), std::memory_order_relaxed);
  if (own_region->begun_ns.load(std::memory_order_relaxed) == 0)
    own_region->begun_ns.store(clock_nanoseconds(), std::memory_order_relaxed);
  if (own_image != 0) forget_heap_mebibytes();
  note_ranges_in(own_region->own_ranges);
  own_region->bytes_in_use.store(0, std::memory_order_relaxed);  // the blocks of an earlier image ended with it
  note_words();
  return true;
}

// Maps the header of the first region, in which children find theirs. Returns null when there is none.
format::region_header* map_first(const char* path) noexcept {
  const long file = open_region(path);
  if (file < 0) return nullptr;
  const long start = region_bytes(file) == 0 ? -EINVAL : map_shared(file, sizeof *first, nullptr);
  raw_call(SYS_close, file);
  if (is_error(start)) return nullptr;
  auto* const header = reinterpret_cast<format::region_header*>(start);
  if (header->mark == format::region_mark && header->version == format::region_version) return header;
  unmap(header, sizeof *first);
  return nullptr;
}

bool take_spare(std::uint32_t index, std::uint64_t owner) noexcept {
  std::uint64_t unowned = 0;
  return first->spare[index].owner.compare_exchange_strong(unowned, owner, std::memory_order_relaxed);
}

// Returns the index of the spare that this process has from before its exec, or takes one now: one that is held open if
// there is one. Returns nothing when none is left.
std::optional<std::uint32_t> own_spare(const held_regions& descriptors) noexcept {
  const std::uint64_t own_key = format::process_key(pid_namespace(), static_cast<std::uint32_t>(raw_call(SYS_getpid)));
  const std::uint64_t started = start_time();
  const std::uint32_t count = first->spares < format::max_spare_regions ? first->spares : format::max_spare_regions;
  for (std::uint32_t index = 0; index < count; ++index) {
    const format::spare_region& spare = first->spare[index];
    if (spare.owner.load(std::memory_order_relaxed) == own_key &&
        spare.started.load(std::memory_order_relaxed) == started)
      return index;
  }
  for (std::uint32_t tried = 0; tried < descriptors.spares + count; ++tried) {
    const std::uint32_t index =
        tried < descriptors.spares ? descriptors.first_spare + tried : tried - descriptors.spares;
    if (index >= count || !take_spare(index, own_key)) continue;
    first->spare[index].started.store(started, std::memory_order_relaxed);  // lets this process find it after an exec
    return index;
  }
  first->missed.fetch_add(1, std::memory_order_relaxed);
  return std::nullopt;
}

void append_number(char* text, std::size_t& length, std::uint32_t number) noexcept {
  char digits[10];
  std::size_t count = 0;
  do digits[count++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) text[length++] = digits[--count];
}

// Holds a copy, because the environment may have changed by the time a child needs it. Paths of `tarn record` are
// short; a longer one is not ours.
constinit char start_path[64] = {}, held_path[64] = {};
// Points to the first one, or to the second one once regions are held open.
constinit std::atomic<const char*> first_path = start_path;

// Opens a spare, which is held open or lies beside the first region. Returns an errno as its negative.
long open_spare(std::uint32_t index, const held_regions& descriptors) noexcept {
  if (index - descriptors.first_spare < descriptors.spares)
    return duplicate(descriptors.number + 1 + index - descriptors.first_spare);
  char path[64];
  const char* const name = std::strrchr(start_path, '/');
  if (name == nullptr || name - start_path > 40) return -ENOENT;
  std::size_t length = static_cast<std::size_t>(name - start_path) + 1;
  std::memcpy(path, start_path, length);
  append_number(path, length, first->spare[index].file);
  path[length] = '\0';
  return open_region(path);
}

// Maps this process's spare. Returns false, and sets `why` unless no spare is left, when it cannot.
bool map_spare(void* address, format::refusal& why) noexcept {
  const held_regions descriptors = held_regions_in(region_path());
  const std::optional<std::uint32_t> index = own_spare(descriptors);
  if (!index) return false;
  const long file = open_spare(*index, descriptors);
  if (map_region(file, address)) return true;
  why = file < 0 ? format::refusal::lacks_access : format::refusal::lacks_addresses;
  first->spare[*index].owner.store(0, std::memory_order_relaxed);
  return false;
}

// Maps the region that this process had before its exec, and that was handed on to it.
bool map_inherited(const char* const* environment) noexcept {
  const long file = number_in(value_of(environment, format::descriptor_variable));
  if (file < 0 || region_bytes(file) == 0) return false;
  const long start = map_shared(file, sizeof(format::region_header), nullptr);
  if (is_error(start)) return false;
  auto* const header = reinterpret_cast<format::region_header*>(start);
  const bool is_own = header->mark == format::region_mark && header->version == format::region_version &&
                      header->process.load(std::memory_order_relaxed) == raw_call(SYS_getpid);
  unmap(header, sizeof *header);
  return is_own && map_region(file, nullptr);
}

// Counts a start of an unrecorded program, by the last part of its path. Returns the count; null when there is no room.
std::atomic<std::uint32_t>* note_start(format::region_header& header, const char* path, format::refusal why) noexcept {
  char name[sizeof header.unrecorded->name] = {static_cast<char>(why)};
  const std::size_t mark_bytes = why == format::refusal::loadable ? 0 : 1;
  const char* const slash = std::strrchr(path, '/');
  const char* const last_part = slash == nullptr ? path : slash + 1;
  const std::size_t limit = sizeof name - 1, whole_name = mark_bytes + std::strlen(last_part);
  const std::size_t bytes = whole_name < limit ? whole_name : limit;
  std::memcpy(name + mark_bytes, last_part, bytes - mark_bytes);
  for (format::unrecorded_program& program : header.unrecorded) {
    std::uint32_t unused = 0;
    if (program.state.compare_exchange_strong(unused, 1, std::memory_order_acquire)) {
      std::memcpy(program.name, name, bytes);
      program.starts.store(1, std::memory_order_relaxed);
      program.state.store(2, std::memory_order_release);  // release: a reader that sees it sees the name
      return &program.starts;
    }
    if (unused == 2 && std::strncmp(program.name, name, limit) == 0) {
      program.starts.fetch_add(1, std::memory_order_relaxed);
      return &program.starts;
    }
  }
  header.unrecorded_others.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}
void note_unrecorded(format::region_header& header, format::refusal why) noexcept {
  char path[512] = "a program";  // where there is no /proc
  const long length = raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
  if (length > 0) path[length] = '\0';
  note_start(header, path, why);
}

}  // namespace

// Runs after the other constructors.
[[gnu::constructor]] static void show_page() noexcept { tarn_recorder_page = &own_page; }

bool attach(const char* const* environment) noexcept {
  const char* const path = value_of(environment, format::region_variable);
  if (path == nullptr || std::strlen(path) >= sizeof start_path) return false;
  bool is_attached = map_inherited(environment);
  first = map_first(path);
  has_lost_first = first == nullptr;
  if (has_lost_first) return is_attached;
  const std::uint32_t own_namespace = pid_namespace();
  const long expected_process = number_in(value_of(environment, format::process_variable));
  const bool is_first = (expected_process == 0 || expected_process == raw_call(SYS_getpid)) &&
                        (own_namespace == first->pid_namespace || own_namespace == 0);
  const bool follows_children = first->spares != 0;
  std::strcpy(start_path, path);
  format::refusal why = format::refusal::loadable;
  if (!is_attached)
    is_attached = is_first ? map_region(open_region(path), nullptr) : follows_children && map_spare(nullptr, why);
  if (!is_attached && !is_first) note_unrecorded(*first, why);
  if (!is_attached || !follows_children) {
    unmap(first, sizeof *first);
    first = nullptr;
  }
  return is_attached;
}

constinit thread_local std::uint64_t inner_work_ticks = 0;

bool attach_to(long file) noexcept {
  first_kept_number = 48;
  return map_region(file, nullptr);
}

void leave_inherited_region() noexcept {
  has_region = false;
  if (own_region != nullptr) raw_call(SYS_munmap, own_region, own_region->bytes);
  own_region = nullptr;
}

std::atomic<std::uint32_t>* note_refused_program(const char* path, format::refusal why) noexcept {
  return note_start(header(), path, why);
}

void note_unrecorded_fork() noexcept {
  if (first != nullptr || !is_attached() || !is_recorded()) return;
  if (has_lost_first)
    note_unrecorded(header(), format::refusal::lacks_access);
  else
    header().unrecorded_forks.fetch_add(1, std::memory_order_relaxed);
}

namespace {

constinit std::uint32_t forks_since_attach = 0;  // from the process that counts, to this one

}  // namespace

void note_forked_child() noexcept { ++forks_since_attach; }

std::atomic<std::uint64_t>* note_child_exec(bool is_borrowed) noexcept {
  const bool is_child = is_borrowed ? is_recorded() : forks_since_attach == 1;
  if (first != nullptr || has_lost_first || !is_attached() || !is_child) return nullptr;
  header().unrecorded_execs.fetch_add(1, std::memory_order_relaxed);
  return &header().unrecorded_execs;
}

const char* region_path() noexcept { return first_path.load(std::memory_order_acquire); }
std::uint32_t process_number() noexcept { return header().process.load(std::memory_order_relaxed); }

int begin_exec(const char* path) noexcept {
  const std::size_t bytes = std::strlen(path);
  constexpr std::size_t limit = sizeof header().exec_path - 1;
  std::memcpy(header().exec_path, path, bytes < limit ? bytes + 1 : limit);
  header().exec_after_images.store(header().images.load(std::memory_order_relaxed), std::memory_order_release);
  if (is_restricted() || region_file.number < 0 || inode_of(region_file.number) != region_file.inode)
    return -1;  // the program has closed it
  raw_call(SYS_fcntl, region_file.number, F_SETFD, 0);
  return static_cast<int>(region_file.number);
}

void exec_failed() noexcept {
  header().exec_after_images.store(0, std::memory_order_relaxed);
  if (!is_restricted() && region_file.number >= 0 && inode_of(region_file.number) == region_file.inode)
    raw_call(SYS_fcntl, region_file.number, F_SETFD, FD_CLOEXEC);
}

bool follow_fork() noexcept {
  if (first == nullptr || !is_attached()) return false;
  format::refusal why = format::refusal::loadable;
  if (map_spare(own_region, why)) return true;
  if (why != format::refusal::loadable) note_unrecorded(*first, why);
  return false;
}

void note_unfollowed_child() noexcept { note_unrecorded(*first, format::refusal::lacks_addresses); }

void hold_regions_open() noexcept {
  if (first == nullptr || is_restricted() || start_path[0] != '/' || region_path() != start_path ||
      process_number() != raw_call(SYS_getpid))
    return;
  // The programs that children become have these descriptors, too.
  const auto hold = [](long file, std::uint32_t min_number) {
    if (file < 0) return file;
    const long number = raw_call(SYS_fcntl, file, F_DUPFD, min_number);
    raw_call(SYS_close, file);
    return number;
  };
  const long number = hold(open_region(start_path), first_held_number);
  if (is_error(number)) return;
  const std::uint32_t count = first->spares < format::max_spare_regions ? first->spares : format::max_spare_regions;
  held_regions descriptors{static_cast<std::uint32_t>(number)};
  while (descriptors.first_spare < count &&
         first->spare[descriptors.first_spare].owner.load(std::memory_order_relaxed) != 0)
    ++descriptors.first_spare;
  for (; descriptors.spares < max_held_spares && descriptors.first_spare + descriptors.spares < count;
       ++descriptors.spares) {
    const std::uint32_t next_number = descriptors.number + 1 + descriptors.spares;
    const long spare = hold(open_spare(descriptors.first_spare + descriptors.spares, {}), next_number);
    if (spare == next_number) continue;
    if (!is_error(spare)) raw_call(SYS_close, spare);
    break;
  }
  std::size_t length = 0;
  append_number(held_path, length, descriptors.number);
  held_path[length++] = ':';
  append_number(held_path, length, descriptors.first_spare);
  held_path[length++] = ':';
  append_number(held_path, length, descriptors.spares);
  held_path[length] = '\0';
  first_path.store(held_path, std::memory_order_release);  // release: a thread that forks reads the whole path
}

void set_region_aside() noexcept { extend_access(own_region->bytes); }

std::uint32_t image() noexcept { return own_image; }

format::offset hand_out(std::size_t bytes) noexcept {
  bytes = (bytes + 15) / 16 * 16;
  const format::offset offset = own_region->used_bytes.fetch_add(bytes, std::memory_order_relaxed);
  const std::size_t end = offset + bytes;
  if (end <= own_region->bytes && (end <= accessible_bytes.load(std::memory_order_relaxed) || extend_access(end)))
    return offset;
  own_region->used_bytes.store(own_region->bytes, std::memory_order_relaxed);  // full from now on, and never wraps
  return 0;
}

}  // namespace tarn::preload
