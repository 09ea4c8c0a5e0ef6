#include "profiler/collect/region_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/format/build_id.hpp"
#include "profiler/format/clock.hpp"
#include "profiler/format/generations.hpp"
#include "profiler/format/recorder_library.hpp"
#include "profiler/format/refusal.hpp"
#include "profiler/launch/limits.hpp"

namespace tarn::command {

using namespace format;

namespace {

[[noreturn]] void fail_without_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  fail(exit_code::no_memory, "the limit of {} open files (ulimit -n) is too low to record; raise it", limit.rlim_cur);
}

}  // namespace

region_file::region_file(std::uint32_t sources, std::uint64_t interval, std::uint64_t bytes)
    : region_file(::memfd_create("tarn-record", MFD_CLOEXEC | MFD_ALLOW_SEALING), sources, interval, bytes) {}

region_file::region_file(int file, std::uint32_t sources, std::uint64_t interval, std::uint64_t bytes)
    : first_tick_(ticks()), first_nanosecond_(monotonic_nanoseconds()), file_(file) {
  if (file_ < 0 && errno == EMFILE) fail_without_files();
  if (file_ < 0) fail(exit_code::no_memory, "no memory for the recording: {}", system_error_text(errno));
  const larger_files now;
  void* const start = ::ftruncate(file_, static_cast<off_t>(bytes)) != 0
                          ? MAP_FAILED
                          : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (start == MAP_FAILED) {
    const int error = errno;
    ::close(file_);
    fail(exit_code::no_memory, "no memory for the recording: {}", system_error_text(error));
  }
  ::fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK);  // the program has the file, too
  ::madvise(start, bytes, MADV_DONTDUMP);      // a core file of this process would have all pages, also untouched ones
  auto* const header = static_cast<region_header*>(start);  // all zeroes, and most pages stay untouched
  header->mark = region_mark;
  header->version = region_version;
  header->bytes = bytes;
  header->sources = sources;
  header->pid_namespace = own_pid_namespace();
  header->interval = interval;
  header->contents_from.store(std::numeric_limits<std::int64_t>::max());
  header->used_bytes.store((sizeof(region_header) + 4095) / 4096 * 4096);
  header_ = header;
  path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), file_);
}

region_file::region_file(const std::string& path)
    : first_tick_(ticks()),
      first_nanosecond_(monotonic_nanoseconds()),
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      path_(path) {
  if (file_ < 0) fail(exit_code::io_error, "{}: {}", path, system_error_text(errno));
  struct stat facts {};
  const bool is_whole = ::fstat(file_, &facts) == 0 && static_cast<std::uint64_t>(facts.st_size) >= min_region_bytes;
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* const start = is_whole ? ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file_, 0) : MAP_FAILED;
  if (start == MAP_FAILED) {
    ::close(file_);
    fail(exit_code::io_error, "{} is not a shared region of a recording", path);
  }
  header_ = static_cast<region_header*>(start);
  if (header_->mark != region_mark || header_->version != region_version || header_->bytes != bytes) {
    ::munmap(start, bytes);
    ::close(file_);
    fail(exit_code::io_error, "{} belongs to another version of Tarn; use the tarn of that version", path);
  }
}

region_file::region_file(int file, std::uint32_t sources, std::uint64_t interval)
    : first_tick_(ticks()), first_nanosecond_(monotonic_nanoseconds()), file_(file), header_(nullptr) {
  struct stat facts {};
  const bool is_whole = ::fstat(file_, &facts) == 0 && static_cast<std::uint64_t>(facts.st_size) >= min_region_bytes;
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* const start =
      is_whole ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0) : MAP_FAILED;
  if (start != MAP_FAILED) header_ = static_cast<region_header*>(start);
  const bool is_own = header_ != nullptr && header_->mark == region_mark && header_->version == region_version &&
                      header_->bytes == bytes;
  const std::uint64_t before = is_own ? header_->interval : interval;
  if (!is_own || before != interval) {
    if (header_ != nullptr) ::munmap(start, bytes);
    ::close(file_);
    if (!is_own)
      fail(exit_code::io_error,
           "the process was recorded by another version of Tarn; use the tarn of that version, or restart the process");
    fail(exit_code::usage,
         "the process keeps the --sample {} of its first recording: repeat with --sample {}, or restart it", before,
         before);
  }
  set_sources(sources);
}

