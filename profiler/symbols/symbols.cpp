#include "profiler/symbols/symbols.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <libiberty/demangle.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "profiler/format/build_id.hpp"
#include "profiler/format/generations.hpp"
#include "profiler/format/python_layout.hpp"
#include "profiler/symbols/names.hpp"
#include "profiler/symbols/scopes.hpp"
#include "profiler/symbols/symbol_table.hpp"
#include "profiler/symbols/units.hpp"

namespace tarn::analyse {
namespace {

char* debug_path = nullptr;  // the default of elfutils
const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                  .find_debuginfo = dwfl_standard_find_debuginfo,
                                  .section_address = dwfl_offline_section_address,
                                  .debuginfo_path = &debug_path};

std::string demangle(const char* name) {
  if (name == nullptr) return {};
  // A Rust name has its own form or the older one that looks like C++; the result is null for other names.
  const std::unique_ptr<char, decltype(&std::free)> of_rust(rust_demangle(name, DMGL_NO_OPTS), &std::free);
  if (of_rust != nullptr) return from_rust(of_rust.get());
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                          &std::free);
  return plain != nullptr ? plain.get() : name;
}

std::string function_of(Dwarf_Die* scope);

// Names the operator() of a function object without a linkage name by its scope, "main::{lambda}::operator()": GCC
// gives none to a lambda in a function that has none.
std::string operator_in_its_scope(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  for (const unsigned attribute_name : {unsigned{DW_AT_abstract_origin}, unsigned{DW_AT_specification}}) {
    Dwarf_Die declared;
    if (dwarf_attr(&die, attribute_name, &attribute) != nullptr && dwarf_formref_die(&attribute, &declared) != nullptr)
      die = declared;
  }
  Dwarf_Die* outer_scopes = nullptr;
  const int count = dwarf_getscopes_die(&die, &outer_scopes);
  const std::unique_ptr<Dwarf_Die, decltype(&std::free)> scope_memory(outer_scopes, &std::free);
  std::string name = "operator()";
  for (int index = 1; index < count; ++index) {
    const int tag = dwarf_tag(&outer_scopes[index]);
    if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type) {
      const char* const type = dwarf_diename(&outer_scopes[index]);
      const bool is_lambda = type == nullptr || *type == '<';
      name.insert(0, std::string(is_lambda ? "{lambda}" : type) + "::");
    }
    if (tag == DW_TAG_subprogram) return function_of(&outer_scopes[index]) + "::" + name;
  }
  return name;
}

std::string function_of(Dwarf_Die* scope) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
    if (dwarf_attr_integrate(scope, kind, &attribute) != nullptr) return demangle(dwarf_formstring(&attribute));
  }
  const char* const name = dwarf_diename(scope);
  if (name == nullptr) return {};
  if (std::string_view(name) == "operator()") return operator_in_its_scope(*scope);
  // GCC gives the function of an OpenMP region its linkage name alone, `_Z6regioni._omp_fn.0`.
  return std::string_view(name).starts_with("_Z") ? demangle(name) : name;
}

// Returns whether debug information describes a parameter of the function, which that of -g1 does not.
bool describes_parameters(Dwarf_Die function) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  for (const unsigned kind : {unsigned{DW_AT_abstract_origin}, unsigned{DW_AT_specification}}) {
    if (dwarf_attr(&function, kind, &attribute) != nullptr && dwarf_formref_die(&attribute, &origin) != nullptr)
      function = origin;
  }
  Dwarf_Die child;
  if (dwarf_child(&function, &child) != 0) return false;
  do {
    if (dwarf_tag(&child) == DW_TAG_formal_parameter) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

// Returns whether the function returns nothing, a number, or an enumeration. Returns false if that is not known.
bool returns_no_block(Dwarf_Die function) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_attr_integrate(&function, DW_AT_type, &attribute) == nullptr) return describes_parameters(function);
  if (dwarf_formref_die(&attribute, &type) == nullptr || dwarf_peel_type(&type, &type) != 0) return false;
  return dwarf_tag(&type) == DW_TAG_base_type || dwarf_tag(&type) == DW_TAG_enumeration_type;
}

}  // namespace

struct symbols::files {
  Dwfl* session = dwfl_begin(&callbacks);
  files() = default;
  files(const files&) = delete;
  files& operator=(const files&) = delete;
  ~files() { dwfl_end(session); }

  bool has_symbol(const std::function<bool(const std::string&)>& is_wanted) {
    return has_module([&](Dwfl_Module* module) {
      const std::vector<const char*>& names = table_of(module).names();
      return std::any_of(names.begin(), names.end(), [&](const char* name) { return is_wanted(demangle(name)); });
    });
  }

