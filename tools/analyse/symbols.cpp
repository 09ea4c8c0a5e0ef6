#include "analyse/symbols.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdlib>

#include "analyse/scopes.hpp"
#include "format/build_id.hpp"

namespace tarn::analyse {
namespace {

char* debug_path = nullptr;  // elfutils' default
const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                  .find_debuginfo = dwfl_standard_find_debuginfo,
                                  .section_address = dwfl_offline_section_address,
                                  .debuginfo_path = &debug_path};

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                          &std::free);
  return plain != nullptr ? plain.get() : name;
}

std::string function_of(Dwarf_Die* scope) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
    if (dwarf_attr_integrate(scope, kind, &attribute) != nullptr) return demangled(dwarf_formstring(&attribute));
  }
  const char* const name = dwarf_diename(scope);
  return name == nullptr ? std::string() : name;
}

}  // namespace

struct symbols::files {
  Dwfl* session = dwfl_begin(&callbacks);
  files() = default;
  files(const files&) = delete;
  files& operator=(const files&) = delete;
  ~files() { dwfl_end(session); }

  // The place of `address` itself, then where each function inlined there was called.
  std::vector<place> places(std::uint64_t address) {
    std::vector<place> found;
    Dwfl_Module* const module = dwfl_addrmodule(session, address);
    if (module == nullptr) return found;
    place innermost;
    if (Dwfl_Line* const line = dwfl_module_getsrc(module, address)) {
      const char* const file = dwfl_lineinfo(line, nullptr, &innermost.line, nullptr, nullptr, nullptr);
      if (file != nullptr) innermost.file = file;
    }
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dwfl_module_addrdie(module, address, &bias);
    Dwarf_Die* inlined = nullptr;
    std::vector<Dwarf_Die> functions;
    if (unit != nullptr) functions = scopes_of(*unit).at(address - bias);
    for (Dwarf_Die& each : functions) {
      place next = found.empty() ? innermost : place();
      if (!found.empty()) call_site(unit, inlined, next);
      next.function = function_of(&each);
      found.push_back(next);
      inlined = &each;
    }
    if (found.empty()) {
      innermost.function = demangled(dwfl_module_addrname(module, address));
      found.push_back(innermost);
    }
    return found;
  }

 private:
  scopes& scopes_of(Dwarf_Die& unit) {
    auto& known = units_[unit.addr];
    if (known == nullptr) known = std::make_unique<scopes>(unit);
    return *known;
  }

  std::map<const void*, std::unique_ptr<scopes>> units_;  // by where their description lies

  static void call_site(Dwarf_Die* unit, Dwarf_Die* inlined, place& to) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
      to.line = static_cast<int>(value);
    Dwarf_Files* names = nullptr;
    std::size_t count = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(unit, &names, &count) == 0 && value < count) {
      const char* const name = dwarf_filesrc(names, value, nullptr, nullptr);
      if (name != nullptr) to.file = name;
    }
  }
};

symbols::symbols(const format::recording& of) : recording_(of) {}
symbols::~symbols() = default;

symbols::files& symbols::files_of(std::uint32_t image) {
  auto& made = images_[image];
  if (made != nullptr) return *made;
  made = std::make_unique<files>();
  dwfl_report_begin(made->session);
  for (const format::module_facts& each : recording_.modules) {
    if (each.image != image || each.path.empty() || format::build_id_of(each.path) != each.build_id) continue;
    dwfl_report_elf(made->session, each.path.c_str(), each.path.c_str(), -1, each.bias, false);
  }
  dwfl_report_end(made->session, nullptr, nullptr);
  return *made;
}

const std::vector<place>& symbols::of(std::uint32_t image, std::uint64_t frame) {
  auto& found = known_[{image, frame}];
  if (!found.empty()) return found;
  const std::uint64_t address = frame - 1;  // in the call
  const auto module =
      std::find_if(recording_.modules.begin(), recording_.modules.end(), [&](const format::module_facts& each) {
        return each.image == image && address >= each.start && address < each.end;
      });
  if (module != recording_.modules.end()) found = files_of(image).places(address);
  if (found.empty()) found.emplace_back();
  for (place& each : found) {
    if (module == recording_.modules.end()) continue;
    each.module = module->path;
    each.offset = address - module->bias;
  }
  return found;
}

}  // namespace tarn::analyse
