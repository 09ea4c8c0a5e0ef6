#include "profiler/collect/process_heaps.hpp"

#include <elfutils/libdwfl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "memory/heap/watch.hpp"
#include "profiler/base/failure.hpp"
#include "profiler/launch/access.hpp"

namespace tarn::command {
namespace {

using heaps::heap;
using heaps::watch_root;

// It does not search for files with debug information: the name is in each file that was not stripped of all names.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}
char* debug_path = nullptr;
const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                  .find_debuginfo = no_debug_file,
                                  .section_address = nullptr,
                                  .debuginfo_path = &debug_path};

struct symbol_search {
  const char* name;
  std::uint64_t address = 0;
};

int find_symbol(Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* search) {
  auto& match = *static_cast<symbol_search*>(search);
  const int count = dwfl_module_getsymtab(module);
  for (int index = 0; index < count; ++index) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* const name = dwfl_module_getsym_info(module, index, &symbol, &address, &section, nullptr, nullptr);
    if (name == nullptr || section == SHN_UNDEF || std::strcmp(name, match.name) != 0) continue;
    match.address = address;
    return DWARF_CB_ABORT;
  }
  return DWARF_CB_OK;
}

// Returns the address from the first module that has it; 0: none.
std::uint64_t address_of(pid_t process, const char* symbol) {
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), &dwfl_end);
  if (dwfl_linux_proc_report(session.get(), process) != 0) return 0;
  dwfl_report_end(session.get(), nullptr, nullptr);
  symbol_search search{symbol};
  dwfl_getmodules(session.get(), find_symbol, &search, 0);
  return search.address;
}

// Returns false, with errno, if not all of it can be read.
bool read_from(pid_t process, std::uint64_t address, void* output, std::size_t bytes) {
  const iovec local{output, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

std::optional<process_heaps> process_heaps::find(pid_t process) {
  const std::uint64_t address = address_of(process, "tarn_watch_root");
  if (address == 0) return std::nullopt;
  watch_root root{0, 0, nullptr};
  if (!read_from(process, address, &root, sizeof root)) fail_unreadable_memory(process, errno);
  if (root.mark != watch_root::expected_mark || root.layout != heaps::watch_layout) {
    fail(exit_code::io_error, "process {} uses another version of Tarn; run that version's tarn top", process);
  }
  return process_heaps(process, reinterpret_cast<std::uint64_t>(root.heaps));
}

std::vector<heap_facts> process_heaps::read() {
  std::vector<heap_facts> heaps_read;
  std::uint64_t address = 0;
  if (!read_from(process_, newest_pointer_address_, &address, sizeof address)) return heaps_read;
  // This is a copy of the bytes, of which only counters and plain numbers are read. While the process runs they are
  // of slightly different moments, like the statistics of other threads inside it.
  alignas(heap) std::byte bytes[sizeof(heap)];
  const heap& copy = *std::launder(reinterpret_cast<const heap*>(bytes));
  std::unordered_set<std::uint64_t> addresses;
  heaps::waiting_frees waiting;
  while (address != 0 && addresses.insert(address).second && read_from(process_, address, bytes, sizeof bytes)) {
    heap_facts facts;
    facts.address = address;
    if (copy.state.load() == heaps::ownership::occupied) facts.thread = copy.owner_thread.load();
    facts.name.assign(copy.name, ::strnlen(copy.name, sizeof copy.name));
    facts.counts_calls = copy.policy.is_counting();
    facts.statistics = copy.statistics();
    waiting += copy.waiting();
    facts.was_used = facts.statistics.refills != 0 || facts.statistics.peak_footprint_bytes != 0;
    heaps_read.push_back(std::move(facts));
    address = reinterpret_cast<std::uint64_t>(copy.next_heap);
  }
  waiting_bytes_ = waiting.at_least_zero().bytes;
  std::reverse(heaps_read.begin(), heaps_read.end());
  return heaps_read;
}

}  // namespace tarn::command