  bool has_source(const std::function<bool(const std::string&)>& is_wanted) {
    return has_module([&](Dwfl_Module* module) {
      Dwarf_Die* unit = nullptr;
      Dwarf_Addr bias = 0;
      while ((unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr) {
        Dwarf_Files* names = nullptr;
        std::size_t count = 0;
        if (dwarf_getsrcfiles(unit, &names, &count) != 0) continue;
        for (std::size_t index = 1; index < count; ++index) {
          const char* const name = dwarf_filesrc(names, index, nullptr, nullptr);
          if (name != nullptr && is_wanted(name)) return true;
        }
      }
      return false;
    });
  }

  // Returns the place of `address` itself, followed by the call of each function inlined there.
  std::vector<code_location> resolve(std::uint64_t address) {
    std::vector<code_location> locations;
    Dwfl_Module* const module = dwfl_addrmodule(session, address);
    if (module == nullptr) return locations;
    for (const dwarf_frame& frame : frames(module, address)) {
      code_location next;
      if (frame.file != nullptr) next.file = frame.file;
      next.line = frame.line;
      next.function =
          frame.function ? name_of(module, *frame.function, frame) : demangle(table_of(module).name_at(address));
      next.returns_no_block = frame.function && returns_no_block(*frame.function);
      locations.push_back(next);
    }
    return locations;
  }

 private:
  template <class Search>
  bool has_module(const Search& search) {
    struct state {
      const Search& search;
      bool is_found = false;
    } searched{search};
    dwfl_getmodules(
        session,
        [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* argument) {
          state& current = *static_cast<state*>(argument);
          current.is_found = current.search(module);
          return static_cast<int>(current.is_found ? DWARF_CB_ABORT : DWARF_CB_OK);
        },
        &searched, 0);
    return searched.is_found;
  }

  struct dwarf_frame {
    std::optional<Dwarf_Die> function;
    const char* file;  // null if it is not known
    int line;
  };

  // Returns the innermost function first; a single frame without a function if none is described there.
  std::vector<dwarf_frame> frames(Dwfl_Module* module, std::uint64_t address) {
    units& compiled = units_of(module);
    units::unit* const unit = compiled.find(address);
    std::vector<dwarf_frame> result;
    dwarf_frame next{{}, nullptr, 0};
    if (unit != nullptr) {
      if (Dwarf_Line* const line = dwarf_getsrc_die(&unit->lines, address - compiled.bias())) {
        next.file = dwarf_linesrc(line, nullptr, nullptr);
        dwarf_lineno(line, &next.line);
      }
      std::vector<Dwarf_Die> functions = scopes_of(unit->code).find(address - compiled.bias());
      for (Dwarf_Die* die = functions.data(); die != functions.data() + functions.size(); ++die) {
        if (!result.empty()) next = call_site(&unit->code, die - 1);
        next.function = *die;
        result.push_back(next);
      }
    }
    if (result.empty()) result.push_back(next);
    return result;
  }

  // Adds the line if all function objects would have the same name: "lambda at router.cpp:41". With -g1 compilers
  // describe no more of them. The line is that of the declaration, or for a lambda without one that of its start.
  std::string name_of(Dwfl_Module* module, Dwarf_Die function, const dwarf_frame& frame) {
    std::string name = function_of(&function);
    const bool is_lambda = name.starts_with("{lambda}");
    if (name != "operator()" && !is_lambda) return name;
    const char* file = dwarf_decl_file(&function);
    int line = 0;
    Dwarf_Addr start = 0;
    if ((file == nullptr || dwarf_decl_line(&function, &line) != 0) && dwarf_entrypc(&function, &start) == 0) {
      for (const dwarf_frame& candidate : frames(module, start + units_of(module).bias())) {
        if (!candidate.function || candidate.function->addr != function.addr) continue;
        file = candidate.file;
        line = candidate.line;
      }
    }
    if (file == nullptr || line == 0) {
      file = frame.file;
      line = frame.line;
    }
    if (file == nullptr) return name;
    Dwarf_Attribute attribute;
    const bool is_made_up = dwarf_attr_integrate(&function, DW_AT_artificial, &attribute) != nullptr;
    return std::string(is_lambda || is_made_up ? lambda_at : function_object_at) + file_name(file) + ':' +
           std::to_string(line);
  }

  units& units_of(Dwfl_Module* module) {
    auto& units_of_module = units_[module];
    if (units_of_module == nullptr) units_of_module = std::make_unique<units>(module);
    return *units_of_module;
  }
  symbol_table& table_of(Dwfl_Module* module) {
    auto& table = tables_[module];
    if (table == nullptr) table = std::make_unique<symbol_table>(module);
    return *table;
  }
  scopes& scopes_of(Dwarf_Die& unit) {
    auto& scopes_of_unit = scopes_[unit.addr];
    if (scopes_of_unit == nullptr) scopes_of_unit = std::make_unique<scopes>(unit);
    return *scopes_of_unit;
  }

  std::map<const Dwfl_Module*, std::unique_ptr<units>> units_;
  std::map<const Dwfl_Module*, std::unique_ptr<symbol_table>> tables_;
  std::map<const void*, std::unique_ptr<scopes>> scopes_;  // by the address of the unit's description

  static dwarf_frame call_site(Dwarf_Die* unit, Dwarf_Die* inlined) {
    dwarf_frame frame{{}, nullptr, 0};
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
      frame.line = static_cast<int>(value);
    Dwarf_Files* names = nullptr;
    std::size_t count = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(unit, &names, &count) == 0 && value < count) {
      frame.file = dwarf_filesrc(names, value, nullptr, nullptr);
    }
    return frame;
  }
};

