#include "profiler/cpu/stack_samples.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

#include "profiler/format/build_id.hpp"
#include "profiler/format/clock.hpp"
#include "profiler/format/generations.hpp"
#include "profiler/format/module_generations.hpp"
#include "profiler/format/region.hpp"
#include "profiler/unwind/copied_stack.hpp"

namespace tarn::cpu {
namespace {

using format::vdso_path;
constexpr std::span<const std::byte> no_stack;

// Reads the words of a record, one after the other. Beyond its end they are 0.
class record_reader {
 public:
  explicit record_reader(const std::vector<std::byte>& bytes) : bytes_(bytes) {}

  template <class Number>
  Number next() {
    Number value{};
    if (left() >= sizeof value) std::memcpy(&value, bytes_.data() + position_, sizeof value);
    skip(sizeof value);
    return value;
  }
  void skip(std::size_t bytes) { position_ = bytes > left() ? bytes_.size() : position_ + bytes; }
  std::size_t left() const { return bytes_.size() - position_; }
  const std::byte* position() const { return bytes_.data() + position_; }
  std::string text() const {
    const auto* const start = reinterpret_cast<const char*>(position());
    return {start, std::find(start, start + left(), '\0')};
  }

 private:
  const std::vector<std::byte>& bytes_;
  std::size_t position_ = 0;
};

perf_event_header header_of(const std::vector<std::byte>& record) {
  return record_reader(record).next<perf_event_header>();
}

}  // namespace

stack_samples::process_state& stack_samples::state_of(pid_t process) {
  const auto [entry, is_new] = processes_.try_emplace(process);
  if (is_new) entry->second.samples.stacks.emplace_back();  // stack 0
  return entry->second;
}

void stack_samples::add_mapping(process_state& state, std::uint64_t start, std::uint64_t bytes, std::uint64_t offset,
                                std::string path) {
  const std::uint64_t end = start + bytes;
  auto entry = state.mappings.upper_bound(start);
  if (entry != state.mappings.begin() && std::prev(entry)->second.end > start) --entry;
  while (entry != state.mappings.end() && entry->first < end) entry = state.mappings.erase(entry);
  if (path == "[vdso]") path = vdso_path;
  const bool is_module = path == vdso_path || (path.starts_with('/') && !path.starts_with("//anon"));
  if (is_module) state.mappings[start] = {start, end, offset, std::move(path), nullptr, 0, false};
}

void stack_samples::open(pid_t process, mapping& opened) {
  std::unique_ptr<unwind::elf_file>& file = files_[opened.path];
  if (file == nullptr) {
    file = std::make_unique<unwind::elf_file>(
        opened.path == vdso_path ? unwind::elf_file::vdso() : unwind::elf_file::mapped(process, opened.path));
  }
  opened.file = file.get();
  opened.bias = opened.path == vdso_path
                    ? opened.start
                    : file->bias_of(opened.start, opened.offset).value_or(opened.start - opened.offset);
}

stack_samples::mapping* stack_samples::mapping_at(pid_t process, process_state& state, std::uint64_t address) {
  auto entry = state.mappings.upper_bound(address);
  if (entry == state.mappings.begin() || std::prev(entry)->second.end <= address) return nullptr;
  --entry;
  if (entry->second.file == nullptr) open(process, entry->second);
  return &entry->second;
}

unwind::row stack_samples::row_at(pid_t process, process_state& state, std::uint64_t address) {
  const mapping* const module = mapping_at(process, state, address);
  return module == nullptr ? unwind::row() : module->file->row_at(address - module->bias);
}

void stack_samples::note(process_state& state, mapping& module, std::uint32_t image) {
  const unwind::elf_file& file = *module.file;
  const bool has_parts = file.high() > file.low();
  const std::uint64_t start = module.bias + file.low(), end = module.bias + file.high();
  module.is_noted = true;
  module.generation = format::add_in_turn(
      state.samples.modules, {image, has_parts ? start : module.start, has_parts ? end : module.end, module.bias,
                              module.path, format::build_id_of(module.path),
                              state.python != nullptr && module.path == state.last_python ? format::own_python : 0});
}

std::uint32_t stack_samples::stack_number(pid_t process, process_state& state, std::vector<std::uint64_t> frames) {
  const auto image = static_cast<std::uint32_t>(state.execs.size());
  if (frames.empty() || state.samples.stacks.size() == format::max_sites) return 0;
  for (std::uint64_t& frame : frames) {
    mapping* const module = mapping_at(process, state, frame - 1);
    if (module == nullptr) continue;
    if (!module->is_noted) note(state, *module, image);
    frame = format::in_generation(frame, module->generation);
  }
  format::site_facts stack{image, std::move(frames)};
  const auto [number, is_new] =
      state.stack_numbers.try_emplace(stack, static_cast<std::uint32_t>(state.samples.stacks.size()));
  if (is_new) state.samples.stacks.push_back(std::move(stack));
  return number->second;
}

std::uint32_t stack_samples::thread_number(process_state& state, pid_t thread) {
  const auto image = static_cast<std::uint32_t>(state.execs.size());
  const std::size_t next = std::min<std::size_t>(state.samples.threads.size(), format::max_threads);
  const auto [number, is_new] = state.thread_numbers.try_emplace({image, thread}, static_cast<std::uint32_t>(next));
  if (is_new && next < format::max_threads)
    state.samples.threads.push_back({image, static_cast<std::uint32_t>(thread), state.names[thread]});
  if (is_new && next == format::max_threads) number->second = format::max_threads - 1;
  return number->second;
}

void stack_samples::count(process_state& state, thread_state& thread, format::cpu_counter activity, std::uint64_t ns) {
  if (ns == 0) return;
  if (activity == format::waiting_ns) {
    wait_sum& sum = state.waits[{thread.number, std::bit_width(ns)}][thread.wait_stack];
    sum.ns += ns;
    ++sum.waits;
  } else {
    state.samples.cells[{0, thread.number}][activity] += ns;
  }
}

void stack_samples::change(process_state& state, pid_t thread, format::cpu_counter activity, std::uint64_t at_ns) {
  const auto [entry, is_new] = state.threads.try_emplace(thread);
  thread_state& changed = entry->second;
  if (is_new) {
    changed = {thread_number(state, thread), activity, at_ns};
    return;
  }
  if (at_ns < changed.since_ns) return;  // a later record of another processor came before it
  // A thread that stops has run, and one that begins to run has not.
  const bool has_run = activity != format::running_ns;
  const std::uint64_t known_ns = std::clamp(lost_until_ns_, changed.since_ns, at_ns);
  const bool is_told = has_run == (changed.activity == format::running_ns) || (has_run && known_ns > changed.since_ns);
  count(state, changed, format::unknown_ns, known_ns - changed.since_ns);
  count(state, changed,
        !is_told  ? format::unknown_ns
        : has_run ? format::running_ns
                  : changed.activity,
        at_ns - known_ns);
  if (!has_run) changed.wait_stack = 0;
  changed.activity = activity;
  changed.since_ns = at_ns;
}

void stack_samples::add_switch(const perf_record& record) {
  record_reader reader(record.bytes);
  const auto header = reader.next<perf_event_header>();
  const auto process = reader.next<pid_t>(), thread = reader.next<pid_t>();
  if (kept_process_ != 0 && process != kept_process_) return;
  process_state& state = state_of(process);
  if ((header.misc & PERF_RECORD_MISC_SWITCH_OUT) == 0) return change(state, thread, format::running_ns, record.at_ns);
  const bool is_preempted = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
  change(state, thread, is_preempted ? format::runnable_ns : format::waiting_ns, record.at_ns);
  thread_state& stopped = state.threads[thread];
  ++state.samples.cells[{0, stopped.number}][is_preempted ? format::preemptions : format::wait_count];
  if (is_preempted) stopped.wait_stack = 0;
}

void stack_samples::name(process_state& state, pid_t thread, std::string text) {
  const auto number = state.thread_numbers.find({static_cast<std::uint32_t>(state.execs.size()), thread});
  if (number != state.thread_numbers.end()) state.samples.threads[number->second].name = text;
  state.names[thread] = std::move(text);
}

stack_samples::sampled_stack stack_samples::read_stack(pid_t process, process_state& state, const perf_record& record,
                                                       const going_on& goes_on) {
  record_reader reader(record.bytes);
  reader.skip(sizeof(perf_event_header) + sizeof(pid_t));
  const auto thread = reader.next<pid_t>();
  reader.skip(sizeof(std::uint64_t));
  const auto abi = reader.next<std::uint64_t>();
  unwind::caller registers{};
  if (abi != PERF_SAMPLE_REGS_ABI_NONE) {  // in the order of their numbers
    registers.frame = reader.next<std::uint64_t>();
    registers.stack = reader.next<std::uint64_t>();
    registers.address = reader.next<std::uint64_t>() + 1;  // a walk begins at a return address, behind its instruction
  }
  const std::size_t reserved = reader.next<std::uint64_t>();
  const std::byte* const bytes = reader.position();
  const std::size_t room = std::min(reserved, reader.left());
  reader.skip(reserved);
  const std::size_t copied = reserved == 0 ? 0 : std::min<std::size_t>(reader.next<std::uint64_t>(), room);

  return walk(process, state, registers, abi == PERF_SAMPLE_REGS_ABI_64 ? std::span(bytes, copied) : no_stack,
              record.is_still, [&] { return goes_on(thread); });
}

void stack_samples::look_for_python(pid_t process, process_state& state, const std::vector<std::uint64_t>& frames) {
  if (state.python != nullptr) return;
  for (const std::uint64_t frame : frames) {
    const mapping* const module = mapping_at(process, state, frame - 1);
    if (module == nullptr || module->path == state.last_python) continue;
    if (module->path.find("python", module->path.rfind('/') + 1) == std::string::npos) continue;
    state.last_python = module->path;
    state.python = python_process::make(process, module->path, module->bias);
    reads_memory_ = reads_memory_ || state.python != nullptr;
    if (state.python != nullptr) return;
  }
}

stack_samples::sampled_stack stack_samples::walk(pid_t process, process_state& state, const unwind::caller& registers,
                                                 std::span<const std::byte> bytes, bool is_still,
                                                 const std::function<bool()>& goes_on) {
  std::vector<std::uint64_t> frames;
  std::array<std::uintptr_t, format::max_cpu_frames> stacks;
  unwind::copied_stack memory(registers.stack, bytes.data(), bytes.size(), stacks.data());
  if (bytes.data() != nullptr) {
    std::array<std::uintptr_t, format::max_cpu_frames> walked;
    const auto row_of = [&](std::uint64_t address) { return row_at(process, state, address); };
    const std::size_t count = unwind::walk(registers, memory, row_of, walked.data(), walked.size());
    frames.assign(walked.begin(), walked.begin() + static_cast<std::ptrdiff_t>(count));
  }
  const bool is_cut = memory.is_cut() || frames.size() == format::max_cpu_frames;
  look_for_python(process, state, frames);
  if (state.python != nullptr && is_still) {
    const auto is_interpreter = [&](std::uint64_t frame) {
      const mapping* const module = mapping_at(process, state, frame - 1);
      return module != nullptr && module->path == state.last_python;
    };
    std::vector<std::uint64_t> with_python =
        state.python->with_python(frames, stacks.data(), memory, static_cast<std::uint32_t>(state.execs.size()),
                                  is_interpreter, goes_on, state.samples.python_codes);
    if (!with_python.empty()) frames = std::move(with_python);
  }
  return {stack_number(process, state, std::move(frames)), is_cut};
}

void stack_samples::add_sample(const perf_record& record, const going_on& goes_on) {
  record_reader reader(record.bytes);
  const auto header = reader.next<perf_event_header>();
  const auto process = reader.next<pid_t>(), thread = reader.next<pid_t>();
  if (kept_process_ != 0 && process != kept_process_) return;
  process_state& state = state_of(process);
  const sampled_stack stack = read_stack(process, state, record, goes_on);
  if (record.is_of_stop) {
    if (const auto stopping = state.threads.find(thread); stopping != state.threads.end())
      stopping->second.wait_stack = stack.number;
    return;
  }
  format::cpu_counts& counts = state.samples.cells[{stack.number, thread_number(state, thread)}];
  ++counts[format::cpu_samples];
  if ((header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) ++counts[format::cpu_kernel];
  if (stack.is_cut) ++counts[format::cpu_cut];
}

// A thread has a name, which an exec sets.
void stack_samples::add_command(const perf_record& record) {
  record_reader reader(record.bytes);
  const auto header = reader.next<perf_event_header>();
  const auto process = reader.next<pid_t>(), thread = reader.next<pid_t>();
  if (kept_process_ != 0 && process != kept_process_) return;
  process_state& state = state_of(process);
  const bool is_exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  if (is_exec) {
    for (auto& [number, times] : state.threads) change(state, number, format::waiting_ns, record.at_ns);
    state.execs.push_back(record.at_ns);
    state.python = nullptr;
    state.last_python.clear();
    state.mappings.clear();
    state.names.clear();
    state.threads.clear();
  }
  name(state, thread, reader.text());
  if (is_exec) change(state, thread, format::running_ns, record.at_ns);
}

void stack_samples::add_module(const perf_record& record) {
  record_reader reader(record.bytes);
  reader.next<perf_event_header>();
  const auto process = reader.next<pid_t>();
  if (kept_process_ != 0 && process != kept_process_) return;
  reader.next<pid_t>();
  const auto start = reader.next<std::uint64_t>(), bytes = reader.next<std::uint64_t>();
  const auto offset = reader.next<std::uint64_t>();
  constexpr std::size_t inode_and_protection = 32;
  reader.skip(inode_and_protection);
  add_mapping(state_of(process), start, bytes, offset, reader.text());
}

void stack_samples::add_fork(const perf_record& record) {
  record_reader reader(record.bytes);
  reader.next<perf_event_header>();
  const auto process = reader.next<pid_t>(), parent = reader.next<pid_t>();
  const auto thread = reader.next<pid_t>(), creator = reader.next<pid_t>();
  if (kept_process_ != 0 && process != kept_process_) return;
  process_state& before = state_of(parent);
  std::string inherited = before.names[creator];
  if (process != parent) {
    processes_.erase(process);  // an earlier one had this number
    process_state& state = state_of(process);
    state.mappings = before.mappings;
    for (auto& [start, copy] : state.mappings) copy.is_noted = false;
  }
  name(state_of(process), thread, std::move(inherited));
  change(state_of(process), thread, format::runnable_ns, record.at_ns);
  begin_delay(state_of(process), thread);
}

void stack_samples::add_exit(const perf_record& record) {
  record_reader reader(record.bytes);
  reader.next<perf_event_header>();
  const auto process = reader.next<pid_t>();
  reader.next<pid_t>();
  const auto thread = reader.next<pid_t>();
  const auto entry = processes_.find(process);
  if (entry == processes_.end()) return;
  if (entry->second.threads.contains(thread)) change(entry->second, thread, format::waiting_ns, record.at_ns);
  entry->second.threads.erase(thread);
  entry->second.names.erase(thread);
  if (entry->second.threads.empty()) entry->second.mappings.clear();
  if (process == thread && entry->second.samples.cells.empty()) processes_.erase(entry);
}

// Each thread may have begun to do something else from the record's time until that in its bytes.
void stack_samples::add_lost(const perf_record& record) {
  record_reader reader(record.bytes);
  reader.skip(sizeof(perf_event_header) + sizeof(std::uint64_t));
  lost_ += reader.next<std::uint64_t>();
  for (auto& [process, state] : processes_) {
    for (auto& [thread, times] : state.threads) {
      if (record.at_ns <= times.since_ns) continue;
      count(state, times, activity_of(times), record.at_ns - times.since_ns);
      times.since_ns = record.at_ns;
    }
  }
  lost_until_ns_ = std::max(lost_until_ns_, time_of(record.bytes));
}

void stack_samples::add(const perf_record& record, const going_on& goes_on) {
  switch (header_of(record.bytes).type) {
    case PERF_RECORD_SAMPLE: return add_sample(record, goes_on);
    case PERF_RECORD_COMM: return add_command(record);
    case PERF_RECORD_MMAP2: return add_module(record);
    case PERF_RECORD_FORK: return add_fork(record);
    case PERF_RECORD_EXIT: return add_exit(record);
    case PERF_RECORD_SWITCH: return add_switch(record);
    case PERF_RECORD_LOST: return record.is_of_stop ? void() : add_lost(record);
    default: return;
  }
}

void stack_samples::add_mappings(pid_t process) {
  process_state& state = state_of(process);
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::uint64_t start = 0, end = 0, offset = 0;
    char dash = 0;
    std::string access, device, inode, path;
    fields >> std::hex >> start >> dash >> end >> access >> offset >> device >> inode >> std::ws;
    std::getline(fields, path);
    if (access.find('x') != std::string::npos && end > start) add_mapping(state, start, end - start, offset, path);
  }
}

void stack_samples::add_running(pid_t process) {
  add_mappings(process);
  process_state& state = state_of(process);
  std::error_code error;
  std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", process), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto thread = static_cast<pid_t>(std::stoi(entry->path().filename()));
    const std::uint64_t now_ns = format::monotonic_nanoseconds();  // before its state: a later record corrects that
    std::string text;
    std::getline(std::ifstream(entry->path() / "comm", std::ios::binary), text);
    state.names[thread] = text;
    std::getline(std::ifstream(entry->path() / "stat", std::ios::binary), text);
    const std::size_t name_end = text.rfind(") ");  // the state follows the name
    const bool is_waiting = name_end != std::string::npos && text[name_end + 2] != 'R';
    change(state, thread, is_waiting ? format::waiting_ns : format::running_ns, now_ns);
    if (is_waiting) state.threads[thread].wait_stack = stack_of_waiting(process, state, thread);
    if (const auto delay_ns = run_delay_of(process, thread)) add_delay(process, thread, *delay_ns);
  }
}

