#include "analyse/symbols.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "analyse/names.hpp"
#include "analyse/scopes.hpp"
#include "analyse/symbol_table.hpp"
#include "analyse/units.hpp"
#include "format/build_id.hpp"

namespace tarn::analyse {
namespace {

char* debug_path = nullptr;  // the default of elfutils
const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                  .find_debuginfo = dwfl_standard_find_debuginfo,
                                  .section_address = dwfl_offline_section_address,
                                  .debuginfo_path = &debug_path};

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  // A Rust name has its own form or the older one that looks like C++; the result is null for other names.
  const std::unique_ptr<char, decltype(&std::free)> of_rust(rust_demangle(name, DMGL_NO_OPTS), &std::free);
  if (of_rust != nullptr) return of_rust.get();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                          &std::free);
  return plain != nullptr ? plain.get() : name;
}

std::string function_of(Dwarf_Die* scope);

// Names the operator() of a function object without a linkage name by its scope, "main::{lambda}::operator()": GCC
// gives none to a lambda in a function that has none.
std::string operator_in_its_scope(Dwarf_Die of) {
  Dwarf_Attribute attribute;
  for (const unsigned from : {unsigned{DW_AT_abstract_origin}, unsigned{DW_AT_specification}}) {
    Dwarf_Die declared;
    if (dwarf_attr(&of, from, &attribute) != nullptr && dwarf_formref_die(&attribute, &declared) != nullptr)
      of = declared;
  }
  Dwarf_Die* around = nullptr;
  const int count = dwarf_getscopes_die(&of, &around);
  const std::unique_ptr<Dwarf_Die, decltype(&std::free)> owned(around, &std::free);
  std::string name = "operator()";
  for (int at = 1; at < count; ++at) {
    const int tag = dwarf_tag(&around[at]);
    if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type) {
      const char* const type = dwarf_diename(&around[at]);
      const bool is_lambda = type == nullptr || *type == '<';
      name.insert(0, std::string(is_lambda ? "{lambda}" : type) + "::");
    }
    if (tag == DW_TAG_subprogram) return function_of(&around[at]) + "::" + name;
  }
  return name;
}

std::string function_of(Dwarf_Die* scope) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
    if (dwarf_attr_integrate(scope, kind, &attribute) != nullptr) return demangled(dwarf_formstring(&attribute));
  }
  const char* const name = dwarf_diename(scope);
  if (name == nullptr) return {};
  return std::string_view(name) == "operator()" ? operator_in_its_scope(*scope) : name;
}

}  // namespace

struct symbols::files {
  Dwfl* session = dwfl_begin(&callbacks);
  files() = default;
  files(const files&) = delete;
  files& operator=(const files&) = delete;
  ~files() { dwfl_end(session); }

  bool has_symbol(const std::function<bool(const std::string&)>& is_wanted) {
    bool found = false;
    const auto look = [&](Dwfl_Module* module) {
      const std::vector<const char*>& names = table_of(module).names();
      found = std::any_of(names.begin(), names.end(), [&](const char* each) { return is_wanted(demangled(each)); });
      return found ? DWARF_CB_ABORT : DWARF_CB_OK;
    };
    dwfl_getmodules(
        session,
        [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* by) {
          return static_cast<int>((*static_cast<decltype(look)*>(by))(module));
        },
        const_cast<void*>(static_cast<const void*>(&look)), 0);
    return found;
  }

  // Returns the place of `address` itself, followed by the call of each function inlined there.
  std::vector<place> places(std::uint64_t address) {
    std::vector<place> found;
    Dwfl_Module* const module = dwfl_addrmodule(session, address);
    if (module == nullptr) return found;
    for (const frame& each : frames(module, address)) {
      place next;
      if (each.file != nullptr) next.file = each.file;
      next.line = each.line;
      next.function = each.function ? name_of(module, *each.function, each) : demangled(table_of(module).at(address));
      found.push_back(next);
    }
    return found;
  }

 private:
  struct frame {
    std::optional<Dwarf_Die> function;
    const char* file;  // null if it is not known
    int line;
  };

