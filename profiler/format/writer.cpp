#include "profiler/format/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "profiler/format/checksum.hpp"
#include "profiler/format/reader.hpp"

namespace tarn::format {
namespace {

constexpr int compression_level = 1;  // level 3 saves a tenth of the file, and takes twice as long
// A block is closed once it exceeds this size, so that a torn block loses little and a reader needs little memory.
constexpr std::size_t block_bytes = std::size_t{1} << 20;

// Cells are sorted by site, so the site is stored as the difference from the previous one.
void put_key(encoder& output, const heap_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.owner, key.actor}) output.number(word);
}
void put_key(encoder& output, const call_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.number}) output.number(word);
}
void put_key(encoder& output, const lock_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.lock}) output.number(word);
}
void put_key(encoder& output, const wait_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.lock, key.holder_site, key.holder})
    output.number(word);
}
void put_key(encoder& output, const order_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.lock, key.held_site, key.held_lock, key.gate})
    output.number(word);
}
void put_key(encoder& output, const cpu_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread}) output.number(word);
}
void put_key(encoder& output, const violation_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.region}) output.number(word);
}

[[noreturn]] void fail(const char* message) { throw std::system_error(errno, std::generic_category(), message); }

// A file that somebody truncates stays too short for ever, because each write appends (writer::is_truncated).
int open_to_write(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
  if (file < 0) fail(path.c_str());
  return file;
}

// Locks a file that no other process writes. The lock belongs to this process: it ends with the process, and a forked
// child that has not yet become the program does not hold it. A file system without locks is no reason to refuse the
// file.
void lock(int file, const std::string& path) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  if (::fcntl(file, F_SETLK, &whole) != 0 && (errno == EACCES || errno == EAGAIN)) {
    errno = EBUSY;
    fail((path + ": another tarn record writes to this file").c_str());
  }
}

// Empties a regular file that no other process writes, and that is a recording.
void empty(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return;  // a device or a pipe
  if (facts.st_size != 0) require_recording(path);
  lock(file, path);
  if (::ftruncate(file, 0) != 0) fail(path.c_str());
}

}  // namespace

void require_writable(const std::string& path) {
  struct stat facts {};
  const bool is_there = ::stat(path.c_str(), &facts) == 0;
  if (is_there && !S_ISREG(facts.st_mode)) return;  // who reads a pipe would see its end
  const int file = open_to_write(path);
  std::error_code ignored;
  if (!is_there) std::filesystem::remove(std::filesystem::canonical(path, ignored), ignored);
  try {
    if (is_there && facts.st_size != 0) require_recording(path);
    lock(file, path);
  } catch (const std::system_error&) {
    ::close(file);
    throw;
  }
  ::close(file);
}

writer::writer(const std::string& path) : file_(open_to_write(path)) {
  const file_header header{recording_magic, recording_version, 0};
  try {
    empty(file_, path);
    write(&header, sizeof header);
  } catch (const std::system_error& error) {
    struct stat facts {};
    if (error.code().value() != EBUSY && ::fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 0)
      ::unlink(path.c_str());  // there is no room for its first bytes
    ::close(file_);
    if (std::string_view(error.what()).find(path) != std::string_view::npos) throw;
    throw std::system_error(error.code(), path);
  }
}

writer::~writer() { ::close(file_); }

void writer::write(const void* bytes, std::size_t size) {
  const char* position = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t wrote = ::write(file_, position, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail("the recording cannot be written");
    position += wrote;
    size -= static_cast<std::size_t>(wrote);
    bytes_ += static_cast<std::uint64_t>(wrote);
  }
}

void writer::put(block_kind kind, std::string_view content) {
  std::string block(sizeof(block_header) + ZSTD_compressBound(content.size()), '\0');
  const std::size_t packed = ZSTD_compress(block.data() + sizeof(block_header), block.size() - sizeof(block_header),
                                           content.data(), content.size(), compression_level);
  if (ZSTD_isError(packed) != 0) throw std::system_error(ENOMEM, std::generic_category(), ZSTD_getErrorName(packed));
  block.resize(sizeof(block_header) + packed);
  block_header header{block_mark, static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(packed),
                      static_cast<std::uint32_t>(content.size()), 0};
  header.checksum = checksum_of(header, std::string_view(block).substr(sizeof header));
  block.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
  const std::uint64_t before = bytes_;
  try {
    write(block.data(), block.size());  // in one call, so that a block is usually written completely or not at all
  } catch (const std::system_error&) {
    // A part of a block would count as damage.
    if (::ftruncate(file_, static_cast<off_t>(before)) == 0) bytes_ = before;
    throw;
  }
}

