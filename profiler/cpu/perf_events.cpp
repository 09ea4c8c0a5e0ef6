#include "profiler/cpu/perf_events.hpp"

#include <asm/perf_regs.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace tarn::cpu {
namespace {

constexpr std::size_t ring_page_bytes = 4096;
// The kernel lets an ordinary user lock 516 KiB for each processor (kernel.perf_event_mlock_kb): a page, and these.
constexpr std::size_t max_pages = 128, fewest_pages = 8;

// The largest number of threads that a process may start while its others are listed, before this gives up.
constexpr int max_listings = 100;

std::set<pid_t> threads_of(pid_t process) {
  std::set<pid_t> threads;
  std::error_code error;
  std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", process), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    threads.insert(static_cast<pid_t>(std::stoi(entry->path().filename())));
  return threads;
}

// Each thread of a running process takes a descriptor for each processor.
void allow_more_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The ring's end may lie inside a record.
void copy_from(const std::byte* ring, std::size_t size, std::uint64_t position, void* target, std::size_t bytes) {
  const std::size_t start = position % size, first = std::min(bytes, size - start);
  std::memcpy(target, ring + start, first);
  std::memcpy(static_cast<std::byte*>(target) + first, ring, bytes - first);
}

}  // namespace

std::uint64_t time_of(const std::vector<std::byte>& record) {
  constexpr std::size_t sample_at = sizeof(perf_event_header) + 2 * sizeof(std::uint32_t);
  if (record.size() < sample_at + sizeof(std::uint64_t)) return 0;
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  std::uint64_t time = 0;
  const std::size_t time_at = header.type == PERF_RECORD_SAMPLE ? sample_at : record.size() - sizeof time;
  std::memcpy(&time, record.data() + time_at, sizeof time);
  return time;
}

namespace {

struct thread_switch {
  perf_event_header header{};
  pid_t process = 0, thread = 0;
};

// Returns the head of a record of a sample or of a switch, which have the same form.
thread_switch head_of(const perf_record& record) {
  thread_switch head;
  if (record.bytes.size() >= sizeof head) std::memcpy(&head, record.bytes.data(), sizeof head);
  return head;
}

bool is_stop(const thread_switch& head) { return (head.header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0; }

// Returns whether two samples have the same registers and the same stack.
bool is_same_stack(const std::vector<std::byte>& first, const std::vector<std::byte>& second) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  constexpr std::size_t registers_at = sizeof(thread_switch) + word;  // behind the time
  constexpr std::size_t stack_at = registers_at + 5 * word;           // their form, three of them, the stack's room
  if (first.size() != second.size() || first.size() < stack_at + word) return false;
  // The room that the copy does not fill has bytes of earlier records.
  const std::size_t room = first.size() - word - stack_at;
  std::uint64_t copied = 0;
  std::memcpy(&copied, first.data() + stack_at + room, word);
  return std::memcmp(first.data() + stack_at + room, second.data() + stack_at + room, word) == 0 &&
         std::memcmp(first.data() + registers_at, second.data() + registers_at,
                     stack_at - registers_at + std::min<std::size_t>(copied, room)) == 0;
}

struct last_stop {
  std::uint64_t at_ns = 0;              // 0: the thread went on
  const perf_record* sample = nullptr;  // of the thread as it stopped
};

// Returns whether the thread executed nothing between a sample and its stop. Mostly the sample has woken the process
// that reads it, and the kernel is at work until that takes the processor. Where that takes long, the sample at the
// stop shows whether the thread still was where it had been.
bool stopped_at_once(const perf_record& sample, const last_stop& stop) {
  constexpr std::uint64_t max_stop_ns = 50'000;
  return stop.at_ns >= sample.at_ns && (sample.is_of_stop || stop.at_ns - sample.at_ns <= max_stop_ns ||
                                        (stop.sample != nullptr && is_same_stack(sample.bytes, stop.sample->bytes)));
}

}  // namespace

