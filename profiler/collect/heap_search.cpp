#include "profiler/collect/heap_search.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/collect/contents.hpp"
#include "profiler/collect/reachability.hpp"
#include "profiler/format/recorder_library.hpp"
#include "profiler/format/region.hpp"
#include "profiler/launch/remote_process.hpp"
#include "profiler/launch/traced_thread.hpp"

namespace tarn::command {

#if defined(__x86_64__)
namespace {

constexpr std::uint64_t map_page_bytes = 4096, red_zone = 128;

// Stack pointers by thread, of the threads that stand still.
using stack_pointers = std::map<std::uint32_t, std::uint64_t>;

class stopped_threads {
 public:
  // A thread may begin while others are stopped, so it looks again until it finds none that runs.
  stopped_threads(const remote_process& process, pid_t exiting) {
    const std::string tasks = fmt::format("/proc/{}/task", process.number());
    for (bool is_any_new = true; is_any_new;) {
      is_any_new = false;
      std::error_code error;
      for (const auto& entry : std::filesystem::directory_iterator(tasks, error)) {
        const auto thread = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
        if (thread == exiting || stacks_.contains(static_cast<std::uint32_t>(thread))) continue;
        traced_thread& traced = threads_.emplace_back(process, thread);
        if (!traced.is_stopped()) {
          threads_.pop_back();
          continue;
        }
        is_any_new = true;
        const user_regs_struct& now = traced.registers();
        stacks_[static_cast<std::uint32_t>(thread)] = now.rsp;
        for (const std::uint64_t word : {now.rax, now.rbx, now.rcx, now.rdx, now.rsi, now.rdi, now.rbp, now.r8, now.r9,
                                         now.r10, now.r11, now.r12, now.r13, now.r14, now.r15})
          register_values_.push_back(word);
      }
    }
  }

  const stack_pointers& stacks() const { return stacks_; }
  const std::vector<std::uint64_t>& register_values() const { return register_values_; }

