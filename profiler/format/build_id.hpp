#pragma once

#include <cstddef>
#include <string>

namespace tarn::format {

// Returns the build id from the notes of an ELF file, in hexadecimal; empty if there is none or the file cannot be
// read.
std::string build_id_of(const std::string& path);
// Returns bytes, such as those of a build id, in hexadecimal.
std::string hexadecimal_text(const unsigned char* bytes, std::size_t count);

// The path of the vdso in recordings, as the loader names it. It is no file: the kernel maps it into every process.
constexpr const char* vdso_path = "linux-vdso.so.1";
// Returns where the file of a module is to be read: its path, or for the vdso that of a copy of this process's.
std::string file_of(const std::string& path);

}  // namespace tarn::format
