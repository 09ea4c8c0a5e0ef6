#include "profiler/preload/records/python_stack.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "profiler/preload/base/checked_memory.hpp"
#include "profiler/preload/records/python_codes.hpp"
#include "profiler/preload/records/walk_workspace.hpp"

namespace tarn::preload {

constinit std::atomic<bool> is_python = false;

namespace {

constinit python_types types = {};
using state_function = void* (*)();
using ending_function = int (*)();
constinit state_function state_of_thread = nullptr;  // PyGILState_GetThisThreadState(): the thread's own value
constinit ending_function is_ending = nullptr;       // _Py_IsFinalizing(): then the states of other threads are freed
constinit std::uintptr_t interpreter_low = 0, interpreter_high = 0;

std::uintptr_t address_of(const char* name) noexcept {
  return reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, name));
}

// Reads a chain of frames that the thread has not left. Each caller stays until the frame that it called has ended, so
// only the innermost frame and code objects that have not been met are in question.
class frame_reader {
 public:
  frame_reader(std::uintptr_t state, met_python_codes* met) noexcept : state_(state), met_(met) {}

  bool has(std::uintptr_t address, std::size_t bytes) noexcept { return memory_.has(address, bytes); }

  // Returns whether the frame is in one of the thread's blocks of frames, or can be read elsewhere, as that of a
  // generator.
  bool has_frame(std::uintptr_t frame) noexcept {
    constexpr int max_blocks = 64;
    if (frame % sizeof frame != 0) return false;
    std::uintptr_t block = word_at(state_ + types.layout->thread_frames);
    for (int left = max_blocks; left > 0 && block != 0; --left) {
      const std::uintptr_t bytes = word_at(block + sizeof bytes);
      if (frame >= block && frame - block < bytes - types.layout->frame_bytes) return true;
      block = word_at(block);
    }
    return memory_.has(frame, types.layout->frame_bytes);
  }

  bool find_code(std::uintptr_t address, python_code& result) noexcept {
    if (address == 0 || address % sizeof address != 0) return false;
    return met_ == nullptr ? find_python_code(types, address, memory_, result)
                           : met_->find(types, address, memory_, result);
  }

  static std::uintptr_t word_at(std::uintptr_t address) noexcept {
    std::uintptr_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return word;
  }

 private:
  std::uintptr_t state_;
  met_python_codes* met_;
  checked_memory memory_;
};

// Reads the frames of one activation, from `frame` on, which becomes the innermost one of the next activation. Unknown
// functions that call each other are one frame. Returns false where the chain cannot be followed.
bool read_activation(std::uintptr_t& frame, frame_reader& reader, python_stack& result) noexcept {
  const format::python_layout& layout = *types.layout;
  const std::size_t first = result.frame_count;
  constexpr std::uintptr_t unknown = format::unknown_python_address + 1;
  while (result.frame_count < format::max_frames && frame != 0) {
    const std::uintptr_t previous = frame_reader::word_at(frame + layout.frame_previous);
    const bool is_end = *reinterpret_cast<const std::uint8_t*>(frame + layout.frame_end) == layout.end_value;
    if (!is_end || layout.is_end_a_frame) {
      python_code code;
      if (!reader.find_code(frame_reader::word_at(frame + layout.frame_code), code)) return false;
      // A frame that has not begun stands before its first instruction.
      const std::uintptr_t offset = frame_reader::word_at(frame + layout.frame_instruction) - code.instructions;
      const std::uintptr_t address = code.start + (offset < code.bytes ? offset : 0) + 1;
      const bool is_again =
          address == unknown && result.frame_count != first && result.frames[result.frame_count - 1] == unknown;
      if (!is_again) result.frames[result.frame_count++] = address;
    }
    frame = previous;
    if (is_end) return true;
  }
  return false;
}

std::uint64_t hash_of(const python_stack& stack) noexcept {
  std::uint64_t hash = stack.frame_count;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
    hash ^= hash >> 32;
  };
  for (std::size_t index = 0; index < stack.frame_count; ++index) mix(stack.frames[index]);
  for (std::size_t index = 0; index < stack.activation_count; ++index) {
    mix(stack.activations[index].address);
    mix(stack.activations[index].end);
  }
  return hash | 1;
}

}  // namespace

