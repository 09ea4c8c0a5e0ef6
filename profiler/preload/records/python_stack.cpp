#include "profiler/preload/records/python_stack.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "profiler/preload/base/checked_memory.hpp"
#include "profiler/preload/records/python_codes.hpp"
#include "profiler/preload/records/walk_workspace.hpp"

namespace tarn::preload {

constinit std::atomic<bool> is_python = false;
constinit python_interpreter cpython = {};

namespace {

constinit const python_types& types = cpython.types;
constinit std::uintptr_t interpreter_low = 0, interpreter_high = 0;

std::uintptr_t address_of(const char* name) noexcept {
  return reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, name));
}

// Reads a chain of frames that the thread has not left. Each caller stays until the frame that it called has ended, so
// only the innermost frame and code objects that have not been met are in question.
class frame_reader {
 public:
  frame_reader(std::uintptr_t state, met_python_codes* met) noexcept
      : newest_block_(python_word(state + types.layout->thread_frames)), met_(met) {}

  bool has(std::uintptr_t address, std::size_t bytes) noexcept { return memory_.has(address, bytes); }

  // Returns whether the frame is in one of the thread's blocks of frames, or can be read elsewhere, as that of a
  // generator.
  bool has_frame(std::uintptr_t frame) noexcept {
    constexpr int max_blocks = 64;
    if (frame % sizeof frame != 0) return false;
    std::uintptr_t block = newest_block_;
    for (int left = max_blocks; left > 0 && block != 0; --left) {
      if (is_in_python_block(*types.layout, block, frame)) return true;
      block = python_word(block);
    }
    const bool is_elsewhere =
        memory_.has(frame, types.layout->frame_bytes) &&
        *reinterpret_cast<const std::uint8_t*>(frame + types.layout->frame_owner) != format::owned_by_thread;
    if (is_elsewhere && met_ != nullptr) met_->frames.add(newest_block_, frame);
    return is_elsewhere;
  }

  bool find_code(std::uintptr_t address, python_code& result) noexcept {
    if (address == 0 || address % sizeof address != 0) return false;
    return met_ == nullptr ? find_python_code(types, address, memory_, result)
                           : met_->find(types, address, memory_, result);
  }

 private:
  std::uintptr_t newest_block_;
  met_python_codes* met_;
  checked_memory memory_;
};

// Reads the frames of one activation, from `frame` on, which becomes the innermost one of the next activation. Unknown
// functions that call each other are one frame. Returns false where the chain cannot be followed.
bool read_activation(std::uintptr_t& frame, frame_reader& reader, python_stack& result, python_chain& chain) noexcept {
  const format::python_layout& layout = *types.layout;
  const std::size_t first = result.frame_count;
  constexpr std::uintptr_t unknown = format::unknown_python_address + 1;
  while (result.frame_count < format::max_frames && frame != 0) {
    const std::uintptr_t previous = python_word(frame + layout.frame_previous);
    const std::uintptr_t code_object = python_word(frame + layout.frame_code);
    const std::uintptr_t instruction = python_word(frame + layout.frame_instruction);
    const bool is_end = is_python_end(layout, frame);
    chain.add_frame(frame, code_object, instruction, is_end);
    if (!is_end || layout.is_end_a_frame) {
      python_code code;
      if (!reader.find_code(code_object, code)) {
        chain.forget();
        return false;
      }
      if (!code.is_watched) chain.forget();
      // A frame that has not begun stands before its first instruction.
      const std::uintptr_t offset = instruction - code.instructions;
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
  cpython.types = {format::python_layout_of(*version), address_of("PyCode_Type"), address_of("PyUnicode_Type"),
                   address_of("PyBytes_Type")};
  cpython.state_of_thread =
      reinterpret_cast<python_interpreter::state_function>(address_of("PyGILState_GetThisThreadState"));
  cpython.is_ending = reinterpret_cast<python_interpreter::ending_function>(address_of("_Py_IsFinalizing"));
  const std::uintptr_t loop = address_of("_PyEval_EvalFrameDefault");
  dl_find_object object;
  if (types.layout == nullptr || types.code == 0 || types.string == 0 || types.bytes == 0 ||
      cpython.state_of_thread == nullptr || cpython.is_ending == nullptr || loop == 0 ||
      ::_dl_find_object(reinterpret_cast<void*>(loop), &object) != 0)
    return;
  interpreter_low = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  interpreter_high = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end);
  count_freed_python_codes(types);
  is_python.store(true, std::memory_order_relaxed);
}

void read_python_stack(const caller& caller, const stack_limits& limits, met_python_codes* met,
                       python_chain& spare_chain, python_stack& result) noexcept {
  const format::python_layout& layout = *types.layout;
  result.hash = 0;
  result.frame_count = result.activation_count = 0;
  const std::uintptr_t state = cpython.readable_state();
  if (state == 0) return;
  if (met != nullptr) met->begin_stack();
  const std::uint64_t freed_codes = met == nullptr ? 0 : met->freed_codes();
  frame_reader reader(state, met);
  python_chain* chain = &spare_chain;
  std::uintptr_t activation = python_word(state + layout.thread_activation), frame = 0;
  // Activations lie on the stack, the outer ones above the inner ones. The outermost one is in the thread's state.
  for (std::uintptr_t inner_place = caller.stack; activation > inner_place;) {
    const bool is_there = is_python_on_stack(activation, caller, limits);
    if (!is_there && !reader.has(activation, python_activation_bytes)) break;
    const std::uintptr_t outer = python_word(activation + layout.activation_previous);
    if (frame == 0) {
      if (outer == 0) break;
      frame = python_word(activation + layout.activation_frame);
      if (!reader.has_frame(frame)) break;
      if (met != nullptr) chain = &met->chains.slot_of(frame, python_word(frame + layout.frame_instruction));
      chain->begin(activation);
    }
    if (!is_there) chain->forget();
    chain->add_outer_activation(outer);
    if (outer == 0 || result.activation_count == python_stack::max_activations) break;
    const bool is_whole = read_activation(frame, reader, result, *chain);
    result.activations[result.activation_count++] = {activation, result.frame_count};
    if (!is_whole || frame == 0) break;
    inner_place = activation;
    activation = outer;
  }
  if (result.frame_count == 0) return;
  result.hash = hash_of(result);
  chain->keep(frame, freed_codes, result.hash);
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