void mark_still(std::vector<perf_record>& records) {
  std::uint64_t lost_until_ns = 0;
  for (const perf_record& record : records) {
    if (head_of(record).header.type == PERF_RECORD_LOST) lost_until_ns = std::max(lost_until_ns, time_of(record.bytes));
  }
  std::map<pid_t, last_stop> stops;  // by thread
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const thread_switch head = head_of(*record);
    if (head.header.type == PERF_RECORD_SWITCH) {
      const bool is_last = !stops.contains(head.thread);
      stops[head.thread] = {is_last && is_stop(head) ? record->at_ns : 0};
    } else if (head.header.type == PERF_RECORD_SAMPLE) {
      last_stop& stop = stops[head.thread];
      record->is_still = record->at_ns > lost_until_ns && stopped_at_once(*record, stop);
      if (record->is_of_stop) stop.sample = &*record;
    }
  }
}

bool may_go_on(const std::vector<perf_record>& records, pid_t thread) {
  return std::any_of(records.begin(), records.end(), [&](const perf_record& record) {
    const thread_switch head = head_of(record);
    return head.header.type == PERF_RECORD_LOST ||
           (head.header.type == PERF_RECORD_SWITCH && head.thread == thread && !is_stop(head));
  });
}

int perf_events::open_event(event kind, pid_t thread, int processor, bool is_next_program) const {
#if defined(__x86_64__)
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = kind == event::clock ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_CONTEXT_SWITCHES;
  if (kind == event::clock) {
    attributes.sample_freq = samples_per_second;
    attributes.freq = 1;
  } else {
    attributes.sample_period = 1;  // with a frequency, two stops in a row would leave out the next hundred
  }
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = 1U << PERF_REG_X86_BP | 1U << PERF_REG_X86_SP | 1U << PERF_REG_X86_IP;
  attributes.sample_stack_user = stack_bytes;
  attributes.disabled = is_next_program ? 1 : 0;
  attributes.enable_on_exec = is_next_program ? 1 : 0;
  attributes.inherit = 1;
  attributes.exclude_kernel = is_kernel_hidden_ ? 1 : 0;
  attributes.exclude_hv = 1;
  if (kind == event::clock) {
    attributes.mmap = attributes.mmap2 = 1;
    attributes.comm = attributes.comm_exec = 1;
    attributes.task = 1;
    attributes.context_switch = 1;
    attributes.wakeup_events = 1;
  }
  attributes.sample_id_all = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  const auto file =
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, processor, -1, PERF_FLAG_FD_CLOEXEC));
  return file < 0 ? -errno : file;
#else
  static_cast<void>(kind), static_cast<void>(thread), static_cast<void>(processor), static_cast<void>(is_next_program);
  return -ENOSYS;
#endif
}

bool perf_events::map(ring& mapped) {
  for (std::size_t pages = max_pages; pages >= fewest_pages; pages /= 2) {
    void* const start =
        ::mmap(nullptr, (pages + 1) * ring_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.file, 0);
    if (start == MAP_FAILED) continue;
    mapped.start = start;
    mapped.bytes = pages * ring_page_bytes;
    return true;
  }
  return false;
}

// All events of a kind on a processor write to one ring.
bool perf_events::add_ring(event kind, int processor, int file) {
  const auto shared = std::find_if(rings_.begin(), rings_.end(), [&](const ring& candidate) {
    return candidate.kind == kind && candidate.processor == processor;
  });
  if (shared != rings_.end()) return ::ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, shared->file) == 0;
  ring added{kind, processor, file};
  if (!map(added)) return false;
  rings_.push_back(added);
  return true;
}