void writer::put_part(block_kind kind, std::string_view content) {
  snapshot_.number(static_cast<std::uint32_t>(kind));
  snapshot_.text(content);
  if (snapshot_.bytes().size() >= block_bytes) end_snapshot();
}

void writer::end_snapshot() {
  if (!snapshot_.bytes().empty()) put(block_kind::snapshot, snapshot_.bytes());
  snapshot_ = {};
}

void writer::program(const program_facts& facts) {
  encoder output;
  output.number(facts.process);
  output.number(facts.started);
  output.text(facts.machine);
  output.text(facts.mode);
  output.number(facts.sources.size());
  for (const std::string& source : facts.sources) output.text(source);
  output.number(facts.arguments.size());
  for (const std::string& word : facts.arguments) output.text(word);
  output.number(facts.parent);
  output.number(facts.interval);
  output.number(facts.is_late ? 1 : 0);
  output.text(facts.host);
  put(block_kind::program, output.bytes());
}

void writer::modules(const recording& now) {
  if (now.modules.size() == written_.modules.size() && now.images == written_.images) return;
  encoder output;
  output.number(now.images);
  modules(block_kind::modules, now.modules, written_.modules, std::move(output));
  written_.images = now.images;
}

// Adds the new modules to `output`, after everything that precedes them.
void writer::modules(block_kind kind, const std::vector<module_facts>& now, std::vector<module_facts>& before,
                     encoder output) {
  std::for_each(now.begin() + static_cast<std::ptrdiff_t>(before.size()), now.end(), [&](const module_facts& module) {
    output.number(module.image);
    output.number(module.start);
    output.number(module.end - module.start);
    output.number(module.bias);
    output.text(module.path);
    output.text(module.build_id);
    output.number(module.own_functions);
  });
  put_part(kind, output.bytes());
  before = now;
}

void writer::python_codes(block_kind kind, const std::vector<python_code_facts>& now,
                          std::vector<python_code_facts>& before) {
  encoder output;
  for (std::size_t number = before.size(); number < now.size(); ++number) {
    const python_code_facts& code = now[number];
    output.number(code.image);
    output.number(code.start);
    output.number(code.bytes);
    output.number(code.line);
    output.text(code.file);
    output.text(code.function);
    output.text(code.lines);
  }
  if (output.bytes().empty()) return;
  put_part(kind, output.bytes());
  before = now;
}

void writer::threads(const recording& now) {
  encoder output;
  for (std::size_t number = 0; number < now.threads.size(); ++number) {
    const thread_facts& thread = now.threads[number];
    if (number < written_.threads.size() && written_.threads[number] == thread) continue;
    output.number(number);
    output.number(thread.image);
    output.number(thread.id);
    output.number(thread.unknown);
    output.number(thread.dropped);
    output.number(thread.allocations);
    output.number(thread.frees);
    output.number(thread.bytes);
  }
  if (output.bytes().empty()) return;
  put_part(block_kind::threads, output.bytes());
  written_.threads = now.threads;
}

void writer::names(const recording& now) {
  names_.resize(now.threads.size());
  encoder output;
  for (std::size_t number = 0; number < now.threads.size(); ++number) {
    const std::string& name = now.threads[number].name;
    if (names_[number] == name) continue;
    output.number(number);
    output.text(name);
    names_[number] = name;
  }
  if (!output.bytes().empty()) put_part(block_kind::names, output.bytes());
}

void writer::predecessors(const recording& now) {
  predecessors_.resize(now.threads.size());
  encoder output;
  for (std::size_t number = 0; number < now.threads.size(); ++number) {
    const std::uint64_t count = now.threads[number].predecessors;
    if (std::exchange(predecessors_[number], count) == count) continue;
    output.number(number);
    output.number(count);
  }
  if (!output.bytes().empty()) put_part(block_kind::predecessors, output.bytes());
}