// The sample of its stack would come at its next wait only. The first stacks of a process of Python tell where the
// interpreter's activations lie, so the first one is read anew when that is known.
std::uint32_t stack_samples::stack_of_waiting(pid_t process, process_state& state, pid_t thread) {
  const bool had_depth = state.python != nullptr && state.python->knows_depth();
  const std::uint32_t number = read_waiting(process, state, thread);
  if (had_depth || state.python == nullptr || !learns_depth(process, state, thread)) return number;
  return read_waiting(process, state, thread);
}

bool stack_samples::learns_depth(pid_t process, process_state& state, pid_t thread) {
  constexpr std::size_t max_read = 16;
  const python_process::depth_votes votes = state.python->votes();
  std::size_t read_threads = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", process), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (state.python->knows_depth() || ++read_threads > max_read) break;
    const auto waiting = static_cast<pid_t>(std::stoi(entry->path().filename()));
    if (waiting != thread) read_waiting(process, state, waiting);
  }
  // Those threads are yet to be read for themselves: none may agree with itself.
  if (!state.python->knows_depth()) state.python->set_votes(votes);
  return state.python->knows_depth();
}

std::uint32_t stack_samples::read_waiting(pid_t process, process_state& state, pid_t thread) {
  const waiting_thread waiting = read_waiting_thread(process, thread, stack_bytes);
  if (waiting.bytes.empty()) return 0;
  const std::uint64_t frame = frame_of_waiting(process, state, waiting);
  return walk(process, state, {waiting.address + 1, waiting.stack, frame}, waiting.bytes, true,
              [&] { return waiting.schedules.empty() || schedules_of(process, thread) != waiting.schedules; })
      .number;
}