bool is_in_interpreter(std::uintptr_t address) noexcept {
  return address - interpreter_low < interpreter_high - interpreter_low;
}

void look_for_python() noexcept {
  const auto version = reinterpret_cast<const unsigned long*>(address_of("Py_Version"));
  if (version == nullptr) return;
  types = {format::python_layout_of(*version), address_of("PyCode_Type"), address_of("PyUnicode_Type"),
           address_of("PyBytes_Type")};
  state_of_thread = reinterpret_cast<state_function>(address_of("PyGILState_GetThisThreadState"));
  is_ending = reinterpret_cast<ending_function>(address_of("_Py_IsFinalizing"));
  const std::uintptr_t loop = address_of("_PyEval_EvalFrameDefault");
  dl_find_object object;
  if (types.layout == nullptr || types.code == 0 || types.string == 0 || types.bytes == 0 ||
      state_of_thread == nullptr || is_ending == nullptr || loop == 0 ||
      ::_dl_find_object(reinterpret_cast<void*>(loop), &object) != 0)
    return;
  interpreter_low = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  interpreter_high = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end);
  is_python.store(true, std::memory_order_relaxed);
}

void read_python_stack(const caller& caller, const stack_limits& limits, met_python_codes* met,
                       python_stack& result) noexcept {
  const format::python_layout& layout = *types.layout;
  result.hash = 0;
  result.frame_count = result.activation_count = 0;
  if (is_ending() != 0) return;
  const auto state = reinterpret_cast<std::uintptr_t>(state_of_thread());
  if (state == 0) return;
  if (met != nullptr) met->begin_stack();
  frame_reader reader(state, met);
  std::uintptr_t activation = frame_reader::word_at(state + layout.thread_activation), frame = 0;
  // Activations lie on the stack, the outer ones above the inner ones. The outermost one is in the thread's state.
  for (std::uintptr_t inner_place = caller.stack; activation > inner_place;) {
    constexpr std::size_t activation_bytes = 32;
    const bool is_on_stack = caller.stack >= limits.low && activation < limits.high - activation_bytes;
    if (!is_on_stack && !reader.has(activation, activation_bytes)) break;
    const std::uintptr_t outer = frame_reader::word_at(activation + layout.activation_previous);
    if (outer == 0 || result.activation_count == python_stack::max_activations) break;
    if (frame == 0) {
      frame = frame_reader::word_at(activation + layout.activation_frame);
      if (!reader.has_frame(frame)) break;
    }
    const bool is_whole = read_activation(frame, reader, result);
    result.activations[result.activation_count++] = {activation, result.frame_count};
    if (!is_whole || frame == 0) break;
    inner_place = activation;
    activation = outer;
  }
  if (result.frame_count != 0) result.hash = hash_of(result);
}

std::size_t walk_with_python(const caller& caller, const stack_limits& limits, walk_workspace& workspace,
                             stack_reads& reads) noexcept {
  const python_stack& python = workspace.python;
  std::uintptr_t* const frames = workspace.frames;
  if (python.hash == 0) return walk(caller, limits, frames, reads);
  std::uintptr_t *const native = workspace.parts, *const stacks = workspace.stacks;
  const std::size_t depth = walk(caller, limits, native, reads, stacks);
  std::size_t count = 0, next = 0;  // the next activation
  const auto add_activation = [&] {
    for (std::size_t index = next == 0 ? 0 : python.activations[next - 1].end;
         index < python.activations[next].end && count < format::max_frames; ++index)
      frames[count++] = python.frames[index];
    ++next;
  };
  bool is_outside = false;  // the innermost Python function has been added
  for (std::size_t index = 0; index < depth && count < format::max_frames; ++index) {
    while (next < python.activation_count && python.activations[next].address < stacks[index]) ++next;
    const std::uintptr_t end = index + 1 < depth ? stacks[index + 1] : UINTPTR_MAX;
    if (next < python.activation_count && python.activations[next].address < end && index + 1 < depth) {
      is_outside = is_outside || python.activations[next].end != 0;
      add_activation();
    } else if (!is_outside || !is_in_interpreter(native[index])) {
      frames[count++] = native[index];
    }
  }
  // The walk has a limit, which recursion through C reaches before that of Python's frames.
  while (next < python.activation_count && count < format::max_frames) add_activation();
  return count;
}

}  // namespace tarn::preload