void writer::sites(block_kind kind, const std::vector<site_facts>& now, std::vector<site_facts>& before) {
  std::size_t number = before.size();
  while (number < now.size()) {
    encoder output;
    output.number(number);
    for (; number < now.size() && output.bytes().size() < block_bytes; ++number) {
      const site_facts& site = now[number];
      output.number(site.image);
      output.number(site.frames.size());
      std::uint64_t inner = 0;
      for (const std::uint64_t frame : site.frames) {
        output.difference(frame, inner);
        inner = frame;
      }
      before.emplace_back();  // only their number is needed: a site that is written never changes
    }
    put_part(kind, output.bytes());
  }
}

void writer::cpu(const cpu_recording& now) {
  cpu_recording& before = written_.cpu;
  if (now.interval_ns != before.interval_ns || now.lost != before.lost) {
    encoder output;
    output.number(now.interval_ns);
    output.number(now.lost);
    output.number(now.is_kernel_hidden ? 1 : 0);
    put_part(block_kind::cpu_facts, output.bytes());
    before.interval_ns = now.interval_ns;
    before.lost = now.lost;
  }
  if (now.modules.size() != before.modules.size())
    modules(block_kind::cpu_modules, now.modules, before.modules, encoder());
  python_codes(block_kind::cpu_python_codes, now.python_codes, before.python_codes);
  encoder output;
  for (std::size_t number = 0; number < now.threads.size(); ++number) {
    const cpu_thread& thread = now.threads[number];
    if (number < before.threads.size() && before.threads[number] == thread) continue;
    output.number(number);
    output.number(thread.image);
    output.number(thread.id);
    output.text(thread.name);
  }
  if (!output.bytes().empty()) put_part(block_kind::cpu_threads, output.bytes());
  before.threads = now.threads;
  sites(block_kind::cpu_stacks, now.stacks, before.stacks);
}

void writer::locks(const recording& now) {
  std::size_t number = written_.locks.size();
  while (number < now.locks.size()) {
    encoder output;
    output.number(number);
    for (; number < now.locks.size() && output.bytes().size() < block_bytes; ++number) {
      const lock_facts& lock = now.locks[number];
      output.number(lock.image);
      output.number(static_cast<std::uint32_t>(lock.type) + (lock.is_process_shared ? lock_types : 0));
      output.number(lock.site);
      output.number(lock.address);
      written_.locks.push_back(lock);
    }
    put_part(block_kind::locks, output.bytes());
  }
}

void writer::quiet_regions(const recording& now) {
  encoder output;
  for (std::size_t number = 0; number < now.quiet_regions.size(); ++number) {
    const quiet_facts& region = now.quiet_regions[number];
    if (number < written_.quiet_regions.size() && written_.quiet_regions[number] == region) continue;
    output.number(number);
    output.number(region.image);
    output.number(region.entered);
    output.text(region.name);
  }
  if (output.bytes().empty()) return;
  put_part(block_kind::quiet_regions, output.bytes());
  written_.quiet_regions = now.quiet_regions;
}

void writer::clock(const recording& now) {
  encoder output;
  output.number(now.clock.ticks);
  output.number(now.clock.nanoseconds);
  put_part(block_kind::clock, output.bytes());
  written_.clock = now.clock;
}

void writer::excerpts(const recording& now) {
  while (written_.excerpts.size() < now.excerpts.size()) {
    const excerpt_facts& excerpt = now.excerpts[written_.excerpts.size()];
    encoder output;
    output.number(excerpt.thread);
    output.number(excerpt.allocations);
    std::uint64_t before = 0;
    for (const excerpt_event& step : excerpt.events) {
      const bool is_located = step.kind == excerpt_kind::release && step.site != 0;
      output.number(is_located ? located_release : static_cast<std::uint32_t>(step.kind));
      if (step.kind == excerpt_kind::allocate || is_located) output.number(step.site);
      output.number(step.bytes);
      output.difference(step.address, before);
      before = step.address;
    }
    put_part(block_kind::excerpt, output.bytes());
    written_.excerpts.emplace_back();  // empty placeholders: excerpts are large and never change
  }
}

