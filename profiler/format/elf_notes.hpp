// Finds the build id among the notes of an ELF file, for the recorder library and for `tarn record`.
//
// This code also runs inside the recorded program: it allocates nothing, throws nothing and calls no library.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tarn::format {

struct note_content {
  const unsigned char* start = nullptr;  // null where there is no build id
  std::size_t bytes = 0;
};

// `alignment` is that of the segment of the notes.
inline note_content build_id_among(const unsigned char* notes, std::size_t size, std::uint64_t alignment) noexcept {
  const std::size_t unit = alignment == 8 ? 8 : 4;
  const auto round_up = [&](std::uint64_t bytes) { return (bytes + unit - 1) / unit * unit; };
  std::uint64_t position = 0;
  while (position + sizeof(Elf64_Nhdr) <= size) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes + position, sizeof note);
    const std::uint64_t name = position + sizeof note, content = round_up(name + note.n_namesz);
    if (content > size || note.n_descsz > size - content) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0)
      return {notes + content, note.n_descsz};
    position = round_up(content + note.n_descsz);
  }
  return {};
}

}  // namespace tarn::format
