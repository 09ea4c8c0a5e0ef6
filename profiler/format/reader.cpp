#include "profiler/format/reader.hpp"

#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "profiler/format/checksum.hpp"
#include "profiler/format/region.hpp"

namespace tarn::format {
namespace {

constexpr std::size_t max_arguments = 1 << 20;
constexpr std::uint32_t max_images = 1 << 20;
constexpr std::size_t max_snapshots = 1 << 20;

std::uint32_t read_small_number(decoder& input, std::uint32_t limit) {
  return static_cast<std::uint32_t>(input.number(limit));
}
// Reads an index into a list of `size` entries.
std::uint32_t read_index(decoder& input, std::size_t size) {
  if (size == 0) throw unreadable("a block that refers to a missing entry");
  return read_small_number(input, static_cast<std::uint32_t>(size - 1));
}

void read_program(decoder& input, recording& result) {
  program_facts facts;
  facts.process = input.number();
  facts.started = input.number();
  facts.machine = input.text();
  facts.mode = input.text();
  for (std::uint64_t left = input.number(max_arguments); left > 0; --left) facts.sources.emplace_back(input.text());
  for (std::uint64_t left = input.number(max_arguments); left > 0; --left) facts.arguments.emplace_back(input.text());
  facts.parent = input.number();
  facts.interval = input.number();
  facts.is_late = !input.at_end() && input.number(1) != 0;
  if (!input.at_end()) facts.host = input.text();
  result.program = std::move(facts);
}

void read_modules(decoder& input, std::vector<module_facts>& modules) {
  while (!input.at_end()) {
    module_facts module;
    module.image = read_small_number(input, max_images);
    module.start = input.number();
    module.end = module.start + input.number(~module.start);
    module.bias = input.number();
    module.path = input.text();
    module.build_id = input.text();
    module.own_functions = read_small_number(input, own_malloc | own_new | own_python);
    if (modules.size() == max_modules) throw unreadable("too many modules");
    modules.push_back(std::move(module));
  }
}

void read_python_codes(decoder& input, std::vector<python_code_facts>& codes) {
  while (!input.at_end()) {
    python_code_facts code;
    code.image = read_small_number(input, max_images);
    code.start = input.number();
    code.bytes = input.number(~code.start);
    code.line = read_small_number(input, ~0U);
    code.file = input.text();
    code.function = input.text();
    code.lines = input.text();
    codes.push_back(std::move(code));
  }
}

void read_threads(decoder& input, recording& result) {
  while (!input.at_end()) {
    const std::uint32_t number = read_index(input, result.threads.size() + 1);
    if (number > max_threads) throw unreadable("too many threads");
    thread_facts thread;
    thread.image = read_small_number(input, max_images);
    thread.id = read_small_number(input, ~0U);
    thread.unknown = input.number();
    thread.dropped = input.number();
    thread.allocations = input.number();
    thread.frees = input.number();
    thread.bytes = input.number();
    if (number == result.threads.size()) result.threads.emplace_back();
    thread.name = std::move(result.threads[number].name);
    thread.predecessors = result.threads[number].predecessors;
    result.threads[number] = std::move(thread);
  }
}

void read_names(decoder& input, recording& result) {
  while (!input.at_end()) {
    const std::uint32_t number = read_index(input, result.threads.size());
    result.threads[number].name = input.text();
  }
}

void read_predecessors(decoder& input, recording& result) {
  while (!input.at_end()) {
    const std::uint32_t number = read_index(input, result.threads.size());
    result.threads[number].predecessors = input.number();
  }
}

void read_limits(decoder& input, recording& result) {
  result.limits.missed_acquisitions = input.number();
  result.limits.untimed_holds = input.number();
  result.limits.has_shared_threads = input.number(1) != 0;
  result.limits.has_all_own_ranges = input.number(1) != 0;
  if (!input.at_end()) result.limits.waits_without_holder = input.number();
}

void read_sites(decoder& input, std::vector<site_facts>& sites, std::uint32_t max_frames_of_site) {
  if (input.number() != sites.size()) throw unreadable("sites are missing");
  while (!input.at_end()) {
    site_facts site;
    site.image = read_small_number(input, max_images);
    const std::uint32_t frames = read_small_number(input, max_frames_of_site);
    std::uint64_t before = 0;
    for (std::uint32_t index = 0; index < frames; ++index) site.frames.push_back(before = input.difference(before));
    if (sites.size() == max_sites) throw unreadable("too many sites");
    sites.push_back(std::move(site));
  }
}

void read_locks(decoder& input, recording& result) {
  if (input.number() != result.locks.size()) throw unreadable("locks are missing");
  while (!input.at_end()) {
    lock_facts lock;
    lock.image = read_small_number(input, max_images);
    const std::uint32_t type = read_small_number(input, 2 * lock_types - 1);
    lock.type = static_cast<lock_type>(type % lock_types);
    lock.is_process_shared = type >= lock_types;
    lock.site = read_index(input, result.sites.size());
    lock.address = input.number();
    if (result.locks.size() == max_locks) throw unreadable("too many locks");
    result.locks.push_back(lock);
  }
}

void read_quiet_regions(decoder& input, recording& result) {
  while (!input.at_end()) {
    const std::uint32_t number = read_index(input, result.quiet_regions.size() + 1);
    if (number == max_quiet_regions) throw unreadable("too many quiet regions");
    if (number == result.quiet_regions.size()) result.quiet_regions.emplace_back();
    quiet_facts& region = result.quiet_regions[number];
    region.image = read_small_number(input, max_images);
    region.entered = input.number();
    region.name = input.text();
  }
}

void read_clock(decoder& input, recording& result) {
  clock_facts facts;
  facts.ticks = input.number();
  facts.nanoseconds = input.number();
  if (facts.ticks == 0) throw unreadable("a clock that did not advance");
  result.clock = facts;
}

void read_excerpt(decoder& input, recording& result) {
  excerpt_facts facts;
  facts.thread = read_index(input, result.threads.size());
  facts.allocations = input.number();
  std::uint64_t before = 0;
  while (!input.at_end()) {
    if (facts.events.size() == excerpt_capacity) throw unreadable("an excerpt above its limit");
    excerpt_event step;
    const std::uint32_t kind = read_small_number(input, located_release);
    step.kind = kind == located_release ? excerpt_kind::release : static_cast<excerpt_kind>(kind);
    if (step.kind == excerpt_kind::allocate || kind == located_release)
      step.site = read_index(input, result.sites.size());
    step.bytes = read_small_number(input, ~0U);
    step.address = before = input.difference(before);
    facts.events.push_back(step);
  }
  if (result.excerpts.size() == std::size_t{max_excerpts} * max_excerpted) throw unreadable("too many excerpts");
  result.excerpts.push_back(std::move(facts));
}

void read_cpu_facts(decoder& input, recording& result) {
  result.cpu.interval_ns = input.number();
  result.cpu.lost = input.number();
  result.cpu.is_kernel_hidden = input.number(1) != 0;
}

void read_cpu_threads(decoder& input, recording& result) {
  std::vector<cpu_thread>& threads = result.cpu.threads;
  while (!input.at_end()) {
    const std::uint32_t number = read_index(input, threads.size() + 1);
    if (number > max_sites) throw unreadable("too many threads");
    if (number == threads.size()) threads.emplace_back();
    threads[number].image = read_small_number(input, max_images);
    threads[number].id = read_small_number(input, ~0U);
    threads[number].name = input.text();
  }
}

// Adds the encoded step to `site`, which holds the site of the previous key.
void read_site(decoder& input, const std::vector<site_facts>& sites, std::uint32_t& site) {
  const std::uint32_t step = read_index(input, sites.size());
  if (step >= sites.size() - site) throw unreadable("a block that refers to a missing entry");
  site += step;
}
void read_key(decoder& input, const recording& recording, heap_key& key) {
  read_site(input, recording.sites, key.site);
  key.owner = read_index(input, recording.threads.size());
  key.actor = read_index(input, recording.threads.size());
}
void read_key(decoder& input, const recording& recording, call_key& key) {
  read_site(input, recording.sites, key.site);
  key.thread = read_index(input, recording.threads.size());
  key.number = read_small_number(input, max_call_number);
}
void read_key(decoder& input, const recording& recording, lock_key& key) {
  read_site(input, recording.sites, key.site);
  key.thread = read_index(input, recording.threads.size());
  key.lock = read_index(input, recording.locks.size());
}
void read_key(decoder& input, const recording& recording, wait_key& key) {
  read_site(input, recording.sites, key.site);
  key.thread = read_index(input, recording.threads.size());
  key.lock = read_index(input, recording.locks.size());
  key.holder_site = read_index(input, recording.sites.size());
  key.holder = read_index(input, recording.threads.size());
}
void read_key(decoder& input, const recording& recording, order_key& key) {
  read_site(input, recording.sites, key.site);
  key.thread = read_index(input, recording.threads.size());
  key.lock = read_index(input, recording.locks.size());
  key.held_site = read_index(input, recording.sites.size());
  key.held_lock = read_index(input, recording.locks.size());
  key.gate = read_index(input, recording.locks.size());
}
void read_key(decoder& input, const recording& recording, violation_key& key) {
  read_site(input, recording.sites, key.site);
  key.thread = read_index(input, recording.threads.size());
  key.region = read_index(input, recording.quiet_regions.size());
}

void read_key(decoder& input, const recording& recording, cpu_key& key) {
  read_site(input, recording.cpu.stacks, key.site);
  key.thread = read_index(input, recording.cpu.threads.size());
}

template <class Key, class Counts>
void read_cells(decoder& input, const recording& recording, cell_table<Key, Counts>& cells, watcher* watching) {
  Key key{};
  while (!input.at_end()) {
    read_key(input, recording, key);
    const std::uint64_t changed = input.number((std::uint64_t{1} << std::tuple_size_v<Counts>)-1);
    Counts& total = cells[key];
    Counts increase{};
    for (std::size_t index = 0; index < total.size(); ++index) {
      if ((changed >> index & 1) == 0) continue;
      if (is_longest(key, index)) {
        total[index] = increase[index] = input.number();
        continue;
      }
      const std::uint64_t after = input.difference(total[index]);
      // An estimate may decrease a little.
      const bool is_change = may_fall(key, index) || (after > total[index] && !is_of_peak(key, index));
      increase[index] = is_change ? after - total[index] : 0;
      total[index] = after;
    }
    if (watching != nullptr) watching->increase(key, increase);
  }
}

void read_timestamp(decoder& input, recording& result, watcher* watching) {
  snapshot_facts facts;
  const std::uint64_t before = result.snapshots.empty() ? 0 : result.snapshots.back().at_ns;
  facts.at_ns = before + input.number(~before);
  facts.resident_bytes = input.number();
  facts.user_us = input.number();
  facts.system_us = input.number();
  if (!input.at_end()) facts.peak_resident_bytes = input.number();
  if (result.snapshots.size() == max_snapshots) throw unreadable("too many moments");
  result.snapshots.push_back(facts);
  if (watching != nullptr) watching->snapshot(result);
}

void read_peak(decoder& input, recording& result) { result.peak_ns = input.number(); }

void read_residence(decoder& input, recording& result) {
  residence_facts facts;
  facts.at_ns = input.number();
  facts.knows_in_use = input.number(1) != 0;
  facts.in_use_bytes = input.number();
  facts.shared_bytes = input.number();
  facts.huge_page_bytes = input.number();
  facts.swapped_bytes = input.number();
  constexpr std::uint64_t max_bytes = std::uint64_t{1} << 60;  // so that the sum of all kinds does not wrap
  for (std::uint64_t& bytes : facts.bytes) bytes = input.number(max_bytes);
  result.residence = facts;
  if (facts.sum() >= result.peak_resident.sum()) result.peak_resident = facts;
}

void read_leaks(decoder& input, recording& result) {
  result.has_leaks = true;
  result.leaks.clear();
  while (!input.at_end()) {
    leak_facts& facts = result.leaks[read_index(input, result.sites.size())];
    facts.blocks = input.number();
    facts.bytes = input.number();
    facts.first_blocks = input.number(facts.blocks);
  }
}

void read_contents(decoder& input, recording& result) {
  contents_facts facts;
  constexpr std::uint64_t max_bytes = std::uint64_t{1} << 60;  // so that sums of sites do not wrap
  facts.at_ns = input.number();
  facts.in_use_bytes = input.number(max_bytes);
  while (!input.at_end()) {
    site_contents& site = facts.sites[read_index(input, result.sites.size())];
    site.blocks = input.number(max_bytes);
    site.bytes = input.number(facts.in_use_bytes);
    site.unwritten_blocks = input.number(site.blocks);
    site.unwritten_bytes = input.number(site.bytes);
    site.max_unwritten = input.number(site.unwritten_bytes);
    site.equal_blocks = input.number(site.blocks);
    site.equal_bytes = input.number(site.bytes);
    site.repeated = input.number(site.equal_blocks);
  }
  result.contents = std::move(facts);
}

void read_unrecorded(decoder& input, recording& result) {
  unrecorded_facts facts;
  facts.became = input.text();
  facts.why = input.text();
  facts.forks = input.number();
  facts.is_restricted = input.number(1) != 0;
  while (!input.at_end()) {
    std::string name(input.text());
    facts.programs[std::move(name)] = input.number();
    if (facts.programs.size() > max_arguments) throw unreadable("too many programs");
  }
  result.unrecorded = std::move(facts);
}

void read_open_uses(decoder& input, recording& result) {
  result.open_uses.clear();
  while (!input.at_end()) {
    open_key key;
    key.is_wait = input.number(1) != 0;
    key.site = read_index(input, result.sites.size());
    key.thread = read_index(input, result.threads.size());
    key.lock = read_index(input, result.locks.size());
    result.open_uses[key] = input.number();
  }
}

void read_open_calls(decoder& input, recording& result) {
  result.open_calls.clear();
  while (!input.at_end()) {
    call_key key;
    key.site = read_index(input, result.sites.size());
    key.thread = read_index(input, result.threads.size());
    key.number = read_small_number(input, max_call_number);
    result.open_calls[key] = input.number();
  }
}

void read_lasting_waits(decoder& input, recording& result) {
  result.lasting.waits.clear();
  while (!input.at_end()) {
    lasting_wait wait;
    wait.thread = read_small_number(input, ~0U);
    wait.stack = read_index(input, result.lasting.stacks.size());
    wait.kind = static_cast<awaited>(read_small_number(input, awaited_kinds - 1));
    wait.address = input.number();
    wait.holder = read_small_number(input, ~0U);
    wait.owner = static_cast<ownership>(read_small_number(input, ownerships - 1));
    wait.start = static_cast<wait_start>(read_small_number(input, wait_starts - 1));
    wait.name = input.text();
    if (result.lasting.waits.size() == max_sites) throw unreadable("too many waits");
    result.lasting.waits.push_back(std::move(wait));
  }
}

void read_work(decoder& input, recording& result) {
  work_facts facts;
  facts.collector_us = input.number();
  constexpr std::uint64_t longest_ps = std::uint64_t{1} << 50;  // a quarter of an hour
  for (std::size_t item = 0; item < work_item_count; ++item) {
    facts.amounts[item] = input.number();
    facts.prices[item] = static_cast<double>(input.number(longest_ps)) / 1000;
  }
  facts.is_disturbed = !input.at_end() && input.number(1) != 0;
  result.work = facts;
}

void read_end(decoder& input, recording& result) {
  end_facts facts;
  const std::uint64_t way = input.number(3);  // 0: by an exit code, 1: by a signal, 2: not ended, 3: not known
  facts.status_is_signal = way == 1;
  facts.is_running = way == 2;
  facts.has_unknown_way = way == 3;
  facts.status = read_small_number(input, ~0U);
  facts.wall_us = input.number();
  facts.user_us = input.number();
  facts.system_us = input.number();
  facts.instructions = input.number();
  facts.branch_mispredictions = input.number();
  facts.reads = input.number();
  facts.writes = input.number();
  result.end = facts;
  result.has_ended = true;
}

void read_part(block_kind kind, decoder input, recording& result, watcher* watching) {
  switch (kind) {
    case block_kind::program: return read_program(input, result);
    case block_kind::end: return read_end(input, result);
    case block_kind::modules:
      result.images = read_small_number(input, max_images);
      return read_modules(input, result.modules);
    case block_kind::python_codes: return read_python_codes(input, result.python_codes);
    case block_kind::threads: return read_threads(input, result);
    case block_kind::names: return read_names(input, result);
    case block_kind::predecessors: return read_predecessors(input, result);
    case block_kind::limits: return read_limits(input, result);
    case block_kind::sites: return read_sites(input, result.sites, max_frames);
    case block_kind::locks: return read_locks(input, result);
    case block_kind::quiet_regions: return read_quiet_regions(input, result);
    case block_kind::excerpt: return read_excerpt(input, result);
    case block_kind::cells: return read_cells(input, result, result.cells, watching);
    case block_kind::calls: return read_cells(input, result, result.calls, watching);
    case block_kind::acquisitions: return read_cells(input, result, result.acquisitions, watching);
    case block_kind::waits: return read_cells(input, result, result.waits, watching);
    case block_kind::orders: return read_cells(input, result, result.orders, watching);
    case block_kind::violations: return read_cells(input, result, result.violations, watching);
    case block_kind::clock: return read_clock(input, result);
    case block_kind::timestamp: return read_timestamp(input, result, watching);
    case block_kind::peak: return read_peak(input, result);
    case block_kind::residence: return read_residence(input, result);
    case block_kind::cpu_facts: return read_cpu_facts(input, result);
    case block_kind::cpu_modules: return read_modules(input, result.cpu.modules);
    case block_kind::cpu_python_codes: return read_python_codes(input, result.cpu.python_codes);
    case block_kind::cpu_threads: return read_cpu_threads(input, result);
    case block_kind::cpu_stacks: return read_sites(input, result.cpu.stacks, max_cpu_frames);
    case block_kind::cpu_cells: return read_cells(input, result, result.cpu.cells, watching);
    case block_kind::leaks: return read_leaks(input, result);
    case block_kind::contents: return read_contents(input, result);
    case block_kind::open_uses: return read_open_uses(input, result);
    case block_kind::open_calls: return read_open_calls(input, result);
    case block_kind::lasting_modules: return read_modules(input, result.lasting.modules);
    case block_kind::lasting_python_codes: return read_python_codes(input, result.lasting.python_codes);
    case block_kind::lasting_stacks: return read_sites(input, result.lasting.stacks, max_cpu_frames);
    case block_kind::lasting_waits: return read_lasting_waits(input, result);
    case block_kind::unrecorded: return read_unrecorded(input, result);
    case block_kind::work: return read_work(input, result);
    case block_kind::snapshot: break;
  }
  throw unreadable("a block of an unknown kind");
}

void read_block(block_kind kind, std::string_view content, recording& result, watcher* watching) {
  decoder input(content);
  if (kind != block_kind::snapshot) return read_part(kind, input, result, watching);
  while (!input.at_end()) {
    const auto part = static_cast<block_kind>(read_small_number(input, ~0U));
    read_part(part, decoder(input.text()), result, watching);
  }
}

// Removes the next block from `bytes` and decompresses it.
std::string take_block(std::string_view& bytes, block_kind& kind) {
  block_header header;
  if (bytes.size() < sizeof header) throw unreadable("the file ends inside a block");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.mark != block_mark) throw unreadable("no block where one should begin");
  if (header.packed > bytes.size() - sizeof header) throw unreadable("the file ends inside a block");
  const std::string_view packed = bytes.substr(sizeof header, header.packed);
  if (header.checksum != checksum_of(header, packed)) throw unreadable("a block with a wrong checksum");
  if (header.unpacked > largest_block) throw unreadable("a block above the limit");
  std::string content(header.unpacked, '\0');
  const std::size_t size = ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != content.size()) throw unreadable("a block that cannot be decompressed");
  bytes.remove_prefix(sizeof header + header.packed);
  kind = static_cast<block_kind>(header.kind);
  return content;
}