// The kernel does not show the frame pointer. Where a function's frame is found by that alone, it points to two words
// on the stack, of which the second is a return address; the right one leads to the thread's first function. Returns 0
// where it is not needed or not found: the callers of that function are missing then.
std::uint64_t stack_samples::frame_of_waiting(pid_t process, process_state& state, const waiting_thread& waiting) {
  constexpr std::size_t searched_bytes = 1024, word = sizeof(std::uintptr_t);
  std::array<std::uintptr_t, format::max_cpu_frames> frames, stacks;
  unwind::copied_stack memory(waiting.stack, waiting.bytes.data(), waiting.bytes.size(), stacks.data());
  unwind::row last_row;
  const auto walk_with = [&](std::uintptr_t frame) {
    const auto row_of = [&](std::uint64_t address) { return last_row = row_at(process, state, address); };
    return unwind::walk({waiting.address + 1, waiting.stack, frame}, memory, row_of, frames.data(), frames.size());
  };
  const std::uintptr_t begin = stacks[walk_with(0) - 1];
  if (last_row.rule != unwind::row::from_frame) return 0;
  for (std::uintptr_t slot = begin; slot < begin + searched_bytes && memory.has(slot + word); slot += word) {
    if (mapping_at(process, state, memory.read(slot + word) - 1) == nullptr) continue;
    walk_with(slot);
    if (last_row.rule == unwind::row::outermost) return slot;
  }
  return 0;
}

