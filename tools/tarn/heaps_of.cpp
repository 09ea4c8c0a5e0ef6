#include "tarn/heaps_of.hpp"

#include <elfutils/libdwfl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "heap/watch.hpp"
#include "tarn/access.hpp"
#include "tarn/failure.hpp"

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

struct found_symbol {
  const char* name;
  std::uint64_t address = 0;
};

int look_into(Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* wanted) {
  auto& to = *static_cast<found_symbol*>(wanted);
  const int count = dwfl_module_getsymtab(module);
  for (int at = 0; at < count; ++at) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* const name = dwfl_module_getsym_info(module, at, &symbol, &address, &section, nullptr, nullptr);
    if (name == nullptr || section == SHN_UNDEF || std::strcmp(name, to.name) != 0) continue;
    to.address = address;
    return DWARF_CB_ABORT;
  }
  return DWARF_CB_OK;
}

// Returns the address from the first module that has it; 0: none.
std::uint64_t address_of(pid_t process, const char* symbol) {
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), &dwfl_end);
  if (dwfl_linux_proc_report(session.get(), process) != 0) return 0;
  dwfl_report_end(session.get(), nullptr, nullptr);
  found_symbol wanted{symbol};
  dwfl_getmodules(session.get(), look_into, &wanted, 0);
  return wanted.address;
}

// Returns false, with errno, if not all of it can be read.
bool read_from(pid_t process, std::uint64_t address, void* to, std::size_t bytes) {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

std::optional<process_heaps> process_heaps::find(pid_t process) {
  const std::uint64_t at = address_of(process, "tarn_watch_root");
  if (at == 0) return std::nullopt;
  watch_root root{0, 0, nullptr};
  if (!read_from(process, at, &root, sizeof root)) fail_unreadable_memory(process, errno);
  if (root.mark != watch_root::expected_mark || root.layout != heaps::watch_layout) {
    fail(exit_code::usage, "process {} runs on the heaps of another version of Tarn", process);
  }
  return process_heaps(process, reinterpret_cast<std::uint64_t>(root.heaps));
}

std::vector<heap_facts> process_heaps::look() const {
  std::vector<heap_facts> all;
  std::uint64_t at = 0;
  if (!read_from(process_, newest_, &at, sizeof at)) return all;
  // This is a copy of the bytes, of which only counters and plain numbers are read. While the process runs they are
  // of slightly different moments, like the statistics of other threads inside it.
  alignas(heap) std::byte bytes[sizeof(heap)];
  const heap& copy = *std::launder(reinterpret_cast<const heap*>(bytes));
  std::unordered_set<std::uint64_t> seen;
  while (at != 0 && seen.insert(at).second && read_from(process_, at, bytes, sizeof bytes)) {
    heap_facts each;
    each.address = at;
    if (copy.state.load() == heaps::ownership::owned) each.thread = copy.owner_thread.load();
    each.name.assign(copy.name, ::strnlen(copy.name, sizeof copy.name));
    each.counts_calls = copy.policy.counting();
    each.statistics = copy.statistics();
    each.was_used = each.statistics.refills != 0 || each.statistics.peak_footprint_bytes != 0;
    all.push_back(std::move(each));
    at = reinterpret_cast<std::uint64_t>(copy.next_heap);
  }
  std::reverse(all.begin(), all.end());
  return all;
}

}  // namespace tarn::command
