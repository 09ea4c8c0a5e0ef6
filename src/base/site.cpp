#include "base/site.hpp"

#include <climits>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>

#include "base/errno_kept.hpp"

// _dl_find_object was made for unwinders: it takes no lock, allocates nothing, and is safe in a signal handler. dladdr
// and dl_iterate_phdr take the loader's lock, and wait forever if its holder waits for this thread or is not in a
// forked child. Reading /proc/self/maps needs a descriptor. glibc has _dl_find_object since 2.35; without it only the
// address is shown. musl's dladdr() is good enough: its loader unloads nothing, and holds the lock neither while it
// runs constructors nor while it allocates. A static program has no loader, so the linker provides the address of the
// ELF header.
#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern "C" int _dl_find_object(void*, dl_find_object*) noexcept __attribute__((weak));
#endif
extern "C" __attribute__((weak, visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace tarn::base {
namespace {

constexpr std::size_t max_path_shown = 160;

// Appends a path. A long one loses its beginning, because its end says more.
void append_path(text& output, std::string_view path) noexcept {
  if (path.size() > max_path_shown) {
    output.append("...");
    path.remove_prefix(path.size() - max_path_shown);
  }
  output.append_escaped(path, max_path_shown);
}

using elf_header = ElfW(Ehdr);

// Returns an address in the module with that header as the linker knew it.
std::uintptr_t linked_address(std::uintptr_t address, const elf_header& header) noexcept {
  return header.e_type == ET_DYN ? address - reinterpret_cast<std::uintptr_t>(&header) : address;
}

// The loader does not know the path of the program itself.
void append_program(text& output) noexcept {
  const errno_kept keep;
  char path[PATH_MAX];
  const long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path);
  append_path(output, length > 0 ? std::string_view(path, static_cast<std::size_t>(length)) : "program");
}

}  // namespace

bool is_static_program() noexcept { return &__ehdr_start != nullptr && getauxval(AT_BASE) == 0; }

text& append_site(text& output, const void* return_address) noexcept {
  // Shows the call itself: the code behind it may belong to another line, or even to another function.
  const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  dl_find_object object;
  if (_dl_find_object != nullptr && _dl_find_object(reinterpret_cast<void*>(address), &object) == 0) {
    const link_map* const module = object.dlfo_link_map;
    if (module->l_name != nullptr && module->l_name[0] != '\0') {
      append_path(output, module->l_name);
    } else {
      append_program(output);
    }
    return output.append('+').hex(address - module->l_addr);
  }
#elif !defined(__GLIBC__)
  Dl_info object;
  if (::dladdr(reinterpret_cast<void*>(address), &object) != 0) {
    const auto& header = *static_cast<const elf_header*>(object.dli_fbase);
    if (reinterpret_cast<std::uintptr_t>(&header) + header.e_phoff == getauxval(AT_PHDR)) {
      append_program(output);
    } else {
      append_path(output, object.dli_fname);
    }
    return output.append('+').hex(linked_address(address, header));
  }
#endif
  if (is_static_program()) {
    append_program(output);
    return output.append('+').hex(linked_address(address, __ehdr_start));
  }
  return output.hex(address);
}

}  // namespace tarn::base