namespace {

// Returns what the records say of a thread's times so far.
format::cpu_counts times_of(const format::cell_table<format::cpu_key, format::cpu_counts>& cells,
                            std::uint32_t thread) {
  const auto cell = cells.find({0, thread});
  return cell == cells.end() ? format::cpu_counts{} : cell->second;
}

}  // namespace

void stack_samples::begin_delay(process_state& state, pid_t thread) {
  const std::uint32_t number = state.threads[thread].number;
  const format::cpu_counts counts = times_of(state.samples.cells, number);
  state.delays[number].begin(counts[format::runnable_ns], counts[format::wait_count]);
}

void stack_samples::add_delay(pid_t process, pid_t thread, std::uint64_t delay_ns) {
  process_state& state = state_of(process);
  const auto thread_entry = state.threads.find(thread);
  // The last number may stand for several threads.
  if (thread_entry == state.threads.end() || thread_entry->second.number == format::max_threads - 1) return;
  const format::cpu_counts counts = times_of(state.samples.cells, thread_entry->second.number);
  state.delays[thread_entry->second.number].add(delay_ns, counts[format::runnable_ns], counts[format::wait_count]);
}

void stack_samples::read_delays() {
  for (const auto& [process, state] : processes_) {
    for (const auto& [thread, times] : state.threads) {
      if (const auto delay_ns = run_delay_of(process, thread)) add_delay(process, thread, *delay_ns);
    }
  }
}

