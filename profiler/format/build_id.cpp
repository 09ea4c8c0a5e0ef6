#include "profiler/format/build_id.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace tarn::format {
namespace {

std::string build_id_in(Elf* file) {
  std::size_t parts = 0;
  if (::elf_getphdrnum(file, &parts) != 0) return {};
  for (std::size_t number = 0; number < parts; ++number) {
    GElf_Phdr part;
    if (::gelf_getphdr(file, static_cast<int>(number), &part) == nullptr || part.p_type != PT_NOTE) continue;
    Elf_Data* const data =
        ::elf_getdata_rawchunk(file, static_cast<std::int64_t>(part.p_offset), part.p_filesz, ELF_T_NHDR);
    GElf_Nhdr note;
    std::size_t name = 0, content = 0;
    for (std::size_t index = 0; data != nullptr && (index = ::gelf_getnote(data, index, &note, &name, &content)) > 0;) {
      const auto* const start = static_cast<const char*>(data->d_buf);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(start + name, "GNU", 4) != 0) continue;
      return hexadecimal_text(reinterpret_cast<const unsigned char*>(start + content), note.n_descsz);
    }
  }
  return {};
}

// Returns a descriptor of a file in memory; negative if there is none.
int copy_of_vdso() {
  const auto* const image = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
  const int file = image == nullptr ? -1 : ::memfd_create("linux-vdso.so.1", MFD_CLOEXEC);
  if (file < 0) return -1;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  const std::size_t bytes = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;  // they end the file
  if (::write(file, image, bytes) == static_cast<ssize_t>(bytes)) return file;
  ::close(file);
  return -1;
}

}  // namespace

std::string file_of(const std::string& path) {
  if (path != vdso_path) return path;
  static const int copy = copy_of_vdso();
  return copy < 0 ? path : "/proc/self/fd/" + std::to_string(copy);
}

std::string hexadecimal_text(const unsigned char* bytes, std::size_t count) {
  std::string digits;
  for (std::size_t index = 0; index < count; ++index) {
    digits += "0123456789abcdef"[bytes[index] >> 4];
    digits += "0123456789abcdef"[bytes[index] & 15];
  }
  return digits;
}

std::string build_id_of(const std::string& module) {
  const std::string path = file_of(module);
  // A recording may name any file: opening a pipe would block.
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  ::elf_version(EV_CURRENT);
  Elf* const elf = ::elf_begin(file, ELF_C_READ_MMAP, nullptr);
  std::string build_id = elf == nullptr ? std::string() : build_id_in(elf);
  ::elf_end(elf);
  ::close(file);
  return build_id;
}

}  // namespace tarn::format