 private:
  std::list<traced_thread> threads_;
  stack_pointers stacks_;
  std::vector<std::uint64_t> register_values_;
};

// Removes [start, end) from the ranges.
void take_off(std::vector<address_range>& ranges, std::uint64_t start, std::uint64_t end) {
  std::vector<address_range> left;
  for (const address_range& range : ranges) {
    if (range.start < std::min(start, range.end)) left.push_back({range.start, std::min(start, range.end)});
    if (std::max(end, range.start) < range.end) left.push_back({std::max(end, range.start), range.end});
  }
  ranges = std::move(left);
}

// Returns the parts of a range whose pages are in memory or swapped: the others hold nothing. Returns all of it where
// that cannot be told.
std::vector<address_range> used_parts(int pagemap, const address_range& range) {
  std::vector<address_range> parts;
  std::vector<std::uint64_t> entries(8192);  // not on the stack, which may be small
  for (std::uint64_t page = range.start / map_page_bytes; page < (range.end + map_page_bytes - 1) / map_page_bytes;) {
    const std::uint64_t entry_count =
        std::min<std::uint64_t>(entries.size(), (range.end + map_page_bytes - 1) / map_page_bytes - page);
    const ssize_t read_bytes =
        ::pread(pagemap, entries.data(), entry_count * sizeof entries[0], static_cast<off_t>(page * sizeof entries[0]));
    if (read_bytes < static_cast<ssize_t>(sizeof entries[0])) return {range};
    const std::size_t count = static_cast<std::size_t>(read_bytes) / sizeof entries[0];
    for (std::size_t index = 0; index < count; ++index, ++page) {
      if (entries[index] >> 62 == 0) continue;
      const std::uint64_t start = std::max(range.start, page * map_page_bytes);
      const std::uint64_t end = std::min(range.end, (page + 1) * map_page_bytes);
      if (!parts.empty() && parts.back().end == start) {
        parts.back().end = end;
      } else {
        parts.push_back({start, end});
      }
    }
  }
  return parts;
}

// Returns the memory outside of its blocks in which the program may have pointers: all writable memory except for the
// heap of the C library (which has only blocks and freed memory), the recorder, the stacks of ended threads, and the
// memory below the stack pointers of the other threads.
std::vector<address_range> roots_of(const remote_process& process, const memory_uses& uses,
                                    const stack_pointers& stacks) {
  std::vector<address_range> ranges;
  for (const remote_mapping& mapping : process.mappings()) {
    const address_range range{mapping.start, mapping.end};
    const std::string& path = mapping.path;
    if (!mapping.is_writable) continue;
    const bool is_device =
        path.starts_with("/dev/") && !path.starts_with("/dev/shm/") && !path.starts_with("/dev/zero");
    if (is_device || path == "[heap]" || path.starts_with("/memfd:tarn-record") || format::is_recorder_library(path))
      continue;
    if (path == "[stack]") {
      const auto first = stacks.find(static_cast<std::uint32_t>(process.number()));
      const bool is_here =
          first != stacks.end() && first->second >= range.start + red_zone && first->second < range.end;
      ranges.push_back({is_here ? first->second - red_zone : range.start, range.end});
      continue;
    }
    ranges.push_back(range);
  }
  for (const address_range& range : uses.recorder) take_off(ranges, range.start, range.end);
  for (const auto& [thread, range] : uses.stacks) {
    const auto running = stacks.find(thread);
    const bool is_reused = std::any_of(stacks.begin(), stacks.end(), [&](const auto& stack) {
      return stack.first != thread && range.start <= stack.second && stack.second < range.end;
    });
    if (is_reused) continue;
    if (running == stacks.end()) {
      take_off(ranges, range.start, range.end);
    } else if (running->second >= range.start + red_zone && running->second < range.end) {
      take_off(ranges, range.start, running->second - red_zone);
    }
  }
  const int pagemap = ::open(fmt::format("/proc/{}/pagemap", process.number()).c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<address_range> used_ranges;
  for (const address_range& range : ranges) {
    for (const address_range& part : used_parts(pagemap, range)) used_ranges.push_back(part);
  }
  if (pagemap >= 0) ::close(pagemap);
  return used_ranges;
}

// The C library's allocator keeps the rounded size of a block in the word before it. The lowest three bits are flags;
// the second one marks a block with a mapping of its own.
bool is_block_of_c_library(const remote_process& process, std::uint64_t address, std::uint64_t bytes) {
  std::uint64_t size = 0;
  if (!process.read(address - sizeof size, &size, sizeof size)) return false;
  constexpr std::uint64_t flags = 7, is_mapped = 2, min_chunk = 32;
  const std::uint64_t needed = std::max((bytes + 8 + 15) / 16 * 16, min_chunk);
  const std::uint64_t chunk = size & ~flags;
  return chunk >= needed && (chunk < needed + min_chunk || (size & is_mapped) != 0);
}

std::vector<heap_block> blocks_of(const remote_process& process, const format::heap_search& search) {
  std::vector<format::listed_block> listed(search.blocks.load());
  if (!listed.empty() && !process.read(search.list.load(), listed.data(), listed.size() * sizeof listed[0]))
    fail(exit_code::io_error, "the blocks in use cannot be read");
  std::vector<heap_block> blocks;
  blocks.reserve(listed.size());
  const bool is_rounded = search.granule.load() > 16;  // then a block begins at the address, or 16 bytes behind it
  for (const format::listed_block& block : listed) {
    const bool is_here = !is_rounded || is_block_of_c_library(process, block.address, block.bytes);
    blocks.push_back({block.address + (is_here ? 0U : 16U), block.bytes, block.site});
  }
  return blocks;
}

bool is_dynamic_linker(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-") && !name.starts_with("ld-musl");  // that of musl is its whole C library
}

// Returns the addresses of the blocks that the dynamic linker allocated, which count as reachable, as for
// LeakSanitizer: its tables of thread-local variables are found from descriptors of threads alone, and the C library
// keeps those of ended threads, with their stacks, for the next ones.
std::vector<std::uint64_t> blocks_of_linker(const remote_process& process, const region_file& region,
                                            const std::vector<heap_block>& blocks) {
  std::vector<address_range> code;
  for (const remote_mapping& mapping : process.mappings()) {
    if (is_dynamic_linker(mapping.path)) code.push_back({mapping.start, mapping.end});
  }
  format::recording recording;
  region.read(recording);
  std::vector<std::uint64_t> addresses;
  for (const heap_block& block : blocks) {
    if (block.site >= recording.sites.size() || recording.sites[block.site].frames.empty()) continue;
    const std::uint64_t caller = recording.sites[block.site].frames.front() - 1;
    const auto has_caller = [&](const address_range& range) { return range.start <= caller && caller < range.end; };
    if (std::any_of(code.begin(), code.end(), has_caller)) addresses.push_back(block.address);
  }
  return addresses;
}

// Waits for a step of the thread that waits. Acquire: everything that it did before the step can be read.
void await_step(pid_t process, const format::heap_search& search, format::search_step step) {
  while (search.step.load(std::memory_order_acquire) < step) {
    const char state = state_of_thread(process, static_cast<pid_t>(search.thread.load()));
    if (state == 'Z' || state == 'X' || state == '\0') fail(exit_code::io_error, "process {} ended meanwhile", process);
    ::usleep(200);
  }
}

// Calls look(memory, blocks, others) while no thread of the process runs. In any case the thread that waits continues,
// after the other threads were resumed.
template <class Look>
auto search_heap(pid_t process, format::heap_search& search, Look look) {
  const auto go_on = [](format::heap_search* search_to_end) {
    search_to_end->step.store(format::search_step::finished, std::memory_order_release);
  };
  const std::unique_ptr<format::heap_search, decltype(go_on)> guard(&search, go_on);
  const remote_process memory(process);
  const stopped_threads others(memory, static_cast<pid_t>(search.thread.load()));
  // Release: a thread that reads the step runs alone.
  search.step.store(format::search_step::stopped, std::memory_order_release);
  await_step(process, search, format::search_step::listed);
  if (search.step.load() != format::search_step::listed) fail(exit_code::io_error, "the process has no memory left");
  return look(memory, blocks_of(memory, search), others);
}

memory_reader reader_of(const remote_process& memory) {
  return [&](std::uint64_t address, void* target, std::size_t bytes) { return memory.read(address, target, bytes); };
}

}  // namespace

std::map<std::uint32_t, format::leak_facts> search_leaks(pid_t process, region_file& region) {
  format::heap_search& search = region.leaks();
  const auto look = [&](const remote_process& memory, const std::vector<heap_block>& blocks,
                        const stopped_threads& others) {
    stack_pointers stacks = others.stacks();
    stacks[search.thread.load()] = search.stack.load() + red_zone;
    memory_uses uses = region.uses();
    uses.recorder.push_back(
        {search.list.load(), search.list.load() + (search.blocks.load() + 1) * sizeof(format::listed_block)});
    pointer_roots roots{roots_of(memory, uses, stacks), others.register_values()};
    const std::vector<std::uint64_t> known_blocks = blocks_of_linker(memory, region, blocks);
    roots.register_values.insert(roots.register_values.end(), known_blocks.begin(), known_blocks.end());
    return find_lost(blocks, roots, reader_of(memory));
  };
  return search_heap(process, search, look);
}

std::map<std::uint32_t, format::site_contents> search_contents(pid_t process, region_file& region) {
  const auto look = [](const remote_process& memory, const std::vector<heap_block>& blocks, const stopped_threads&) {
    return contents_of(blocks, reader_of(memory));
  };
  return search_heap(process, region.contents(), look);
}
#else
std::map<std::uint32_t, format::leak_facts> search_leaks(pid_t, region_file& region) {
  region.leaks().step.store(format::search_step::finished, std::memory_order_release);
  fail(exit_code::missing, "lost blocks are found on x86-64 only");
}
std::map<std::uint32_t, format::site_contents> search_contents(pid_t, region_file& region) {
  region.contents().step.store(format::search_step::finished, std::memory_order_release);
  fail(exit_code::missing, "the contents of blocks are read on x86-64 only");
}
#endif

}  // namespace tarn::command