template <class Key, class Counts>
void writer::cells(block_kind kind, const cell_table<Key, Counts>& now, cell_table<Key, Counts>& before) {
  encoder output;
  std::uint32_t site = 0;
  const auto close = [&] {
    if (!output.bytes().empty()) put_part(kind, output.bytes());
    output = {};
    site = 0;
  };
  constexpr Counts zeroes{};
  std::vector<typename cell_table<Key, Counts>::value_type> added;
  // Both are sorted, so one walk finds the place of each key.
  auto position = before.begin();
  for (const auto& [key, value] : now) {
    while (position != before.end() && position->first < key) ++position;
    const bool is_new = position == before.end() || position->first != key;
    const Counts& written = is_new ? zeroes : position->second;
    if (written == value) continue;
    put_key(output, key, site);
    site = key.site;
    std::uint64_t changed = 0;
    static_assert(std::tuple_size_v<Counts> < 64);
    for (std::size_t index = 0; index < value.size(); ++index)
      changed |= std::uint64_t{value[index] != written[index]} << index;
    output.number(changed);
    for (std::size_t index = 0; index < value.size(); ++index) {
      if (value[index] == written[index]) continue;
      is_longest(key, index) ? output.number(value[index]) : output.difference(value[index], written[index]);
    }
    if (is_new) {
      added.push_back({key, value});
    } else {
      position->second = value;
    }
    if (output.bytes().size() >= block_bytes) close();
  }
  for (const auto& [key, value] : added) before.emplace(key, value);
  close();
}

void writer::open_uses(const recording& now) {
  if (now.open_uses == written_.open_uses) return;
  encoder output;
  for (const auto& [key, since] : now.open_uses) {
    output.number(key.is_wait ? 1 : 0);
    for (const std::uint32_t word : {key.site, key.thread, key.lock}) output.number(word);
    output.number(since);
  }
  put_part(block_kind::open_uses, output.bytes());
  written_.open_uses = now.open_uses;
}

void writer::open_calls(const recording& now) {
  if (now.open_calls == written_.open_calls) return;
  encoder output;
  for (const auto& [key, since] : now.open_calls) {
    for (const std::uint32_t word : {key.site, key.thread, key.number}) output.number(word);
    output.number(since);
  }
  put_part(block_kind::open_calls, output.bytes());
  written_.open_calls = now.open_calls;
}

void writer::lasting(const lasting_waits& now) {
  lasting_waits& before = written_.lasting;
  if (now.modules.size() != before.modules.size())
    modules(block_kind::lasting_modules, now.modules, before.modules, encoder());
  python_codes(block_kind::lasting_python_codes, now.python_codes, before.python_codes);
  sites(block_kind::lasting_stacks, now.stacks, before.stacks);
  if (now.waits == before.waits) return;
  encoder output;
  for (const lasting_wait& wait : now.waits) {
    for (const std::uint32_t number : {wait.thread, wait.stack, static_cast<std::uint32_t>(wait.kind)})
      output.number(number);
    output.number(wait.address);
    output.number(wait.holder);
    output.number(static_cast<std::uint32_t>(wait.owner));
    output.number(static_cast<std::uint32_t>(wait.start));
    output.text(wait.name);
  }
  put_part(block_kind::lasting_waits, output.bytes());
  before.waits = now.waits;
}

void writer::peak(const recording& now) {
  if (now.peak_ns == written_.peak_ns) return;
  encoder output;
  output.number(now.peak_ns);
  put_part(block_kind::peak, output.bytes());
  written_.peak_ns = now.peak_ns;
}

void writer::residence(const recording& now) {
  const residence_facts& facts = now.residence;
  if (facts == written_.residence) return;
  encoder output;
  output.number(facts.at_ns);
  output.number(facts.knows_in_use ? 1 : 0);
  output.number(facts.in_use_bytes);
  output.number(facts.shared_bytes);
  output.number(facts.huge_page_bytes);
  output.number(facts.swapped_bytes);
  for (const std::uint64_t bytes : facts.bytes) output.number(bytes);
  put_part(block_kind::residence, output.bytes());
  written_.residence = facts;
}

void writer::leaks(const recording& now) {
  if (!now.has_leaks || written_.has_leaks) return;
  encoder output;
  for (const auto& [site, facts] : now.leaks) {
    output.number(site);
    output.number(facts.blocks);
    output.number(facts.bytes);
    output.number(facts.first_blocks);
  }
  put_part(block_kind::leaks, output.bytes());
  written_.has_leaks = true;
}