symbols::symbols(const format::recording& recording, std::vector<std::string> deciding)
    : recording_(recording), deciding_(std::move(deciding)) {}
symbols::~symbols() = default;

symbols::files& symbols::files_of(std::uint32_t image) {
  auto& files_of_image = images_[image];
  if (files_of_image != nullptr) return *files_of_image;
  files_of_image = std::make_unique<files>();
  dwfl_report_begin(files_of_image->session);
  for (const format::module_facts& module : recording_.modules) {
    if (module.image != image || module.path.empty() || format::build_id_of(module.path) != module.build_id) continue;
    dwfl_report_elf(files_of_image->session, module.path.c_str(), format::file_of(module.path).c_str(), -1, module.bias,
                    false);
  }
  dwfl_report_end(files_of_image->session, nullptr, nullptr);
  return *files_of_image;
}

const std::vector<code_location>& symbols::resolve(std::uint32_t image, std::uint64_t frame) {
  auto& locations = resolved_[{image, frame}];
  if (!locations.empty()) return locations;
  const std::uint64_t address = frame - 1;  // an address inside the call
  if (format::is_python_address(address)) {
    if (!python_codes_ || python_codes_->size() != recording_.python_codes.size())
      python_codes_.emplace(recording_.python_codes);
    code_location& location = locations.emplace_back();
    location.module = python_module;
    if (const format::python_code_facts* const code = python_codes_->find(image, address)) {
      location.function = code->function;
      location.file = code->file;
      location.line = line_at(*code, address - code->start);
    }
    return locations;
  }
  const auto module =
      std::find_if(recording_.modules.begin(), recording_.modules.end(), [&](const format::module_facts& loaded) {
        return loaded.image == image && address >= loaded.start && address < loaded.end;
      });
  if (module != recording_.modules.end()) locations = files_of(image).resolve(address);
  if (locations.empty()) locations.emplace_back();
  if (module == recording_.modules.end()) {
    if (!jit_symbols_) jit_symbols_.emplace(recording_.program.process, recording_.program.started);
    if (const std::string* const name = jit_symbols_->name_at(format::without_generation(address))) {
      locations.front().function = demangle(name->c_str());
      locations.front().module = jit_module;
    }
    return locations;
  }
  for (code_location& location : locations) {
    location.module = module->path;
    location.offset = address - module->bias;
    location.is_interpreter = (module->own_functions & format::own_python) != 0;
    const std::string function = deciding_.empty() ? std::string() : without_arguments(location.function);
    if (std::any_of(deciding_.begin(), deciding_.end(),
                    [&](const std::string& name) { return is_called(function, name); }))
      location.returns_no_block = true;
  }
  return locations;
}

bool symbols::is_on_stack(const std::function<bool(const code_location&)>& is_wanted) {
  for (const format::site_facts& site : recording_.sites) {
    for (const std::uint64_t frame : site.frames) {
      const std::vector<code_location>& locations = resolve(site.image, frame);
      if (std::any_of(locations.begin(), locations.end(), is_wanted)) return true;
    }
  }
  return false;
}

bool symbols::has_function(const std::function<bool(const std::string&)>& is_wanted) {
  if (is_on_stack([&](const code_location& location) { return is_wanted(location.function); })) return true;
  for (std::uint32_t image = 0; image <= recording_.images; ++image) {
    if (files_of(image).has_symbol(is_wanted)) return true;
  }
  return false;
}

bool symbols::has_file(const std::function<bool(const std::string&)>& is_wanted) {
  if (is_on_stack([&](const code_location& location) { return is_wanted(location.file); })) return true;
  for (std::uint32_t image = 0; image <= recording_.images; ++image) {
    if (files_of(image).has_source(is_wanted)) return true;
  }
  return false;
}

}  // namespace tarn::analyse