namespace {

// Waits without a stack are taken to be where those are that were about as long, in proportion to their times. Where
// there is none they stay at stack 0.
void share_out(std::uint32_t thread, const std::map<std::uint32_t, std::uint64_t>& sums,
               format::cell_table<format::cpu_key, format::cpu_counts>& cells) {
  const auto first = sums.begin();
  const std::uint64_t unsampled_ns = first->first == 0 ? first->second : 0;
  std::uint64_t sampled_ns = 0, left_ns = unsampled_ns;
  for (const auto& [stack, ns] : sums) sampled_ns += stack == 0 ? 0 : ns;
  for (const auto& [stack, ns] : sums) {
    if (stack == 0) continue;
    const auto share_ns =
        std::min(left_ns, static_cast<std::uint64_t>(static_cast<double>(unsampled_ns) * static_cast<double>(ns) /
                                                     static_cast<double>(std::max<std::uint64_t>(sampled_ns, 1))));
    left_ns -= share_ns;
    cells[{stack, thread}][format::waiting_ns] += ns + share_ns;
  }
  if (left_ns != 0) cells[{0, thread}][format::waiting_ns] += left_ns;
}

wait_sum sum_of(const std::map<std::uint32_t, wait_sum>& sums) {
  wait_sum whole;
  for (const auto& [stack, sum] : sums) {
    whole.ns += sum.ns;
    whole.waits += sum.waits;
  }
  return whole;
}

}  // namespace