void writer::contents(const recording& now) {
  if (now.contents == written_.contents) return;
  encoder output;
  output.number(now.contents.at_ns);
  output.number(now.contents.in_use_bytes);
  for (const auto& [site, facts] : now.contents.sites) {
    for (const std::uint64_t number :
         {std::uint64_t{site}, facts.blocks, facts.bytes, facts.unwritten_blocks, facts.unwritten_bytes,
          facts.max_unwritten, facts.equal_blocks, facts.equal_bytes, facts.repeated})
      output.number(number);
  }
  put_part(block_kind::contents, output.bytes());
  written_.contents = now.contents;
}

void writer::limits(const recording& now) {
  if (now.limits == written_.limits) return;
  encoder output;
  output.number(now.limits.missed_acquisitions);
  output.number(now.limits.untimed_holds);
  output.number(now.limits.has_shared_threads ? 1 : 0);
  output.number(now.limits.has_all_own_ranges ? 1 : 0);
  output.number(now.limits.waits_without_holder);
  put_part(block_kind::limits, output.bytes());
  written_.limits = now.limits;
}

void writer::timestamp(const recording& now) {
  if (now.snapshots.size() == written_.snapshots.size()) return;
  const snapshot_facts before = written_.snapshots.empty() ? snapshot_facts{} : written_.snapshots.back();
  const snapshot_facts& last = now.snapshots.back();
  encoder output;
  output.number(last.at_ns - before.at_ns);
  output.number(last.resident_bytes);
  output.number(last.user_us);
  output.number(last.system_us);
  output.number(last.peak_resident_bytes);
  put_part(block_kind::timestamp, output.bytes());
  written_.snapshots = now.snapshots;
}

void writer::changes(const recording& now) {
  modules(now);
  python_codes(block_kind::python_codes, now.python_codes, written_.python_codes);
  threads(now);
  names(now);
  predecessors(now);
  sites(block_kind::sites, now.sites, written_.sites);
  locks(now);
  quiet_regions(now);
  cpu(now.cpu);
  lasting(now.lasting);
  // Excerpts come last, because they refer to the others.
  excerpts(now);
  const std::uint64_t before = bytes_ + snapshot_.bytes().size();
  cells(block_kind::cells, now.cells, written_.cells);
  cells(block_kind::calls, now.calls, written_.calls);
  cells(block_kind::acquisitions, now.acquisitions, written_.acquisitions);
  cells(block_kind::waits, now.waits, written_.waits);
  cells(block_kind::orders, now.orders, written_.orders);
  cells(block_kind::violations, now.violations, written_.violations);
  cells(block_kind::cpu_cells, now.cpu.cells, written_.cpu.cells);
  open_uses(now);
  open_calls(now);
  // A thread that only waits in a call changes no count, but the time for which it has waited.
  const bool needs_clock = bytes_ + snapshot_.bytes().size() != before || !now.open_calls.empty();
  if (needs_clock && now.clock != written_.clock) clock(now);
  peak(now);
  residence(now);
  leaks(now);
  contents(now);
  limits(now);
  timestamp(now);
  end_snapshot();
}

void writer::unrecorded(const unrecorded_facts& facts) {
  encoder output;
  output.text(facts.became);
  output.text(facts.why);
  output.number(facts.forks);
  output.number(facts.is_restricted ? 1 : 0);
  for (const auto& [name, starts] : facts.programs) {
    output.text(name);
    output.number(starts);
  }
  put(block_kind::unrecorded, output.bytes());
}

void writer::work(const work_facts& facts) {
  encoder output;
  output.number(facts.collector_us);
  constexpr double picoseconds = 1000;
  for (std::size_t item = 0; item < work_item_count; ++item) {
    output.number(facts.amounts[item]);
    output.number(static_cast<std::uint64_t>(facts.prices[item] * picoseconds));
  }
  output.number(facts.is_disturbed ? 1 : 0);
  put(block_kind::work, output.bytes());
}

void writer::end(const end_facts& facts) {
  encoder output;
  output.number(facts.is_running ? 2 : facts.has_unknown_way ? 3 : facts.status_is_signal ? 1 : 0);
  output.number(facts.status);
  for (const std::uint64_t number : {facts.wall_us, facts.user_us, facts.system_us, facts.instructions,
                                     facts.branch_mispredictions, facts.reads, facts.writes})
    output.number(number);
  put(block_kind::end, output.bytes());
}

}  // namespace tarn::format
