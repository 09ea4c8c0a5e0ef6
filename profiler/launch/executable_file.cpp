#include "profiler/launch/executable_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "profiler/base/failure.hpp"

namespace tarn::command {
namespace {

// The kernel reads the `#!` line from this many bytes; the program headers of every linker we know lie in the rest.
constexpr std::size_t script_bytes = 256;
constexpr std::size_t start_bytes = 64 * 1024;

#if defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
constexpr const char* own_machine_name = "x86-64";
#elif defined(__aarch64__)
constexpr unsigned own_machine = EM_AARCH64;
constexpr const char* own_machine_name = "AArch64";
#endif

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "AArch64";
    case EM_386: return "i386";
    case EM_ARM: return "Arm (32-bit)";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "PowerPC 64";
    case EM_S390: return "S/390";
    default: return fmt::format("machine {}", machine);
  }
}

}  // namespace

executable_file::executable_file(std::string display_name, std::string path)
    : display_name_(std::move(display_name)), path_(std::move(path)) {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    fail(exit_code::cannot_run, "{}: cannot read the file to check how it is linked: {}", display_name_,
         system_error_text(errno));
  start_.resize(start_bytes);
  std::size_t size = 0;
  for (ssize_t bytes_read;
       size < start_bytes && (bytes_read = ::read(file, start_.data() + size, start_bytes - size)) != 0;) {
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) {
      const int error = errno;
      ::close(file);
      fail(exit_code::cannot_run, "{}: {}", display_name_, system_error_text(error));
    }
    size += static_cast<std::size_t>(bytes_read);
  }
  ::close(file);
  start_.resize(size);
  if (start_.starts_with(ELFMAG)) {
    kind_ = kind::elf;
  } else {
    read_script();
  }
}

void executable_file::read_script() {
  const std::string_view line = std::string_view(start_).substr(0, std::min(script_bytes, start_.find('\n')));
  if (line.starts_with("#!")) {
    kind_ = kind::script;
    const std::size_t begin = line.find_first_not_of(" \t", 2);
    if (begin != std::string_view::npos) {
      interpreter_ = line.substr(begin, line.find_first_of(std::string_view(" \t\0", 3), begin) - begin);
    }
    if (interpreter_.empty())
      fail(exit_code::cannot_run, "{}: a script whose #! line names no interpreter", display_name_);
    return;
  }
  if (line.find('\0') != std::string_view::npos) {
    fail(exit_code::cannot_run, "{}: neither an ELF program nor a script", display_name_);
  }
  interpreter_ = "/bin/sh";
}

void executable_file::check_header() const {
  const auto damaged = [&] { fail(exit_code::cannot_run, "{}: a damaged ELF file", display_name_); };
  if (start_.size() < EI_NIDENT + 4) damaged();
  Elf64_Half machine;  // lies at the same offset in 32-bit files
  std::memcpy(&machine, start_.data() + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
  if (start_[EI_DATA] == ELFDATA2MSB) machine = __builtin_bswap16(machine);
  if (machine != own_machine) {
    fail(exit_code::cannot_run, "{}: built for {}, and this is {}", display_name_, machine_name(machine),
         own_machine_name);
  }
  if (start_[EI_CLASS] != ELFCLASS64) {
    fail(exit_code::cannot_run, "{}: a 32-bit program, and libtarn-malloc.so is 64-bit", display_name_);
  }
  if (start_[EI_DATA] != ELFDATA2LSB || start_.size() < sizeof(Elf64_Ehdr)) damaged();
}

// Returns the file in PT_INTERP, or an empty string.
std::string executable_file::loader() const {
  Elf64_Ehdr header;
  std::memcpy(&header, start_.data(), sizeof header);
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    fail(exit_code::cannot_run, "{}: an ELF file that is not a program", display_name_);
  }
  std::ifstream file(path_, std::ios::binary);
  for (unsigned number = 0; number < header.e_phnum; ++number) {
    Elf64_Phdr part;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{number} * header.e_phentsize));
    if (header.e_phentsize != sizeof part || !file.read(reinterpret_cast<char*>(&part), sizeof part)) {
      fail(exit_code::cannot_run, "{}: a damaged ELF file", display_name_);
    }
    if (part.p_type != PT_INTERP) continue;
    std::string name(std::min<std::size_t>(part.p_filesz, 4096), '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    if (name.empty() || !file.read(name.data(), static_cast<std::streamsize>(name.size()))) {
      fail(exit_code::cannot_run, "{}: a damaged ELF file", display_name_);
    }
    return name.c_str();  // drops the bytes behind the terminating null
  }
  return {};
}

// The dynamic loader ignores LD_PRELOAD in a program with privileges, since its environment may come from a stranger.
// The command refuses such a program for every user: whether the loader would obey depends on the user and on the
// mount, and a run must not silently be without Tarn.
void executable_file::check_privileges() const {
  constexpr std::string_view reason = "so the dynamic loader does not obey LD_PRELOAD";
  struct stat status;
  if (::stat(path_.c_str(), &status) != 0)
    fail(exit_code::cannot_run, "{}: {}", display_name_, system_error_text(errno));
  if ((status.st_mode & S_ISUID) != 0) fail(exit_code::cannot_run, "{}: is set-uid, {}", display_name_, reason);
  if ((status.st_mode & S_ISGID) != 0) fail(exit_code::cannot_run, "{}: is set-gid, {}", display_name_, reason);
  if (::getxattr(path_.c_str(), "security.capability", nullptr, 0) > 0) {
    fail(exit_code::cannot_run, "{}: has file capabilities, {}", display_name_, reason);
  }
}

void executable_file::check_elf(const char* library) const {
  check_header();
  const std::string loader = this->loader();
  if (loader.empty()) {
    fail(exit_code::cannot_run, "{}: is statically linked, so no loader can put {} into it", display_name_, library);
  }
  const std::string base_name = loader.substr(loader.find_last_of('/') + 1);
  if (!base_name.starts_with("ld-linux") && !base_name.starts_with("ld-2")) {
    fail(exit_code::cannot_run, "{}: uses another C library than glibc (its loader is {})", display_name_, loader);
  }
  if (::access(loader.c_str(), X_OK) != 0) {
    fail(exit_code::cannot_run, "{}: its loader {}: {}", display_name_, loader, system_error_text(errno));
  }
  check_privileges();
}

}  // namespace tarn::command