void stack_samples::read_waits(const process_state& state, std::uint32_t first_image, format::cpu_recording& target) {
  for (auto group = state.waits.begin(); group != state.waits.end();) {
    const std::uint32_t thread = group->first.first;
    const auto end = state.waits.upper_bound({thread, std::numeric_limits<int>::max()});
    const auto begin = std::exchange(group, end);
    if (target.threads[thread].image < first_image) continue;
    std::vector<wait_sum> groups;
    std::uint64_t waiting_ns = 0;
    for (auto entry = begin; entry != end; ++entry) {
      groups.push_back(sum_of(entry->second));
      waiting_ns += groups.back().ns;
    }
    format::cpu_counts& counts = target.cells[{0, thread}];  // until share_out() adds cells
    const auto delay = state.delays.find(thread);
    double delayed_ns = 0;
    if (delay != state.delays.end() && delay->second.is_known()) {
      // The kernel's sum has the time of which the records are missing, too.
      delayed_ns = delay->second.sum_ns(counts[format::wait_count]) * static_cast<double>(waiting_ns) /
                   static_cast<double>(waiting_ns + counts[format::unknown_ns]);
    } else {
      counts[format::undivided_ns] = waiting_ns;
    }
    const double longest_ns = longest_delay(groups, delayed_ns);
    std::uint64_t runnable_ns = 0;
    for (auto entry = begin; entry != end; ++entry) {
      const wait_sum whole = sum_of(entry->second);
      const double delay_ns = std::min(longest_ns, static_cast<double>(whole.ns) / static_cast<double>(whole.waits));
      std::map<std::uint32_t, std::uint64_t> waited_ns;
      for (const auto& [stack, sum] : entry->second) {
        const auto taken_ns = std::min(sum.ns, static_cast<std::uint64_t>(delay_ns * static_cast<double>(sum.waits)));
        runnable_ns += taken_ns;
        waited_ns[stack] = sum.ns - taken_ns;
      }
      share_out(thread, waited_ns, target.cells);
    }
    target.cells[{0, thread}][format::runnable_ns] += runnable_ns;
  }
}

