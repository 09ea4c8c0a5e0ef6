#include "profiler/cpu/python_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "profiler/format/utf8.hpp"

namespace tarn::cpu {
namespace {

constexpr std::size_t max_text = 1024, max_line_bytes = std::size_t{1} << 20, max_units = std::size_t{1} << 24;
constexpr std::size_t activation_bytes = 24;
constexpr std::uint64_t word = sizeof(std::uint64_t);

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

std::optional<std::string> python_process::text_at(std::uint64_t address) const {
  std::vector<std::byte> head(layout_->string_other);
  if (!read(address, head.data(), head.size()) || number_in<std::uint64_t>(head, word) != string_type_) return {};
  const std::uint32_t state = number_in<std::uint32_t>(head, layout_->string_state) >> layout_->string_kind_shift;
  const unsigned width = state & 7;
  const bool is_compact = (state >> 3 & 1) != 0, is_ascii = (state >> 4 & 1) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4)) return {};
  const std::size_t length =
      std::min(static_cast<std::size_t>(number_in<std::uint64_t>(head, layout_->string_length)), max_text);
  std::string characters(length * width, '\0'), text;
  if (!read(address + (is_ascii ? layout_->string_ascii : layout_->string_other), characters.data(), length * width))
    return {};
  for (std::size_t index = 0; index < length; ++index) {
    std::uint32_t character = 0;
    std::memcpy(&character, characters.data() + index * width, width);
    format::encode_utf8(character, [&](std::uint32_t byte) { text += static_cast<char>(byte); });
  }
  return text;
}

void python_process::find_depth(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end) {
  std::vector<std::uint64_t> depths;
  for (std::uint64_t address = stack; address + activation_bytes <= end; address += word) {
    const std::uint64_t depth = end - address;
    if (!depths_.empty() && std::find(depths_.begin(), depths_.end(), depth) == depths_.end()) continue;
    if (!copy.has(address) || !copy.has(address + activation_bytes - word)) break;
    const std::uint64_t frame = copy.read(address + layout_->activation_frame);
    const std::uint64_t outer = copy.read(address + layout_->activation_previous);
    if (frame == 0 || frame % word != 0 || outer == 0 || outer % word != 0 || !is_frame(frame)) continue;
    const auto outer_frame = word_at(outer + layout_->activation_frame);
    const auto outermost = word_at(outer + layout_->activation_previous);
    // The outermost activation is in the thread's state, and has no frame; the others lie above this one.
    if (!outer_frame || !outermost) continue;
    const bool is_outermost = *outermost == 0 && *outer_frame == 0;
    if (is_outermost || (outer > address && *outermost != 0 && is_frame(*outer_frame))) depths.push_back(depth);
  }
  depths_ = std::move(depths);
}

void python_process::add_activation(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end,
                                    std::uint32_t image, std::vector<format::python_code_facts>& codes,
                                    std::vector<std::uint64_t>& frames) {
  if (depths_.size() != 1) find_depth(copy, stack, end);
  if (depths_.size() != 1 || depths_.front() > end - stack) return;
  const std::uint64_t pointer = end - depths_.front() + layout_->activation_frame;
  if (!copy.has(pointer)) return;
  std::uint64_t frame = copy.read(pointer);
  std::vector<std::byte> bytes(layout_->frame_bytes);
  std::uint64_t last_address = 0;  // recursion has one code object in many frames
  const known_code* code = nullptr;
  bool was_unknown = false;
  while (frame != 0 && frames.size() < format::max_cpu_frames && read(frame, bytes.data(), bytes.size())) {
    const bool is_end = number_in<std::uint8_t>(bytes, layout_->frame_end) == layout_->end_value;
    if (!is_end || layout_->is_end_a_frame) {
      const auto address = number_in<std::uint64_t>(bytes, layout_->frame_code);
      if (address != last_address) code = code_at(address, image, codes);
      if (code == nullptr) return;
      last_address = address;
      const std::uint64_t offset =
          number_in<std::uint64_t>(bytes, layout_->frame_instruction) - address - layout_->code_instructions;
      const bool is_again = code == &unknown_ && was_unknown;  // those that call each other are one frame
      was_unknown = code == &unknown_;
      if (!is_again) frames.push_back(code->start + (offset < code->bytes ? offset : 0) + 1);
    }
    if (is_end) return;
    frame = number_in<std::uint64_t>(bytes, layout_->frame_previous);
  }
}

const python_process::known_code* python_process::code_at(std::uint64_t address, std::uint32_t image,
                                                          std::vector<format::python_code_facts>& codes) {
  std::vector<std::byte> object(layout_->code_instructions);
  if (!read(address, object.data(), object.size()) || number_in<std::uint64_t>(object, word) != code_type_)
    return nullptr;
  const std::uint64_t units = number_in<std::uint64_t>(object, layout_->code_units);
  std::optional<std::string> file = text_at(number_in<std::uint64_t>(object, layout_->code_file));
  std::optional<std::string> function = text_at(number_in<std::uint64_t>(object, layout_->code_function));
  if (!file || !function || units == 0 || units > max_units) return nullptr;
  const std::uint64_t lines = number_in<std::uint64_t>(object, layout_->code_lines);
  std::string table;
  if (word_at(lines + word) == bytes_type_) {
    const std::uint64_t size = word_at(lines + layout_->bytes_length).value_or(0);
    table.resize(size <= max_line_bytes ? size : 0);
    if (!read(lines + layout_->bytes_text, table.data(), table.size())) table.clear();
  }
  format::python_code_facts facts = {image,
                                     0,
                                     units * 2,
                                     number_in<std::uint32_t>(object, layout_->code_line),
                                     std::move(*file),
                                     std::move(*function),
                                     std::move(table)};
  known_code& code = codes_[address];
  facts.start = code.start;
  if (code.start != 0 && code.number < codes.size() && codes[code.number] == facts) return &code;
  if (codes.size() >= format::max_python_codes) return &unknown_;
  facts.start = codes.empty() ? format::first_sampled_python_address : codes.back().start + codes.back().bytes + 2;
  code = {codes.size(), facts.start, facts.bytes};
  codes.push_back(std::move(facts));
  return &code;
}

}  // namespace tarn::cpu