region_file::~region_file() {
  ::munmap(header_, header_->bytes);
  ::close(file_);
}

void region_file::offer(const std::vector<int>& files) {
  for (std::size_t index = 0; index < files.size(); ++index)
    header_->spare[index].file = static_cast<std::uint32_t>(files[index]);
  header_->spares = static_cast<std::uint32_t>(files.size());
}

int region_file::descriptor_of(std::uint32_t process) const {
  for (std::uint32_t index = 0; index < std::min(header_->spares, max_spare_regions); ++index) {
    if (header_->spare[index].owner.load() == process_key(header_->pid_namespace, process))
      return static_cast<int>(header_->spare[index].file);
  }
  return -1;
}

int region_file::first_thread() const {
  const offset position = header_->thread_at[0].load(std::memory_order_acquire);
  return position == 0 ? 0 : static_cast<int>(record_at<thread_record>(position)->id.load(std::memory_order_relaxed));
}

std::uint64_t region_file::peak_ns(const clock_facts& clock) const {
  const std::uint64_t peak_tick = header_->peak_ticks.load(std::memory_order_relaxed);
  return peak_tick <= first_tick_ ? 0 : first_nanosecond_ + nanoseconds(clock, peak_tick - first_tick_);
}

// The recorder may raise the highest value between the load and the store. Then it notes the next change that is above
// the stored value as a peak again.
void region_file::begin_peak() {
  header_->max_bytes_in_use.store(header_->bytes_in_use.load(std::memory_order_relaxed), std::memory_order_relaxed);
  header_->peak_image.store(header_->images.load() - 1, std::memory_order_relaxed);
  header_->peaks.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t region_file::bytes_in_use() const {
  const std::int64_t bytes = header_->bytes_in_use.load(std::memory_order_relaxed);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

memory_uses region_file::uses() const {
  memory_uses uses;
  const std::uint32_t newest = header_->images.load() - 1;
  for (const own_range& range : header_->own_ranges) {
    const std::uint64_t start = range.start.load(std::memory_order_relaxed);
    if (const std::uint64_t bytes = range.bytes.load(std::memory_order_relaxed); bytes != 0)
      uses.recorder.push_back({start, start + bytes});
  }
  for (const auto& entry : header_->heap_mebibytes) {
    if (const std::uint32_t number = entry.load(std::memory_order_relaxed); number != 0)
      uses.heap_mebibytes.insert(number - 1);
  }
  const std::uint32_t modules = std::min(header_->modules.load(std::memory_order_acquire), max_modules);
  for (std::uint32_t number = 0; number < modules; ++number) {
    const auto& record = *record_at<module_record>(header_->module_at[number].load(std::memory_order_acquire));
    if (record.image != newest) continue;
    const std::string_view path(reinterpret_cast<const char*>(&record + 1), record.path_bytes);
    (is_recorder_library(path) ? uses.recorder : uses.modules)
        .push_back({without_generation(record.start), without_generation(record.end)});
  }
  for (const thread_stack& stack : header_->thread_stacks) {
    const std::uint64_t low = stack.low.load(std::memory_order_relaxed);
    const std::uint64_t high = stack.high.load(std::memory_order_relaxed);
    const std::uint32_t id = stack.id.load(std::memory_order_relaxed);
    if (id == 0) break;
    // The C library keeps data of the thread in the page above the frames.
    if (low < high) uses.stacks.insert_or_assign(id, address_range{low, high + 4096});
  }
  return uses;
}

std::vector<std::string> region_file::arguments() const {
  const offset position = header_->arguments.load(std::memory_order_acquire);
  if (position == 0) return {};
  const auto* const count = record_at<std::uint64_t>(position);
  const std::string_view bytes(reinterpret_cast<const char*>(count + 1), *count);
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', begin), bytes.size());
    arguments.emplace_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

std::array<std::uint64_t, work_counter_count> region_file::work() const {
  std::array<std::uint64_t, work_counter_count> counts;
  for (std::size_t index = 0; index < counts.size(); ++index)
    counts[index] = sum_of_work(*header_, static_cast<work_counter>(index));
  return counts;
}

std::optional<end_facts> region_file::read_end_facts() const {
  if (header_->has_ended.load(std::memory_order_acquire) == 0) return std::nullopt;
  return end_facts{false,
                   header_->status.load(),
                   (header_->ended_ns.load() - header_->begun_ns.load()) / 1000,
                   header_->user_us.load(),
                   header_->system_us.load(),
                   0,
                   0};
}

std::uint64_t region_file::peak_resident_bytes() const {
  return header_->has_ended.load(std::memory_order_acquire) == 0 ? 0 : header_->peak_resident_bytes.load();
}

control_facts region_file::control() const {
  const recorder_pipe& pipe = header_->control;
  // Acquire: the recorder stores whether there is a recording before it answers, so that is read with the answer.
  const std::uint32_t answers = pipe.answers.load(std::memory_order_acquire);
  return {pipe.recorder.load(), pipe.descriptor.load(), pipe.inode.load(), pipe.is_recording.load() != 0, answers};
}

void region_file::offer_control(const control_facts& facts) {
  recorder_pipe& pipe = header_->control;
  pipe.descriptor.store(facts.descriptor);
  pipe.inode.store(facts.inode);
  pipe.is_recording.store(facts.is_recording ? 1 : 0);
  pipe.recorder.store(facts.recorder);
}

void region_file::answer_control(bool is_recording) {
  header_->control.is_recording.store(is_recording ? 1 : 0);
  header_->control.answers.fetch_add(1, std::memory_order_release);
}

namespace {

// Returns the name of a program in the region, with the reason if it could not be recorded.
std::string name_and_reason(const std::string& name) {
  if (name.starts_with(static_cast<char>(refusal::is_static)))
    return name.substr(1) + ": is statically linked, so no loader can put libtarn-record.so into it";
  if (name.starts_with(static_cast<char>(refusal::has_privileges)))
    return name.substr(1) + ": is set-uid or set-gid, so the dynamic loader does not obey LD_PRELOAD";
  if (name.starts_with(static_cast<char>(refusal::lacks_recorder)))
    return name.substr(1) + ": its LD_PRELOAD does not name libtarn-record.so";
  if (name.starts_with(static_cast<char>(refusal::lacks_access)))
    return name.substr(1) +
           ": it cannot open the memory of tarn record, with another user, root folder or /proc "
           "than at its start; tarn record --pid may record it";
  if (name.starts_with(static_cast<char>(refusal::lacks_addresses)))
    return name.substr(1) + ": it has too few addresses (ulimit -v) for the memory of tarn record";
  return name;
}

}  // namespace

unrecorded_facts region_file::unrecorded() const {
  unrecorded_facts facts;
  const std::uint32_t before_exec = header_->exec_after_images.load(std::memory_order_acquire);
  if (before_exec != 0 && before_exec == header_->images.load()) {
    facts.became.assign(header_->exec_path, ::strnlen(header_->exec_path, sizeof header_->exec_path));
  }
  for (const unrecorded_program& program : header_->unrecorded) {
    if (program.state.load(std::memory_order_acquire) != 2) continue;
    const std::uint64_t starts = program.starts.load();
    const std::string name(program.name, ::strnlen(program.name, sizeof program.name));
    if (starts != 0) facts.programs[name_and_reason(name)] += starts;
  }
  if (const std::uint64_t other_programs = header_->unrecorded_others.load()) facts.programs["others"] = other_programs;
  // A child that became a program counts as that where the program could say so. Programs of posix_spawn() and
  // system() count as no child. The counts of a child that borrows its parent's memory come in any order.
  std::uint64_t starts = 0;
  for (const auto& [name, count] : facts.programs) starts += count;
  const std::uint64_t execs = header_->unrecorded_execs.load(), forks = header_->unrecorded_forks.load();
  facts.forks = forks - std::min(forks, execs) + execs - std::min(execs, starts);
  facts.is_restricted = header_->restricted.load() != 0;
  return facts;
}

// The recorder publishes a record's offset after the record; the counters of offsets may run ahead of them.

void region_file::read_modules(recording& target) const {
  const std::uint32_t count = header_->modules.load(std::memory_order_acquire);
  while (target.modules.size() < count) {
    const auto& record =
        *record_at<module_record>(header_->module_at[target.modules.size()].load(std::memory_order_acquire));
    const std::string path(reinterpret_cast<const char*>(&record + 1), record.path_bytes);
    // The file is asked only where the module could not be: it may have been replaced since it was loaded.
    const std::string build_id = record.build_id_bytes <= sizeof record.build_id
                                     ? hexadecimal_text(record.build_id, record.build_id_bytes)
                                     : build_id_of(path);
    target.modules.push_back(
        {record.image, record.start, record.end, record.bias, path, build_id, record.own_functions});
  }
}

void region_file::read_python_codes(recording& target) const {
  const std::uint32_t count = header_->python_codes.load(std::memory_order_acquire);
  while (target.python_codes.size() < count) {
    const auto& record = *record_at<python_code_record>(
        header_->python_code_at[target.python_codes.size()].load(std::memory_order_acquire));
    const auto* text = reinterpret_cast<const char*>(&record + 1);
    const auto take = [&](std::uint32_t bytes) { return std::string(std::exchange(text, text + bytes), bytes); };
    python_code_facts& code = target.python_codes.emplace_back();
    code.image = record.image;
    code.start = record.start;
    code.bytes = record.bytes;
    code.line = record.line;
    code.file = take(record.file_bytes);
    code.function = take(record.function_bytes);
    code.lines = take(record.line_bytes);
  }
}

void region_file::read_sites(recording& target) const {
  const std::uint32_t count = header_->sites.load(std::memory_order_acquire);
  if (target.sites.empty()) target.sites.emplace_back();
  while (target.sites.size() < count) {
    const auto& record = *record_at<site_record>(header_->site_at[target.sites.size()].load(std::memory_order_acquire));
    const auto* const frames = reinterpret_cast<const std::uint64_t*>(&record + 1);
    target.sites.push_back({record.image, {frames, frames + record.frames}});
  }
}

// Completes a cell that has not changed since the newest peak: its present bytes and blocks in use are those at the
// peak, if the peak was in the same image. (The blocks of an image end with it.)
void region_file::complete_peak(const cell& source, std::uint32_t site, heap_counts& counts) const {
  if (source.peak.load(std::memory_order_relaxed) == header_->peaks.load(std::memory_order_relaxed)) return;
  const auto& record = *record_at<site_record>(header_->site_at[site].load(std::memory_order_acquire));
  const bool was_there = site == 0 || record.image == header_->peak_image.load(std::memory_order_relaxed);
  counts[peak_blocks] = was_there ? counts[blocks] - counts[frees] : 0;
  counts[peak_bytes] = was_there ? counts[bytes] - counts[freed_bytes] : 0;
}

template <class Cell, class Take>
void region_file::for_each(const thread_record& record, kind kind, Take take) const {
  for (offset position = record.cells[kind].load(std::memory_order_acquire); position != 0;) {
    const auto& part = *record_at<chunk>(position);
    const std::uint32_t used_cells = part.used_cells.load(std::memory_order_acquire);
    const Cell* const cells = reinterpret_cast<const Cell*>(&part + 1);
    for (std::uint32_t number = 0; number < used_cells; ++number) {
      const std::uint64_t key = cells[number].key.load(std::memory_order_relaxed);
      auto& value = take(cells[number], static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key));
      for (std::size_t index = 0; index < value.size(); ++index) {
        value[index] = cells[number].value[index].load(std::memory_order_relaxed);
      }
      if constexpr (std::is_same_v<Cell, cell>)
        complete_peak(cells[number], static_cast<std::uint32_t>(key >> 32), value);
    }
    position = part.next.load(std::memory_order_acquire);
  }
}

void region_file::read_cells(recording& target, const thread_record& record, std::uint32_t actor) const {
  for_each<cell>(record, heap_kind, [&](const cell&, std::uint32_t site, std::uint32_t owner) -> heap_counts& {
    return target.cells[{site, owner, actor}];
  });
  for_each<call_cell>(record, call_kind,
                      [&](const call_cell&, std::uint32_t site, std::uint32_t number) -> call_counts& {
                        return target.calls[{site, actor, number}];
                      });
  for_each<lock_cell>(record, lock_kind, [&](const lock_cell&, std::uint32_t site, std::uint32_t lock) -> lock_counts& {
    return target.acquisitions[{site, actor, lock}];
  });
  for_each<wait_cell>(
      record, wait_kind, [&](const wait_cell& cell_read, std::uint32_t site, std::uint32_t lock) -> wait_counts& {
        const std::uint64_t holder = cell_read.holder.load(std::memory_order_relaxed);
        return target
            .waits[{site, actor, lock, static_cast<std::uint32_t>(holder >> 32), static_cast<std::uint32_t>(holder)}];
      });
  for_each<order_cell>(
      record, order_kind, [&](const order_cell& cell_read, std::uint32_t site, std::uint32_t lock) -> order_counts& {
        const std::uint64_t held_key = cell_read.held_key.load(std::memory_order_relaxed);
        return target.orders[{site, actor, lock, static_cast<std::uint32_t>(held_key >> 32),
                              static_cast<std::uint32_t>(held_key),
                              static_cast<std::uint32_t>(cell_read.gate.load(std::memory_order_relaxed))}];
      });
  for_each<violation_cell>(
      record, violation_kind,
      [&](const violation_cell&, std::uint32_t site, std::uint32_t lock_of_region) -> violation_counts& {
        return target.violations[{site, actor, lock_of_region}];
      });
}

void region_file::read_locks(recording& target) const {
  const std::uint32_t count = header_->locks.load(std::memory_order_acquire);
  if (target.locks.empty()) target.locks.emplace_back();
  while (target.locks.size() < count) {
    const auto& record = *record_at<lock_record>(header_->lock_at[target.locks.size()].load(std::memory_order_acquire));
    target.locks.push_back({record.image, static_cast<lock_type>(record.type), record.site, record.address,
                            record.is_process_shared != 0});
  }
}

namespace {

// Returns the cells that have the time of waits and holds which had not ended.
std::map<lock_key, lock_counts> open_cells(const recording& recording) {
  std::map<lock_key, lock_counts> cells;
  for (const auto& [key, since] : recording.open_uses) {
    const lock_key cell = {key.site, key.thread, key.lock};
    if (const auto match = recording.acquisitions.find(cell); match != recording.acquisitions.end())
      cells[cell] = match->second;
  }
  return cells;
}

}  // namespace

// Adds the time so far of waits and holds that have not ended to their cells, which have been read. The recorder closes
// a wait before it counts it, so a cell of `before` may have less than it had: that stays as it was.
void region_file::read_open_uses(recording& target, const std::map<lock_key, lock_counts>& before) const {
  std::atomic_thread_fence(std::memory_order_acquire);  // what a cell has counted is no longer open
  target.open_uses.clear();
  target.open_calls.clear();
  const std::uint64_t now = first_tick_ + target.clock.ticks;
  // Returns the key of a use and when it began, or 0 as that time.
  const auto opened = [&](const open_use& use) -> std::pair<std::uint64_t, std::uint64_t> {
    const std::uint64_t since = use.since.load(std::memory_order_acquire);
    const std::uint64_t key = use.key.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    // One that began before this recorder was there may have ended while nothing was recorded.
    const bool is_valid = use.since.load(std::memory_order_relaxed) == since && since < now && since >= first_tick_;
    return {key, is_valid ? since : 0};
  };
  const auto read_use = [&](const open_use& use, bool is_wait, std::uint32_t thread) {
    const auto [key, since] = opened(use);
    if (since == 0) return;
    const lock_key cell = {static_cast<std::uint32_t>(key >> 32), thread, static_cast<std::uint32_t>(key)};
    const bool is_new =
        target.open_uses.try_emplace({is_wait, cell.site, thread, cell.lock}, since - first_tick_).second;
    if (!is_new) return;
    lock_counts& counts = target.acquisitions[cell];
    counts[is_wait ? wait_ticks : held_ticks] += now - since;
    std::uint64_t& longest = counts[is_wait ? longest_wait : longest_held];
    longest = std::max(longest, now - since);
  };
  const std::uint32_t newest = target.images - 1;  // an exec ends the threads of the images before
  for (std::uint32_t number = 0; number < std::min<std::size_t>(target.threads.size(), max_threads); ++number) {
    const offset position = header_->thread_at[number].load(std::memory_order_acquire);
    if (position == 0) continue;
    if (number < target.settled_threads.size() && target.settled_threads[number]) continue;
    const auto& record = *record_at<thread_record>(position);
    if (record.image != newest) continue;
    read_use(record.wait, true, number);
    for (const open_use& hold : record.holds) read_use(hold, false, number);
    for (const open_use& hold : record.semaphores) read_use(hold, false, number);
    if (const auto [key, since] = opened(record.call); since != 0) {
      const call_key call = {static_cast<std::uint32_t>(key >> 32), number, static_cast<std::uint32_t>(key)};
      target.open_calls.try_emplace(call, since - first_tick_);
    }
  }
  for (const auto& [cell, old] : before) {
    lock_counts& counts = target.acquisitions[cell];
    for (const lock_counter counter : {wait_ticks, longest_wait, held_ticks, longest_held})
      counts[counter] = std::max(counts[counter], old[counter]);
  }
}

void region_file::read_quiet_regions(recording& target) const {
  target.quiet_regions.resize(header_->quiet_regions.load(std::memory_order_acquire));
  for (std::size_t number = 0; number < target.quiet_regions.size(); ++number) {
    const auto& record = *record_at<quiet_record>(header_->quiet_at[number].load(std::memory_order_acquire));
    const std::string name(reinterpret_cast<const char*>(&record + 1), record.name_bytes);
    target.quiet_regions[number] = {record.image, name, record.entered.load(std::memory_order_relaxed)};
  }
}

// Reads the trace excerpts that are complete.
void region_file::read_excerpts(recording& target, const thread_record& record, std::uint32_t thread) const {
  if (thread >= max_excerpted) return;
  std::size_t known_excerpts = 0;
  for (const excerpt_facts& excerpt : target.excerpts) known_excerpts += excerpt.thread == thread;
  for (offset position = record.excerpts.load(std::memory_order_acquire); position != 0;) {
    const auto& part = *record_at<excerpt_record>(position);
    position = part.next.load(std::memory_order_acquire);
    if (known_excerpts != 0) {
      --known_excerpts;
      continue;
    }
    if (part.used_events.load(std::memory_order_acquire) < excerpt_capacity) break;
    excerpt_facts& facts = target.excerpts.emplace_back();
    facts.thread = thread;
    facts.allocations = part.allocations;
    for (const event_record& event : part.events) {
      const std::uint32_t site = event.kind_and_site & 0xffffffU;
      facts.events.push_back({static_cast<excerpt_kind>(event.kind_and_site >> 24), site, event.bytes, event.address});
    }
  }
}

// Returns the name that the thread had when it ended.
std::string name_in(const thread_record& record) {
  const std::array<std::uint64_t, 2> name_words = {record.name[0].load(std::memory_order_acquire),
                                                   record.name[1].load(std::memory_order_relaxed)};
  std::array<char, sizeof name_words> text;
  std::memcpy(text.data(), name_words.data(), sizeof name_words);
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

// Returns true if a thread is gone and neither time nor a new peak changes what is read of it.
bool changes_no_more(const thread_record& record) {
  return record.is_gone.load(std::memory_order_acquire) != 0 &&
         record.cells[heap_kind].load(std::memory_order_relaxed) == 0 &&
         std::all_of(std::begin(record.holds), std::end(record.holds),
                     [](const open_use& hold) { return hold.since.load(std::memory_order_relaxed) == 0; });
}

void region_file::read_threads(recording& target) const {
  for (std::uint32_t number = 0; number <= max_threads; ++number) {
    if (number < target.settled_threads.size() && target.settled_threads[number]) continue;
    const offset position = header_->thread_at[number].load(std::memory_order_acquire);
    if (position == 0) {
      if (number >= header_->threads.load(std::memory_order_relaxed)) break;
      if (number >= target.threads.size()) target.threads.resize(number + 1);
      continue;  // the thread has its number, but no record yet
    }
    const auto& record = *record_at<thread_record>(position);
    const bool is_settled = changes_no_more(record);  // before it is read
    if (number >= target.threads.size()) target.threads.resize(number + 1);
    thread_facts& facts = target.threads[number];
    std::string name = name_in(record);
    const std::uint32_t id = record.id.load(std::memory_order_relaxed);
    if (name.empty() && id == facts.id) name = std::move(facts.name);  // another source has named the thread
    facts = {record.image,
             id,
             record.unknown.load(std::memory_order_relaxed),
             record.dropped.load(std::memory_order_relaxed),
             record.allocations.load(std::memory_order_relaxed),
             record.frees.load(std::memory_order_relaxed),
             0,
             std::move(name),
             record.predecessors.load(std::memory_order_relaxed)};
    if (header_->interval != 0) {  // the distance consists of the bytes and of cost_of_a_block for each allocation
      const std::int64_t distance =
          record.drawn_sum.load(std::memory_order_relaxed) - record.until_sample.load(std::memory_order_relaxed);
      facts.bytes =
          static_cast<std::uint64_t>(distance) - static_cast<std::uint64_t>(cost_of_a_block) * facts.allocations;
    }
    read_cells(target, record, number);
    read_excerpts(target, record, number);
    if (is_settled) {
      if (number >= target.settled_threads.size()) target.settled_threads.resize(number + 1);
      target.settled_threads[number] = true;
    }
  }
}

void region_file::read(recording& target) const {
  target.clock = {ticks() - first_tick_, monotonic_nanoseconds() - first_nanosecond_};
  target.images = header_->images.load(std::memory_order_acquire);
  target.work.counts = work();
  target.limits = {header_->missed_acquisitions.load(std::memory_order_relaxed),
                   header_->untimed_holds.load(std::memory_order_relaxed),
                   header_->waits_without_holder.load(std::memory_order_relaxed),
                   header_->thread_at[max_threads].load(std::memory_order_relaxed) != 0,
                   header_->own_ranges[max_own_ranges - 1].bytes.load(std::memory_order_relaxed) != 0};
  const std::map<lock_key, lock_counts> cells_before = open_cells(target);
  // Threads are read first, as their cells name sites: a site that is added afterwards does no harm. The owner of a
  // cell is a thread whose number was taken before its block was handed on.
  read_threads(target);
  read_open_uses(target, cells_before);
  read_locks(target);  // before the sites, as a lock names the site of its first use
  read_quiet_regions(target);
  read_sites(target);
  read_modules(target);
  read_python_codes(target);
  for (const auto& [key, value] : target.cells) {
    if (key.owner >= target.threads.size()) target.threads.resize(key.owner + 1);
  }
  for (const auto& [key, value] : target.waits) {
    if (key.holder >= target.threads.size()) target.threads.resize(key.holder + 1);
  }
}

}  // namespace tarn::command