bool perf_events::add_thread(pid_t thread, bool is_next_program) {
  const auto processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  for (int processor = 0; processor < processors; ++processor) {
    int file = open_event(event::clock, thread, processor, is_next_program);
    if ((file == -EACCES || file == -EPERM) && !is_kernel_hidden_) {
      is_kernel_hidden_ = true;  // kernel.perf_event_paranoid 2 shows an ordinary user its own code only
      file = open_event(event::clock, thread, processor, is_next_program);
    }
    if (file == -ENODEV) continue;    // the processor is off
    if (file == -ESRCH) return true;  // the thread has ended
    if (file < 0) {
      error_ = -file;
      return false;
    }
    files_.push_back(file);
    if (!add_ring(event::clock, processor, file)) {
      error_ = errno;
      return false;
    }
  }
  return true;
}

// Without them, only the sites of waits are unknown.
void perf_events::add_stops(pid_t thread, bool is_next_program) {
  if (is_kernel_hidden_) return;  // a thread stops in the kernel
  const auto processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  for (int processor = 0; processor < processors; ++processor) {
    const int file = open_event(event::stops, thread, processor, is_next_program);
    if (file < 0) continue;
    files_.push_back(file);
    add_ring(event::stops, processor, file);
  }
}

perf_events::perf_events() { add_thread(0, true) ? add_stops(0, true) : stop(); }

perf_events::perf_events(pid_t process) {
  allow_more_files();
  // A new thread inherits the sampling of the one that starts it. Where that is not sampled yet, the next listing has
  // the new thread.
  std::set<pid_t> sampled;
  for (int listings = 0; error_ == 0 && listings < max_listings; ++listings) {
    std::set<pid_t> added = threads_of(process);
    std::erase_if(added, [&](pid_t thread) { return sampled.contains(thread); });
    if (added.empty()) break;
    for (const pid_t thread : added) {
      sampled.insert(thread);
      if (error_ == 0) add_thread(thread, false);
    }
  }
  if (error_ == 0 && rings_.empty()) error_ = ESRCH;
  if (error_ != 0) {
    stop();
    return;
  }
  for (const pid_t thread : sampled) add_stops(thread, false);
}

perf_events::~perf_events() { close(); }

void perf_events::close() {
  for (const ring& mapped : rings_) ::munmap(mapped.start, mapped.bytes + ring_page_bytes);
  for (const int file : files_) ::close(file);
  rings_.clear();
  files_.clear();
}

std::vector<watched_processor> perf_events::processors() const {
  std::vector<watched_processor> result;
  for (const ring& mapped : rings_) {
    if (mapped.kind == event::clock) result.push_back({mapped.processor, mapped.file});
  }
  return result;
}

void perf_events::stop() {
  for (const int file : files_) ::ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
}

ring_fill perf_events::take(std::vector<perf_record>& records) {
  ring_fill fullest;
  for (ring& mapped : rings_) {
    auto* const positions = static_cast<perf_event_mmap_page*>(mapped.start);
    const auto* const bytes = static_cast<const std::byte*>(mapped.start) + ring_page_bytes;
    // Acquire: the records before this position were written before it. Release: they have been read before the kernel
    // may write there again.
    const std::uint64_t end = __atomic_load_n(&positions->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t position = positions->data_tail;
    const bool is_clock = mapped.kind == event::clock;
    double& fill = is_clock ? fullest.clock : fullest.stops;
    fill = std::max(fill, static_cast<double>(end - position) / static_cast<double>(mapped.bytes));
    while (position < end) {
      perf_event_header header;
      copy_from(bytes, mapped.bytes, position, &header, sizeof header);
      if (header.size < sizeof header) break;  // no kernel writes that
      perf_record& record = records.emplace_back();
      record.bytes.resize(header.size);
      copy_from(bytes, mapped.bytes, position, record.bytes.data(), header.size);
      record.at_ns = time_of(record.bytes);
      const std::uint64_t previous_ns = std::exchange(mapped.last_ns, record.at_ns);
      if (header.type == PERF_RECORD_LOST) record.at_ns = std::min(previous_ns, record.at_ns);
      record.is_of_stop = !is_clock;
      position += header.size;
    }
    __atomic_store_n(&positions->data_tail, end, __ATOMIC_RELEASE);
  }
  return fullest;
}

}  // namespace tarn::cpu
