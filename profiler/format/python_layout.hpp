// Says where CPython has what a reader of its call stacks needs. Each minor version has its own layout, and keeps it.
//
// This code runs inside the recorded program: it allocates nothing, throws nothing and calls no library.
#pragma once

#include <cstdint>

namespace tarn::format {

// All offsets are in bytes. An activation of the interpreter's loop has a record on the C stack (_PyCFrame), and runs
// the frames (_PyInterpreterFrame) from its current one outwards to the first that began it.
struct python_layout {
  std::uint32_t first_version;        // the first release that is read, as PY_VERSION_HEX >> 8
  std::uint32_t thread_activation;    // in a thread's state: its innermost activation
  std::uint32_t thread_frames;        // and its newest block of frames, which begins with the older one and its size
  std::uint32_t activation_frame;     // in an activation: the current frame
  std::uint32_t activation_previous;  // and the activation outside of it
  std::uint32_t frame_code, frame_previous, frame_instruction;
  std::uint32_t frame_end;    // in a frame: the byte that tells the last one of an activation
  std::uint32_t frame_bytes;  // at least so many belong to a frame
  std::uint8_t end_value;     // by this value
  bool is_end_a_frame;        // whether the last one is a frame of Python too, or only a mark
  std::uint32_t frame_owner;  // and the one that tells who frees its memory
  std::uint32_t type_free;    // in a type: the function that frees an object
  std::uint32_t code_units;   // in a code object: the number of its instructions of two bytes
  std::uint32_t code_line;    // the line where it begins
  std::uint32_t code_file, code_function, code_lines, code_instructions;
  std::uint32_t string_length, string_state, string_kind_shift, string_ascii, string_other;  // where the text begins
  std::uint32_t bytes_length, bytes_text;
};

// The owner of a frame that lies in a thread's blocks of frames. Others lie in generators and other objects.
constexpr std::uint8_t owned_by_thread = 0;

// Invariant: a row holds for every release of its minor version, as CPython changes no layout within one. A version
// that has no row is not read, nor are releases before the row's first one: 3.11.0 frees frames while they are on the
// chain.
inline constexpr python_layout python_layouts[] = {
    {0x030b01, 56, 296, 8,   16,  32,  48, 56, 68, 72, 1,  true, 69, 48,
     16,       72, 112, 128, 136, 184, 16, 32, 2,  48, 72, 16,   32},
};

// Returns the layout of a version, which is PY_VERSION_HEX; null where it is not known.
constexpr const python_layout* python_layout_of(std::uint64_t version) noexcept {
  for (const python_layout& layout : python_layouts) {
    if (layout.first_version >> 8 == version >> 16 && layout.first_version <= version >> 8) return &layout;
  }
  return nullptr;
}

// The addresses of recorded code objects begin here, where no program has memory.
constexpr std::uint64_t first_python_address = std::uint64_t{0x5079} << 48;
// The first ones stand for code objects that had no room. No code object is there, so they have no name.
constexpr std::uint64_t unknown_python_address = first_python_address, unknown_python_bytes = 2;
// And those that samples of the processor found.
constexpr std::uint64_t first_sampled_python_address = first_python_address + (std::uint64_t{1} << 47);
constexpr bool is_python_address(std::uint64_t address) noexcept { return address >> 48 == first_python_address >> 48; }

}  // namespace tarn::format