void stack_samples::read(pid_t process, std::uint64_t begun_ns, std::uint32_t first_image,
                         format::cpu_recording& target) const {
  target.lost = lost_;
  const auto entry = processes_.find(process);
  if (entry == processes_.end()) return;
  const process_state& state = entry->second;
  const auto earlier_images = static_cast<std::uint32_t>(std::count_if(
      state.execs.begin(), state.execs.end(), [&](std::uint64_t exec_ns) { return exec_ns <= begun_ns; }));
  const auto number = [&](std::uint32_t& image) {
    image = first_image + (image > earlier_images ? image - earlier_images : 0);
  };
  target.modules = state.samples.modules;
  target.python_codes = state.samples.python_codes;
  target.threads = state.samples.threads;
  target.stacks = state.samples.stacks;
  target.cells.clear();
  for (const auto& [key, counts] : state.samples.cells) {
    if (target.threads[key.thread].image >= earlier_images) target.cells.emplace(key, counts);
  }
  read_waits(state, earlier_images, target);
  for (const auto& [thread, times] : state.threads) {
    if (now_ns_ <= times.since_ns) continue;
    const format::cpu_counter activity = activity_of(times);
    const std::uint32_t stack = activity == format::waiting_ns ? times.wait_stack : 0;
    target.cells[{stack, times.number}][activity] += now_ns_ - times.since_ns;
  }
  // Modules of earlier images must not stand for those of the first recorded one.
  std::erase_if(target.modules, [&](const format::module_facts& module) { return module.image < earlier_images; });
  for (format::module_facts& module : target.modules) number(module.image);
  for (format::python_code_facts& code : target.python_codes) number(code.image);
  for (format::cpu_thread& thread : target.threads) number(thread.image);
  for (format::site_facts& stack : target.stacks) number(stack.image);
}

}  // namespace tarn::cpu
