#include "profiler/cpu/python_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "profiler/format/utf8.hpp"

namespace tarn::cpu {
namespace {

constexpr std::size_t max_text = 1024, max_line_bytes = std::size_t{1} << 20, max_units = std::size_t{1} << 24;
constexpr std::size_t activation_bytes = 24;
constexpr std::uint64_t word = sizeof(std::uint64_t);
// By chance, or while the loop's function begins, one activation may lie elsewhere than all others seem to.
constexpr std::uint64_t min_votes = 3;

struct symbol {
  std::uint64_t address = 0, bytes = 0;
};

// Returns the symbols of these names that the file exports.
std::map<std::string, symbol> exports_of(const std::string& path, std::initializer_list<const char*> names) {
  std::map<std::string, symbol> result;
  ::elf_version(EV_CURRENT);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return result;
  Elf* const elf = ::elf_begin(file, ELF_C_READ_MMAP, nullptr);
  for (Elf_Scn* section = nullptr; elf != nullptr && (section = ::elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (::gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
    Elf_Data* const data = ::elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int number = 0; number < count; ++number) {
      GElf_Sym entry;
      if (::gelf_getsym(data, number, &entry) == nullptr || entry.st_shndx == SHN_UNDEF) continue;
      const char* const name = ::elf_strptr(elf, header.sh_link, entry.st_name);
      const auto is_same = [&](const char* symbol_name) { return std::strcmp(name, symbol_name) == 0; };
      if (name != nullptr && std::any_of(names.begin(), names.end(), is_same))
        result[name] = {entry.st_value, entry.st_size};
    }
  }
  ::elf_end(elf);
  ::close(file);
  return result;
}

template <class Number>
Number number_in(const std::vector<std::byte>& bytes, std::size_t offset) {
  Number value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Returns how much of a table of lines is read: a part of it would give wrong lines.
std::uint64_t used_bytes(std::uint64_t length) { return length <= max_line_bytes ? length : 0; }

// Says where a string object has its characters.
struct string_form {
  string_form(const format::python_layout& layout, const std::vector<std::byte>& head) {
    const std::uint32_t state = number_in<std::uint32_t>(head, layout.string_state) >> layout.string_kind_shift;
    width = state & 7;
    is_compact = (state >> 3 & 1) != 0;
    start = (state >> 4 & 1) != 0 ? layout.string_ascii : layout.string_other;
    length = std::min(static_cast<std::size_t>(number_in<std::uint64_t>(head, layout.string_length)), max_text);
  }
  bool is_known() const { return is_compact && (width == 1 || width == 2 || width == 4); }

  bool is_compact = false;
  std::size_t width = 0, start = 0, length = 0;
};

}  // namespace

std::unique_ptr<python_process> python_process::make(pid_t process, const std::string& path, std::uint64_t bias) {
  std::map<std::string, symbol> symbols =
      exports_of(fmt::format("/proc/{}/root{}", process, path),
                 {"Py_Version", "PyCode_Type", "PyUnicode_Type", "PyBytes_Type", "_PyEval_EvalFrameDefault"});
  constexpr std::size_t symbol_count = 5;
  if (symbols.size() != symbol_count) return nullptr;
  std::unique_ptr<python_process> result(new python_process());
  result->process_ = process;
  const auto address = [&](const char* name) { return symbols[name].address + bias; };
  const std::optional<std::uint64_t> version = result->word_at(address("Py_Version"));
  result->layout_ = version ? format::python_layout_of(*version) : nullptr;
  result->code_type_ = address("PyCode_Type");
  result->string_type_ = address("PyUnicode_Type");
  result->bytes_type_ = address("PyBytes_Type");
  result->loop_ = address("_PyEval_EvalFrameDefault");
  result->loop_bytes_ = symbols["_PyEval_EvalFrameDefault"].bytes;
  if (result->layout_ == nullptr) return nullptr;
  return result;
}

bool python_process::read(std::uint64_t address, void* target, std::size_t bytes) const {
  const iovec local{target, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(process_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

std::optional<std::uint64_t> python_process::word_at(std::uint64_t address) const {
  std::uint64_t value = 0;
  return read(address, &value, sizeof value) ? std::optional(value) : std::nullopt;
}

bool python_process::is_frame(std::uint64_t address) const {
  if (address == 0 || address % word != 0) return false;
  const std::optional<std::uint64_t> code = word_at(address + layout_->frame_code);
  return code && *code % word == 0 && word_at(*code + word) == code_type_;
}

std::optional<std::uint64_t> python_process::string_size(std::uint64_t address) const {
  std::vector<std::byte> head(layout_->string_other);
  if (!read(address, head.data(), head.size()) || number_in<std::uint64_t>(head, word) != string_type_) return {};
  const string_form form(*layout_, head);
  return form.is_known() ? std::optional(form.start + form.length * form.width) : std::nullopt;
}

std::optional<std::uint64_t> python_process::bytes_size(std::uint64_t address) const {
  std::vector<std::byte> head(layout_->bytes_text);
  if (!read(address, head.data(), head.size()) || number_in<std::uint64_t>(head, word) != bytes_type_) return {};
  return layout_->bytes_text + used_bytes(number_in<std::uint64_t>(head, layout_->bytes_length));
}

std::optional<std::string> python_process::string_in(const std::vector<std::byte>& object) const {
  if (object.size() < layout_->string_ascii || number_in<std::uint64_t>(object, word) != string_type_) return {};
  const string_form form(*layout_, object);
  if (!form.is_known() || form.start + form.length * form.width != object.size()) return {};
  std::string text;
  for (std::size_t index = 0; index < form.length; ++index) {
    std::uint32_t character = 0;
    std::memcpy(&character, object.data() + form.start + index * form.width, form.width);
    format::encode_utf8(character, [&](std::uint32_t byte) { text += static_cast<char>(byte); });
  }
  return text;
}

std::optional<std::string> python_process::bytes_in(const std::vector<std::byte>& object) const {
  if (object.size() < layout_->bytes_text || number_in<std::uint64_t>(object, word) != bytes_type_) return {};
  const std::size_t length = object.size() - layout_->bytes_text;
  if (used_bytes(number_in<std::uint64_t>(object, layout_->bytes_length)) != length) return {};
  return std::string(reinterpret_cast<const char*>(object.data()) + layout_->bytes_text, length);
}

bool python_process::read_texts(known_code& code) const {
  const std::array<object_text*, 3> texts = {&code.file, &code.function, &code.lines};
  std::array<std::vector<std::byte>, 3> objects;
  std::array<iovec, 3> local, remote;
  std::size_t bytes = 0;
  for (std::size_t index = 0; index < texts.size(); ++index) {
    objects[index].resize(texts[index]->bytes);
    local[index] = {objects[index].data(), objects[index].size()};
    remote[index] = {reinterpret_cast<void*>(texts[index]->address), objects[index].size()};
    bytes += objects[index].size();
  }
  if (::process_vm_readv(process_, local.data(), local.size(), remote.data(), remote.size(), 0) !=
      static_cast<ssize_t>(bytes))
    return false;
  std::optional<std::string> file = string_in(objects[0]), function = string_in(objects[1]),
                             lines = bytes_in(objects[2]);
  if (!file || !function || !lines) return false;
  code.file.text = std::move(*file);
  code.function.text = std::move(*function);
  code.lines.text = std::move(*lines);
  return true;
}

void python_process::find_depth(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end) {
  for (std::uint64_t address = stack; address + activation_bytes <= end; address += word) {
    if (!copy.has(address) || !copy.has(address + activation_bytes - word)) break;
    const std::uint64_t frame = copy.read(address + layout_->activation_frame);
    const std::uint64_t outer = copy.read(address + layout_->activation_previous);
    if (frame == 0 || frame % word != 0 || outer == 0 || outer % word != 0 || !is_frame(frame)) continue;
    const auto outer_frame = word_at(outer + layout_->activation_frame);
    const auto outermost = word_at(outer + layout_->activation_previous);
    // The outermost activation is in the thread's state, and has no frame; the others lie above this one.
    if (!outer_frame || !outermost) continue;
    const bool is_outermost = *outermost == 0 && *outer_frame == 0;
    if (is_outermost || (outer > address && *outermost != 0 && is_frame(*outer_frame))) ++depths_[end - address];
  }
  std::uint64_t max_votes = 0;
  for (const auto& [depth, votes] : depths_) {
    if (votes >= min_votes && votes == max_votes) depth_ = 0;
    if (votes >= min_votes && votes > max_votes) depth_ = depth;
    max_votes = std::max(max_votes, votes);
  }
}

bool python_process::read_activation(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end,
                                     std::uint32_t image, std::vector<format::python_code_facts>& codes,
                                     activation& result) {
  if (depth_ == 0) find_depth(copy, stack, end);
  if (depth_ == 0 || depth_ > end - stack) return false;
  const std::uint64_t pointer = end - depth_ + layout_->activation_frame;
  if (!copy.has(pointer)) return false;
  result.first = copy.read(pointer);
  std::vector<std::byte> bytes(layout_->frame_bytes);
  std::uint64_t last_address = 0;  // recursion has one code object in many frames
  std::pair<std::uint64_t, std::uint64_t> code;
  bool was_unknown = false;
  for (std::uint64_t frame = result.first; frame != 0 && result.frames.size() < format::max_cpu_frames;) {
    if (!read(frame, bytes.data(), bytes.size())) return false;
    const bool is_end = number_in<std::uint8_t>(bytes, layout_->frame_end) == layout_->end_value;
    frame = result.next = number_in<std::uint64_t>(bytes, layout_->frame_previous);
    if (!is_end || layout_->is_end_a_frame) {
      const auto address = number_in<std::uint64_t>(bytes, layout_->frame_code);
      if (address != last_address) code = code_at(address, image, codes);
      if (code.second == 0) return false;
      last_address = address;
      const std::uint64_t offset =
          number_in<std::uint64_t>(bytes, layout_->frame_instruction) - address - layout_->code_instructions;
      const bool is_unknown = code.first == format::unknown_python_address;
      // Functions without room that call each other are one frame.
      if (!is_unknown || !was_unknown) result.frames.push_back(code.first + (offset < code.second ? offset : 0) + 1);
      was_unknown = is_unknown;
    }
    if (is_end) return true;
  }
  result.is_whole = false;
  return !result.frames.empty();
}

bool python_process::are_linked(std::vector<activation>& activations) {
  for (std::size_t index = 0; index + 1 < activations.size(); ++index) {
    if (!activations[index].is_whole) return true;  // further frames have no room
    if (activations[index].next == activations[index + 1].first) continue;
    // The outermost frame of a thread's state has none outside, but a thread may have several states.
    if (index != 0) {
      if (activations[index].next != 0) return false;
    } else {
      activations[index].frames.clear();
    }
  }
  activation& innermost = activations.front();
  // Without a next activation nothing tells whether the frame is an earlier one.
  if (activations.size() == 1 && innermost.index == 0 && innermost.next != 0) innermost.frames.clear();
  return true;
}

std::pair<std::uint64_t, std::uint64_t> python_process::code_at(std::uint64_t address, std::uint32_t image,
                                                                std::vector<format::python_code_facts>& codes) {
  std::vector<std::byte> object(layout_->code_instructions);
  if (!read(address, object.data(), object.size()) || number_in<std::uint64_t>(object, word) != code_type_) return {};
  const std::uint64_t units = number_in<std::uint64_t>(object, layout_->code_units);
  if (units == 0 || units > max_units) return {};
  known_code& code = codes_[address];
  known_code present;
  present.units = units;
  present.line = number_in<std::uint32_t>(object, layout_->code_line);
  present.file = {number_in<std::uint64_t>(object, layout_->code_file), code.file.bytes, {}};
  present.function = {number_in<std::uint64_t>(object, layout_->code_function), code.function.bytes, {}};
  present.lines = {number_in<std::uint64_t>(object, layout_->code_lines), code.lines.bytes, {}};
  // The sizes are those of the code that was last at the address, which mostly is the same.
  if (code.start == 0 || !read_texts(present)) {
    const auto file = string_size(present.file.address), function = string_size(present.function.address),
               lines = bytes_size(present.lines.address);
    if (!file || !function || !lines) return {};
    present.file.bytes = *file;
    present.function.bytes = *function;
    present.lines.bytes = *lines;
    if (!read_texts(present)) return {};
  }
  present.start = code.start;
  const bool is_same = code.start != 0 && code.units == present.units && code.line == present.line &&
                       code.file == present.file && code.function == present.function && code.lines == present.lines;
  if (!is_same) {
    const auto [start, is_new] = starts_.try_emplace(
        content(present.units, present.line, present.file.text, present.function.text, present.lines.text), 0);
    if (is_new) {
      if (codes.size() == format::max_python_codes) {
        starts_.erase(start);
        return {format::unknown_python_address, 1};
      }
      start->second =
          codes.empty() ? format::first_sampled_python_address : codes.back().start + codes.back().bytes + 2;
      codes.push_back({image, start->second, units * 2, present.line, present.file.text, present.function.text,
                       present.lines.text});
    }
    present.start = start->second;
    code = std::move(present);
  }
  return {code.start, code.units * 2};
}

}  // namespace tarn::cpu