  // Returns the innermost function first; a single frame without a function if none is described there.
  std::vector<frame> frames(Dwfl_Module* module, std::uint64_t address) {
    units& compiled = units_of(module);
    units::unit* const unit = compiled.at(address);
    std::vector<frame> found;
    frame next{{}, nullptr, 0};
    if (unit != nullptr) {
      if (Dwarf_Line* const line = dwarf_getsrc_die(&unit->lines, address - compiled.bias())) {
        next.file = dwarf_linesrc(line, nullptr, nullptr);
        dwarf_lineno(line, &next.line);
      }
      std::vector<Dwarf_Die> functions = scopes_of(unit->code).at(address - compiled.bias());
      for (Dwarf_Die* each = functions.data(); each != functions.data() + functions.size(); ++each) {
        if (!found.empty()) next = call_site(&unit->code, each - 1);
        next.function = *each;
        found.push_back(next);
      }
    }
    if (found.empty()) found.push_back(next);
    return found;
  }

  // Adds the line if all function objects would have the same name: "lambda at router.cpp:41". With -g1 compilers
  // describe no more of them. The line is that of the declaration, or for a lambda without one that of its start.
  std::string name_of(Dwfl_Module* module, Dwarf_Die function, const frame& of) {
    std::string name = function_of(&function);
    const bool is_lambda = name.starts_with("{lambda}");
    if (name != "operator()" && !is_lambda) return name;
    const char* file = dwarf_decl_file(&function);
    int line = 0;
    Dwarf_Addr start = 0;
    if ((file == nullptr || dwarf_decl_line(&function, &line) != 0) && dwarf_entrypc(&function, &start) == 0) {
      for (const frame& each : frames(module, start + units_of(module).bias())) {
        if (!each.function || each.function->addr != function.addr) continue;
        file = each.file;
        line = each.line;
      }
    }
    if (file == nullptr || line == 0) {
      file = of.file;
      line = of.line;
    }
    if (file == nullptr) return name;
    const std::string_view path = file;
    Dwarf_Attribute attribute;
    const bool is_made_up = dwarf_attr_integrate(&function, DW_AT_artificial, &attribute) != nullptr;
    return std::string(is_lambda || is_made_up ? lambda_at : function_object_at) +
           std::string(path.substr(path.find_last_of('/') + 1)) + ':' + std::to_string(line);
  }

  units& units_of(Dwfl_Module* module) {
    auto& known = units_[module];
    if (known == nullptr) known = std::make_unique<units>(module);
    return *known;
  }
  symbol_table& table_of(Dwfl_Module* module) {
    auto& known = tables_[module];
    if (known == nullptr) known = std::make_unique<symbol_table>(module);
    return *known;
  }
  scopes& scopes_of(Dwarf_Die& unit) {
    auto& known = scopes_[unit.addr];
    if (known == nullptr) known = std::make_unique<scopes>(unit);
    return *known;
  }

  std::map<const Dwfl_Module*, std::unique_ptr<units>> units_;
  std::map<const Dwfl_Module*, std::unique_ptr<symbol_table>> tables_;
  std::map<const void*, std::unique_ptr<scopes>> scopes_;  // by the address of the unit's description

  static frame call_site(Dwarf_Die* unit, Dwarf_Die* inlined) {
    frame made{{}, nullptr, 0};
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
      made.line = static_cast<int>(value);
    Dwarf_Files* names = nullptr;
    std::size_t count = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(unit, &names, &count) == 0 && value < count) {
      made.file = dwarf_filesrc(names, value, nullptr, nullptr);
    }
    return made;
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
  const std::uint64_t address = frame - 1;  // an address inside the call
  const auto module =
      std::find_if(recording_.modules.begin(), recording_.modules.end(), [&](const format::module_facts& each) {
        return each.image == image && address >= each.start && address < each.end;
      });
  if (module != recording_.modules.end()) found = files_of(image).places(address);
  if (found.empty()) found.emplace_back();
  if (module == recording_.modules.end()) {
    if (!made_code_) made_code_.emplace(recording_.program.process, recording_.program.started);
    if (const std::string* const name = made_code_->at(address)) {
      found.front().function = demangled(name->c_str());
      found.front().module = made_code_module;
    }
    return found;
  }
  for (place& each : found) {
    each.module = module->path;
    each.offset = address - module->bias;
  }
  return found;
}

bool symbols::has_function(const std::function<bool(const std::string&)>& is_wanted) {
  for (const format::site_facts& each : recording_.sites) {
    for (const std::uint64_t frame : each.frames) {
      const std::vector<place>& places = of(each.image, frame);
      if (std::any_of(places.begin(), places.end(), [&](const place& at) { return is_wanted(at.function); }))
        return true;
    }
  }
  for (std::uint32_t image = 0; image <= recording_.images; ++image) {
    if (files_of(image).has_symbol(is_wanted)) return true;
  }
  return false;
}

}  // namespace tarn::analyse
