#include "profiler/launch/remote_process.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "profiler/base/failure.hpp"
#include "profiler/launch/access.hpp"

namespace tarn::command {

remote_process::remote_process(pid_t process)
    : process_(process), memory_(::open(fmt::format("/proc/{}/mem", process).c_str(), O_RDWR | O_CLOEXEC)) {
  if (memory_ >= 0) return;
  const int error = errno;
  char byte = 0;
  iovec local_part{&byte, 1}, remote_part{nullptr, 1};
  // The kernel checks the right before it looks at the address, which is never mapped.
  if (::process_vm_readv(process, &local_part, 1, &remote_part, 1, 0) < 0 && errno != EFAULT)
    fail_untraceable(process, error);
}
remote_process::~remote_process() {
  if (memory_ >= 0) ::close(memory_);
  for (const int copy : copied_descriptors_) ::close(copy);
}

pid_t remote_process::own_number_of(pid_t thread) const {
  constexpr std::string_view title = "NSpid:";
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", process_, thread));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(title)) return std::atoi(line.c_str() + line.find_last_of('\t'));  // the innermost comes last
  }
  return thread;
}

bool remote_process::read(remote_address address, void* target, std::size_t bytes) const {
  const auto expected = static_cast<ssize_t>(bytes);
  if (memory_ >= 0) return ::pread(memory_, target, bytes, static_cast<off_t>(address)) == expected;
  const iovec local_part{target, bytes}, remote_part{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(process_, &local_part, 1, &remote_part, 1, 0) == expected;
}
bool remote_process::write(remote_address address, const void* source, std::size_t bytes) const {
  const auto expected = static_cast<ssize_t>(bytes);
  if (memory_ >= 0) return ::pwrite(memory_, source, bytes, static_cast<off_t>(address)) == expected;
  const iovec local_part{const_cast<void*>(source), bytes}, remote_part{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_writev(process_, &local_part, 1, &remote_part, 1, 0) == expected;
}

std::string remote_process::path_of(int descriptor) const {
  if (memory_ >= 0) return fmt::format("/proc/{}/fd/{}", process_, descriptor);
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  const auto copy = static_cast<int>(::syscall(SYS_pidfd_getfd, process, descriptor, 0));
  const int error = errno;
  ::close(process);
  if (copy < 0) {
    fail(exit_code::io_error,
         "no permission to open the files of process {} ({}); in a container, add the capability DAC_OVERRIDE",
         process_, system_error_text(error));
  }
  copied_descriptors_.push_back(copy);
  return fmt::format("/proc/self/fd/{}", copy);
}

std::vector<int> remote_process::descriptors() const {
  std::vector<int> numbers;
  std::error_code error;  // unlike /proc/PID/fd, every user who may trace the process may list this folder
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fdinfo", process_), error))
    numbers.push_back(std::atoi(entry.path().filename().c_str()));
  return numbers;
}

std::string remote_process::text_at(remote_address address) const {
  std::string text;
  for (char letter = 0; text.size() < 1000 && read(address + text.size(), &letter, 1) && letter != '\0';)
    text += letter;
  return text;
}

std::vector<remote_mapping> remote_process::mappings() const {
  std::vector<remote_mapping> list;
  std::ifstream file(fmt::format("/proc/{}/maps", process_));
  for (std::string line; std::getline(file, line);) {
    remote_mapping mapping{};
    std::array<char, 5> rights{};
    int path_begin = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &mapping.start, &mapping.end, rights.data(),
                    &mapping.offset, &path_begin) < 4)
      continue;
    mapping.is_code = rights[2] == 'x';
    mapping.is_writable = rights[0] == 'r' && rights[1] == 'w';
    mapping.path = line.substr(std::min(line.size(), static_cast<std::size_t>(path_begin)));
    list.push_back(std::move(mapping));
  }
  return list;
}

remote_address remote_process::module_start(std::string_view name) const {
  for (const remote_mapping& mapping : mappings()) {
    if (mapping.offset == 0 && mapping.path.find(name) != std::string::npos) return mapping.start;
  }
  return 0;
}

remote_address remote_process::function_of(remote_address start, std::string_view name) const {
  const auto header = value_at<Elf64_Ehdr>(start);
  if (!header || header->e_phentsize != sizeof(Elf64_Phdr)) return 0;
  remote_address bias = start, dynamic = 0;
  for (unsigned number = 0; number < header->e_phnum; ++number) {
    const auto part = value_at<Elf64_Phdr>(start + header->e_phoff + number * sizeof(Elf64_Phdr));
    if (!part) return 0;
    if (part->p_type == PT_LOAD && part->p_offset == 0) bias = start - part->p_vaddr;
    if (part->p_type == PT_DYNAMIC) dynamic = part->p_vaddr;
  }
  remote_address symbols = 0, strings = 0, hash = 0;
  for (remote_address entry = bias + dynamic;; entry += sizeof(Elf64_Dyn)) {
    const auto facts = value_at<Elf64_Dyn>(entry);
    if (!facts || facts->d_tag == DT_NULL) break;
    const remote_address value = facts->d_un.d_ptr < start ? bias + facts->d_un.d_ptr : facts->d_un.d_ptr;
    if (facts->d_tag == DT_SYMTAB) symbols = value;
    if (facts->d_tag == DT_STRTAB) strings = value;
    if (facts->d_tag == DT_GNU_HASH) hash = value;
  }
  std::uint32_t name_hash = 5381;
  for (const char letter : name) name_hash = name_hash * 33 + static_cast<unsigned char>(letter);
  const auto table = value_at<std::array<std::uint32_t, 4>>(hash);
  if (symbols == 0 || strings == 0 || !table || (*table)[0] == 0) return 0;
  const auto [buckets, first, filter_words, shift] = *table;
  const remote_address heads = hash + 16 + std::uint64_t{filter_words} * 8;
  const remote_address chains = heads + std::uint64_t{buckets} * 4;
  auto index = value_at<std::uint32_t>(heads + std::uint64_t{name_hash % buckets} * 4).value_or(0);
  for (; index >= first; ++index) {
    const auto chained = value_at<std::uint32_t>(chains + std::uint64_t{index - first} * 4);
    const auto symbol = value_at<Elf64_Sym>(symbols + std::uint64_t{index} * sizeof(Elf64_Sym));
    if (!chained || !symbol) return 0;
    if ((*chained | 1) == (name_hash | 1) && symbol->st_shndx != SHN_UNDEF &&
        text_at(strings + symbol->st_name) == name)
      return bias + symbol->st_value;
    if ((*chained & 1) != 0) return 0;
  }
  return 0;
}

}  // namespace tarn::command
