#include "profiler/unwind/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tarn::unwind {
namespace {

constexpr std::uint64_t load_page_bytes = 4096;
constexpr std::uint64_t max_frame_bytes = std::uint64_t{256} << 20;
constexpr std::size_t max_rows = 1 << 18;  // cached ones

}  // namespace

template <class Read>
void elf_file::load(Read read) {
  Elf64_Ehdr header;
  if (!read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return;
  std::vector<Elf64_Phdr> program_headers(header.e_phnum);
  if (!read(header.e_phoff, program_headers.data(), program_headers.size() * sizeof(Elf64_Phdr))) return;
  const Elf64_Phdr* frames = nullptr;
  low_ = ~std::uint64_t{0};
  for (const Elf64_Phdr& entry : program_headers) {
    if (entry.p_type == PT_GNU_EH_FRAME) frames = &entry;
    if (entry.p_type != PT_LOAD) continue;
    parts_.push_back({entry.p_vaddr, entry.p_offset, entry.p_filesz, (entry.p_flags & PF_X) != 0});
    low_ = std::min(low_, entry.p_vaddr & ~(load_page_bytes - 1));
    high_ = std::max(high_, entry.p_vaddr + entry.p_memsz);
  }
  if (parts_.empty() || frames == nullptr) return;
  const auto holder = std::find_if(parts_.begin(), parts_.end(), [&](const auto& candidate) {
    return frames->p_vaddr >= candidate.address && frames->p_vaddr - candidate.address < candidate.file_bytes;
  });
  if (holder == parts_.end()) return;
  const auto offset_of = [&](std::uint64_t address) { return address - holder->address + holder->offset; };
  // The header's second word is the distance from there to the .eh_frame, which lies before it or behind it.
  std::array<std::int32_t, 2> header_words;
  if (!read(offset_of(frames->p_vaddr), header_words.data(), sizeof header_words)) return;
  const std::uint64_t start = frames->p_vaddr + 4 + static_cast<std::uint64_t>(std::int64_t{header_words[1]});
  frames_at_ = std::min<std::uint64_t>(start, frames->p_vaddr);
  const std::uint64_t end = holder->address + holder->file_bytes;
  if (frames_at_ < holder->address || end - frames_at_ > max_frame_bytes) return;
  frames_.resize(end - frames_at_);
  header_ = frames->p_vaddr - frames_at_;
  if (!read(offset_of(frames_at_), frames_.data(), frames_.size())) frames_.clear();
}

elf_file::elf_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return;
  load([&](std::uint64_t offset, void* target, std::size_t bytes) {
    return ::pread(file, target, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  });
  ::close(file);
}

elf_file elf_file::vdso() {
  elf_file result;
  // Its one part begins at the address 0, so that offsets are addresses.
  if (const auto* const image = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR))) {
    result.load([&](std::uint64_t offset, void* target, std::size_t bytes) {
      std::memcpy(target, image + offset, bytes);
      return true;
    });
  }
  return result;
}

elf_file elf_file::mapped(pid_t process, const std::string& path) {
  const std::string path_in_root = "/proc/" + std::to_string(process) + "/root" + path;
  std::error_code ignored;
  if (std::filesystem::exists(path_in_root, ignored)) return elf_file(path_in_root);
  return std::filesystem::exists(path, ignored) ? elf_file(path) : in_memory(process, path);
}

elf_file elf_file::in_memory(pid_t process, const std::string& path) {
  struct mapped_part {
    std::uint64_t start = 0, end = 0, offset = 0;
  };
  std::vector<mapped_part> mapped_parts;
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    mapped_part part;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &part.start, &part.end, &part.offset, &path_at) != 3)
      continue;
    if (line.compare(static_cast<std::size_t>(path_at), std::string::npos, path) == 0) mapped_parts.push_back(part);
  }
  elf_file result;
  const int memory = ::open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return result;
  result.load([&](std::uint64_t offset, void* target, std::size_t bytes) {
    for (const mapped_part& part : mapped_parts) {
      if (offset < part.offset || offset - part.offset >= part.end - part.start) continue;
      const auto address = static_cast<off_t>(part.start + (offset - part.offset));
      return ::pread(memory, target, bytes, address) == static_cast<ssize_t>(bytes);
    }
    return false;
  });
  ::close(memory);
  return result;
}

std::optional<std::uint64_t> elf_file::bias_of(std::uint64_t start, std::uint64_t offset) const {
  for (const part& candidate : parts_) {
    const std::uint64_t first = candidate.offset & ~(load_page_bytes - 1);
    if (!candidate.is_code || offset < first || offset >= candidate.offset + candidate.file_bytes) continue;
    return start - offset + candidate.offset - candidate.address;
  }
  return std::nullopt;
}

row elf_file::row_at(std::uint64_t address) {
  if (frames_.empty()) return {};
  const auto [entry, is_new] = rows_.try_emplace(address);
  if (!is_new) return entry->second;
  const unsigned char* const bytes = frames_.data();
  const row result = row_in(bytes, bytes + frames_.size(), bytes + header_,
                            reinterpret_cast<std::uintptr_t>(bytes) + (address - frames_at_));
  entry->second = result;
  if (rows_.size() > max_rows) rows_.clear();
  return result;
}

}  // namespace tarn::unwind