bool has_magic(std::string_view bytes) {
  return bytes.size() >= sizeof(file_header) && bytes.starts_with({recording_magic.data(), recording_magic.size()});
}

}  // namespace

recording parse(std::string_view bytes, watcher* watching) {
  file_header header;
  if (!has_magic(bytes)) throw unreadable("not a recording of tarn");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != recording_version) {
    throw unreadable("is a recording of version " + std::to_string(header.version) + ", and this tarn reads version " +
                     std::to_string(recording_version));
  }
  recording result;
  const std::size_t whole = bytes.size();
  bytes.remove_prefix(sizeof header);
  while (!bytes.empty()) {
    try {
      block_kind kind{};
      const std::string content = take_block(bytes, kind);
      read_block(kind, content, result, watching);
    } catch (const unreadable& reason) {
      result.damage = std::string(reason.what()) + ", at byte " + std::to_string(whole - bytes.size());
      break;
    }
  }
  return result;
}

bool is_recording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(recording_magic.size(), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return !bytes.empty() && std::string_view(recording_magic.data(), recording_magic.size()).starts_with(bytes);
}

void require_recording(const std::string& path) {
  if (!is_recording(path))
    throw std::system_error(EEXIST, std::generic_category(),
                            path + ": it is no recording, so it is kept; choose another name");
}

std::string content_of(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unreadable(path + ": " + std::strerror(errno));
  // The header is read first: another file may be large, and a device may have no end.
  std::string bytes(sizeof(file_header), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad()) throw unreadable(path + ": " + std::strerror(errno));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (!has_magic(bytes)) throw unreadable(path + ": not a recording of tarn");
  bytes.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (file.bad()) throw unreadable(path + ": " + std::strerror(errno));
  return bytes;
}

recording read(const std::string& path) {
  const std::string bytes = content_of(path);
  try {
    return parse(bytes);
  } catch (const unreadable& reason) {
    throw unreadable(path + ": " + reason.what());
  }
}

}  // namespace tarn::format
