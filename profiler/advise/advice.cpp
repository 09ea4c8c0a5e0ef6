#include "profiler/advise/advice.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>

#include "profiler/base/quantity_text.hpp"
#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/findings/waits/stacks.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

constexpr double min_shown_bytes = 0x1p18;  // less is no cost

// The standard library's own names of its containers.
struct container {
  std::string_view prefix;
  allocated_kind kind;
  const char* display_name;
};
constexpr std::array containers = {
    container{"std::__cxx11::basic_string<", allocated_kind::text, "std::basic_string"},
    container{"std::basic_string<", allocated_kind::text, "std::basic_string"},
    container{"std::vector<", allocated_kind::vector, "std::vector"},
    container{"std::_Vector_base<", allocated_kind::vector, "std::vector"},
    container{"std::deque<", allocated_kind::deque, "std::deque"},
    container{"std::_Deque_base<", allocated_kind::deque, "std::deque"},
    container{"std::__cxx11::list<", allocated_kind::list, "std::list"},
    container{"std::__cxx11::_List_base<", allocated_kind::list, "std::list"},
    container{"std::_Rb_tree<", allocated_kind::tree, "std::map or std::set"},
    container{"std::map<", allocated_kind::tree, "std::map or std::set"},
    container{"std::set<", allocated_kind::tree, "std::map or std::set"},
    container{"std::_Hashtable<", allocated_kind::table, "std::unordered_map or set"},
    container{"std::make_shared<", allocated_kind::shared_object, "std::make_shared"},
    container{"std::allocate_shared<", allocated_kind::shared_object, "std::make_shared"},
    container{"std::make_unique<", allocated_kind::unique_object, "std::make_unique"},
};
// The element types of std::allocator, for containers whose own functions are inlined and leave no frame.
constexpr std::array nodes = {
    container{"std::_Sp_counted_ptr_inplace<", allocated_kind::shared_object, "std::make_shared"},
    container{"std::_Rb_tree_node<", allocated_kind::tree, "std::map or std::set"},
    container{"std::__detail::_Hash_node<", allocated_kind::table, "std::unordered_map or set"},
    container{"std::_List_node<", allocated_kind::list, "std::list"},
};

std::string shortened_type(std::string_view type) {
  std::string text(type);
  const auto replace = [&](std::string_view long_form, std::string_view short_form) {
    for (std::size_t index = 0; (index = text.find(long_form, index)) != std::string::npos;
         index += short_form.size()) {
      text.replace(index, long_form.size(), short_form);
    }
  };
  replace("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string");
  replace("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string");
  replace("std::__cxx11::", "std::");
  replace("(anonymous namespace)::", "");
  return text;
}

void set_type(allocation_info& allocation, const container& container, std::string_view argument) {
  allocation.kind = container.kind;
  allocation.element = shortened_type(argument);
  switch (container.kind) {
    case allocated_kind::text:
      allocation.type = argument == "char" ? "std::string" : "std::basic_string<" + allocation.element + ">";
      break;
    case allocated_kind::vector:
    case allocated_kind::deque:
    case allocated_kind::list:
      if (!allocation.element.empty())
        allocation.type = std::string(container.display_name) + "<" + allocation.element + ">";
      break;
    case allocated_kind::shared_object:
    case allocated_kind::unique_object: allocation.type = allocation.element; break;
    default: break;
  }
}

// Reads the facts about the allocation from the name of one function. Returns false if it has none.
bool read_name(allocation_info& allocation, std::string_view function) {
  const std::string_view name = qualified_name(function);
  for (const container& container : containers) {
    if (!name.starts_with(container.prefix)) continue;
    set_type(allocation, container, argument_of(name, container.prefix));
    const std::string_view copied_from = name.substr(std::min(name.size(), name.rfind('(')));
    allocation.was_copied = copied_from.find(std::string(container.display_name).substr(5)) != std::string_view::npos &&
                            copied_from.find("const&") != std::string_view::npos;
    return true;
  }
  for (const std::string_view prefix : {"std::__new_allocator<", "__gnu_cxx::new_allocator<", "std::allocator<"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view type = argument_of(name, prefix);
    for (const container& container : nodes) {
      if (!type.starts_with(container.prefix)) continue;
      set_type(allocation, container, argument_of(type, container.prefix));
      return true;
    }
    if (allocation.element.empty()) allocation.element = shortened_type(type);
  }
  return false;
}

// Returns whether a function is of a container whose elements have the container that allocates, such as a vector of
// texts.
bool holds_container_of(std::string_view function, const allocation_info& allocation) {
  allocation_info outer, element;
  return read_name(outer, function) &&
         (outer.kind != allocation.kind || (read_name(element, outer.element) && element.type == allocation.type));
}

// Returns whether both are one member function of a class template, perhaps with other template arguments.
bool is_same_member(std::string_view function, std::string_view other_function) {
  const auto class_of = [](std::string_view name) { return name.substr(0, name.find('<')); };
  const auto member_of = [](std::string_view name) { return name.substr(std::min(name.size(), name.rfind(">::"))); };
  const std::string_view name = qualified_name(function), other_name = qualified_name(other_function);
  return !member_of(name).empty() && class_of(name) == class_of(other_name) && member_of(name) == member_of(other_name);
}

std::size_t size_of(std::string_view type) {
  struct sized_type {
    std::string_view name;
    std::size_t bytes;
  };
  constexpr std::array types = {
      sized_type{"char", 1},   sized_type{"unsigned char", 1}, sized_type{"short", 2}, sized_type{"int", 4},
      sized_type{"float", 4},  sized_type{"unsigned int", 4},  sized_type{"long", 8},  sized_type{"unsigned long", 8},
      sized_type{"double", 8}, sized_type{"std::string", 32}};
  if (type.ends_with('*')) return sizeof(void*);
  const auto* const match =
      std::find_if(types.begin(), types.end(), [&](const sized_type& candidate) { return candidate.name == type; });
  return match == types.end() ? 0 : match->bytes;
}

// Returns whether a function of the library makes a new text out of two: operator+.
bool concatenates_text(std::string_view function) {
  return function.find("operator+<") != std::string_view::npos ||
         function.find("operator+(") != std::string_view::npos ||
         function.find("__str_concat<") != std::string_view::npos;
}

// Returns whether a function of the library makes a text out of several: operator+, operator+= or append().
bool builds_up_text(std::string_view function) {
  return concatenates_text(function) || function.find("operator+=") != std::string_view::npos ||
         function.find("append(") != std::string_view::npos;
}

std::string trim(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// Returns whether a function of the runtime allocates an exception or its message.
bool makes_exception(std::string_view name) {
  constexpr auto prefixes =
      std::to_array<std::string_view>({"__cxa_allocate_exception", "std::logic_error::", "std::runtime_error::"});
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Returns whether the line with this index begins or ends the body of a coroutine. A compiler names one of both as the
// place where the frame is allocated.
bool is_bound_of_coroutine(const std::vector<std::string>& lines, std::size_t index) {
  const auto suspends = [](const std::string& line) {
    constexpr auto keywords = std::to_array<std::string_view>({"co_await", "co_yield", "co_return"});
    return std::any_of(keywords.begin(), keywords.end(),
                       [&](std::string_view keyword) { return line.find(keyword) != std::string::npos; });
  };
  const auto depth_of = [](const std::string& line) {
    return std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}');
  };
  const auto is_control = [&](std::size_t line) {
    constexpr auto keywords =
        std::to_array<std::string_view>({"for", "while", "if", "else", "do", "switch", "try", "catch", "}"});
    if (line > 0 && trim(lines[line]) == "{") --line;
    const std::string text = trim(lines[line]);
    const std::string_view first = std::string_view(text).substr(0, text.find_first_of(" (;{"));
    return std::find(keywords.begin(), keywords.end(), first) != keywords.end();
  };
  std::ptrdiff_t depth = 0;
  bool has_suspended = false;
  if (trim(lines[index]) == "}") {
    for (std::size_t line = index + 1; line-- > 0;) {
      depth -= depth_of(lines[line]);
      has_suspended = has_suspended || suspends(lines[line]);
      if (depth <= 0) return has_suspended && !is_control(line);
    }
    return false;
  }
  if (is_control(index)) return false;
  bool has_begun = false;
  for (std::size_t line = index; line < lines.size(); ++line) {
    has_begun = has_begun || lines[line].find('{') != std::string::npos;
    if (!has_begun && lines[line].find(';') != std::string::npos) return false;
    depth += depth_of(lines[line]);
    if (suspends(lines[line])) return has_begun;
    if (has_begun && depth <= 0) return false;
  }
  return false;
}

// Returns the type of the first `new T` or `make_unique<T>` in a line of source.
std::string type_in(const std::string& source) {
  const auto is_part = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == ':';
  };
  for (const std::string_view word : {"make_unique<", "make_shared<", "new "}) {
    std::size_t start = source.find(word);
    if (start == std::string::npos || (start != 0 && is_part(source[start - 1]) && source[start - 1] != ':')) continue;
    start += word.size();
    std::size_t end = start;
    while (end < source.size() && is_part(source[end])) ++end;
    if (end != start && source.compare(end, 1, "<") != 0) return source.substr(start, end - start);
  }
  return {};
}

std::string or_T(const std::string& type) { return type.empty() ? "T" : type; }

// Returns the container that a line of source appends to, such as `v` or `page.rows`; empty if the line does not tell.
std::string container_in(const allocation_info& allocation) {
  const std::string& source = allocation.source;
  constexpr auto calls = std::to_array<std::string_view>(
      {".push_back(", ".emplace_back(", ".append(", ".insert(", ".resize(", ".push_front(", " += "});
  for (const std::string_view call : calls) {
    const std::size_t end = source.find(call);
    if (end == std::string::npos || (call == " += " && allocation.kind != allocated_kind::text)) continue;
    std::size_t start = end;
    const auto is_name = [](char letter) {
      return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
    };
    while (start > 0 && (is_name(source[start - 1]) || source[start - 1] == '.')) --start;
    // A name that follows `->` or `]` is a part of a longer expression.
    const bool is_whole = start == 0 || std::string_view(" \t();{").find(source[start - 1]) != std::string_view::npos;
    if (start != end && is_whole && source[start] != '.' &&
        std::isdigit(static_cast<unsigned char>(source[start])) == 0)
      return source.substr(start, end - start);
  }
  return {};
}

std::string reserved_count(const allocation_info& allocation, const growth& grown) {
  if (allocation.element_bytes != 0) return std::to_string(grown.bytes / allocation.element_bytes);
  return std::to_string(grown.bytes) + " / sizeof(" + or_T(allocation.element) + ")";
}

// Returns the line to write before the container grows.
std::string reserve_text(const allocation_info& allocation, const growth& grown) {
  std::string container = container_in(allocation);
  if (container.empty()) container = allocation.kind == allocated_kind::text ? "text" : "container";
  container += ".";
  if (grown.bytes == 0) return container + "reserve(count);";
  return "if (" + container + "empty()) " + container + "reserve(" + reserved_count(allocation, grown) + ");";
}

std::string growth_text(const growth& grown, bool is_estimate) {
  if (!is_estimate && grown.is_counted) {
    return command::group_digits(grown.buffers) + (grown.buffers == 1 ? " buffer" : " buffers") + " grew in " +
           command::group_digits(grown.steps) + (grown.steps == 1 ? " step" : " steps");
  }
  return "about " + command::rough_count(grown.buffers) + " buffers grew in " + command::rough_count(grown.steps) +
         " steps";
}

bool is_container(allocated_kind kind) {
  return kind == allocated_kind::text || kind == allocated_kind::vector || kind == allocated_kind::deque ||
         kind == allocated_kind::list || kind == allocated_kind::tree || kind == allocated_kind::table;
}

advice advise_reserve(const allocation_info& allocation, const site& site, const growth& grown) {
  const std::string text = "reserve: " + growth_text(grown, site.error != 0);
  const bool is_of_container = is_container(allocation.kind);
  if (grown.bytes == 0)
    return {text + "; no fixed size pays, as most stay small",
            is_of_container ? reserve_text(allocation, grown) : "allocate the final size at once",
            "only where the code knows the final size before"};
  return {text + "; " + reserved_size_text(grown, site),
          is_of_container ? reserve_text(allocation, grown)
                          : "allocate " + command::group_digits(grown.bytes) + " bytes at once",
          is_of_container ? "keep this `if` before push_back: calls that add no element then still allocate nothing"
                          : "each buffer takes this size, also where less would do"};
}

advice advise_hoist(const allocation_info& allocation) {
  if (allocation.kind == allocated_kind::exception_object) {
    return {"return the error, as std::expected or a code, where it is too frequent to throw", "",
            "a throw also unwinds the stack, which costs more than its memory"};
  }
  if (allocation.was_copied) {
    return {"if the copy is not changed, do not make it: take it by reference, or as a view",
            allocation.kind == allocated_kind::text ? "std::string_view" : "const " + or_T(allocation.type) + "&",
            "no recording shows whether the copy is changed; the original must outlive the view"};
  }
  // Without the stacks of frees it is not known whether the function returns the block.
  const char* const note =
      allocation.escape == escape_verdict::unknown ? "only if the function does not return or keep it" : "";
  if (allocation.is_concatenated) {
    return {"append the parts to one string that is kept between uses, instead of adding strings",
            "kept.clear();  kept.reserve(length);  kept.append(first).append(second);", note};
  }
  if (is_container(allocation.kind)) {
    return {"move it out of the loop (hoist): clear() keeps its memory",
            allocation.type.empty() ? "" : allocation.type + " kept;  /* in the loop: */ kept.clear();", note};
  }
  return {"move it out of the loop (hoist), or make it a local variable",
          allocation.type.empty() ? "" : allocation.type + " reused;", note};
}

advice advise_pooled(const allocation_info& allocation, bool is_shared) {
  const std::string note = is_shared ? "blocks that another thread frees are still sent back to their owner" : "";
  switch (allocation.kind) {
    case allocated_kind::text:
      return {"take its memory from the thread's own heap",
              "std::basic_string<char, std::char_traits<char>, tarn::allocator<char>>",
              "this is another type than std::string: pass it as std::string_view"};
    case allocated_kind::vector:
    case allocated_kind::deque:
    case allocated_kind::list:
      return {"take its memory from the thread's own heap",
              allocation.type.empty() ? "tarn::allocator<T>"
                                      : allocation.type.substr(0, allocation.type.size() - 1) + ", tarn::allocator<" +
                                            allocation.element + ">>",
              note};
    case allocated_kind::tree:
    case allocated_kind::table:
      return {
          "take its nodes from the thread's own heap",
          "tarn::allocator<" + (allocation.element.empty() ? "value_type" : allocation.element) + "> as its allocator",
          note};
    case allocated_kind::shared_object:
      return {
          "make it on the thread's own heap",
          "std::allocate_shared<" + or_T(allocation.type) + ">(tarn::allocator<" + or_T(allocation.type) + ">(), ...)",
          note};
    case allocated_kind::c_block: return {"take it from the thread's own heap", "tarn_malloc, tarn_free", note};
    case allocated_kind::coroutine_frame:
      return {"take the coroutine's frames from the thread's own heap",
              "struct promise_type : tarn::pooled<promise_type> { ... };", note};
    case allocated_kind::unknown:
      if (allocation.type.empty())
        return {"take it from the thread's own heap", "tarn_malloc, tarn_free; for a C++ type: tarn::pooled<T>", note};
      [[fallthrough]];
    default:
      return {"allocate this type from the thread's own heap",
              "struct " + or_T(allocation.type) + " : tarn::pooled<" + or_T(allocation.type) + "> { ... };", note};
  }
}

// Returns true if there is no T to write: the function may be C, or the type is not known.
bool has_no_type(const allocation_info& allocation) {
  return allocation.kind == allocated_kind::c_block ||
         (allocation.kind == allocated_kind::unknown && allocation.type.empty());
}

advice advise_recycle(const allocation_info& allocation) {
  if (has_no_type(allocation)) {
    return {"keep one block for each thread, and use it again", "", "it still has its old content"};
  }
  if (is_container(allocation.kind)) {
    return {"reuse an object that keeps its memory", "auto kept = tarn::recycle<" + or_T(allocation.type) + ">();",
            "it comes back empty, and stays with the thread that ends its scope"};
  }
  return {"reuse an object", "auto reused = tarn::recycle<" + or_T(allocation.type) + ">();",
          "the type needs clear(), or a specialisation of tarn::recycling<" + or_T(allocation.type) + ">"};
}

}  // namespace

std::string reserved_size_text(const growth& grown, const site& site) {
  // A share is not rounded up to all of them.
  const auto percent = static_cast<std::uint64_t>(std::floor(grown.fitting_share * 100));
  std::string text =
      command::group_digits(grown.bytes) + " bytes are enough for " + std::to_string(percent) + " % of them";
  const double spare_bytes = grown.spare_bytes * as_double(site.peak_blocks);
  if (spare_bytes >= min_shown_bytes)
    text += ", and take about " + command::in_decimals(spare_bytes / 0x1p20, 1) + " MiB more at the peak";
  return text;
}

allocation_info allocation_at(const std::vector<code_location>& frames, std::size_t skipped) {
  allocation_info allocation;
  bool names_type = false, is_built_up = false, is_of_element = false, is_exception = false;
  std::size_t own_frame = 0, named_frame = 0;
  for (; own_frame < frames.size(); ++own_frame) {
    const code_location& location = frames[own_frame];
    const std::string_view name = qualified_name(location.function);
    if (own_frame >= skipped && !is_wrapper(location)) break;
    // The compiler may have folded functions of equal code into one, which then has the types of another container.
    // The outer of the two frames is the caller's.
    const bool is_folded =
        names_type && own_frame == named_frame + 1 && is_same_member(frames[named_frame].function, location.function);
    if ((!names_type || is_folded) && read_name(allocation, location.function)) {
      names_type = true;
      named_frame = own_frame;
    }
    allocation.is_own_push_back = allocation.is_own_push_back || (name.starts_with("std::__cxx11::basic_string<") &&
                                                                  name.find("::push_back(") != std::string_view::npos);
    // A copying constructor's frame is above the frame that allocates.
    if (allocation.kind == allocated_kind::text)
      allocation.was_copied |= name.find("_M_construct<char") != std::string_view::npos;
    is_of_element = is_of_element || (names_type && holds_container_of(name, allocation));
    allocation.has_grown = allocation.has_grown || (!is_of_element && grows_container(name));
    is_built_up = is_built_up || builds_up_text(location.function);
    is_exception = is_exception || makes_exception(name);
    allocation.is_concatenated =
        allocation.is_concatenated || (allocation.kind == allocated_kind::text && concatenates_text(location.function));
  }
  // Such as the copy that `path + "/total"` begins with: nothing has the whole text that a view could show.
  allocation.was_copied = allocation.was_copied && !is_built_up;
  allocation.element_bytes = allocation.kind == allocated_kind::text ? 1 : size_of(allocation.element);
  // If all frames are the library's, the innermost is as good as any.
  allocation.frame = own_frame < frames.size() ? own_frame : 0;
  if (!frames.empty()) {
    const code_location& location = frames[allocation.frame];
    allocation.is_of_another_language = is_of_another_language(location);
    allocation.is_foreign = allocation.is_of_another_language || is_installed_library(location.module);
  }
  if (!names_type && own_frame < frames.size() && !frames[own_frame].function.empty() &&
      frames[own_frame].function.find('(') == std::string::npos) {
    allocation.kind = allocated_kind::c_block;
  }
  if (is_exception) {
    allocation_info exception;
    exception.kind = allocated_kind::exception_object;
    exception.frame = allocation.frame;
    exception.is_foreign = allocation.is_foreign;
    exception.is_of_another_language = allocation.is_of_another_language;
    return exception;
  }
  return allocation;
}

void read_source(allocation_info& allocation, const std::vector<code_location>& frames, std::uint64_t recorded) {
  if (allocation.frame >= frames.size() || frames[allocation.frame].line <= 0) return;
  const code_location& location = frames[allocation.frame];
  struct stat facts {};
  if (::stat(location.file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  // The text may differ from the compiled one.
  const auto changed = static_cast<std::uint64_t>(facts.st_mtime);
  struct stat program {};
  const bool has_program = ::stat(location.module.c_str(), &program) == 0 && S_ISREG(program.st_mode);
  allocation.is_source_newer =
      changed > recorded || (has_program && changed > static_cast<std::uint64_t>(program.st_mtime));
  if (allocation.is_source_newer) return;
  constexpr std::size_t max_body_lines = 1000;
  const auto index = static_cast<std::size_t>(location.line - 1);
  std::ifstream file(location.file);
  std::vector<std::string> lines;
  for (std::string text; lines.size() <= index + max_body_lines && std::getline(file, text);) lines.push_back(text);
  if (index >= lines.size()) return;
  allocation.source = trim(lines[index]);
  if (allocation.kind != allocated_kind::unknown) return;
  allocation.type = type_in(allocation.source);
  if (!allocation.type.empty()) {
    allocation.kind = allocated_kind::object;
  } else if (allocation.element.empty() && is_bound_of_coroutine(lines, index)) {
    allocation.kind = allocated_kind::coroutine_frame;
  }
  if (allocation.source.find("alloc(") != std::string::npos) allocation.kind = allocated_kind::c_block;
}

std::string container_key(const allocation_info& allocation, const std::vector<code_location>& frames) {
  if (!is_container(allocation.kind) || allocation.type.empty() || allocation.frame >= frames.size()) return {};
  const code_location& function = frames[allocation.frame];
  if (function.function.empty()) return {};
  return function.module + '\n' + function.function + '\n' + function.file + '\n' + allocation.type;
}

bool is_taken_over(const allocation_info& allocation) {
  if (allocation.kind != allocated_kind::text) return false;
  if (allocation.source.find("emplace_back(") != std::string::npos) return true;
  return !allocation.is_own_push_back && allocation.source.find("push_back(") != std::string::npos;
}

bool is_applicable(remedy_kind remedy, const allocation_info& allocation) {
  if (remedy == remedy_kind::drop_in) return true;
  if (allocation.kind == allocated_kind::exception_object) return remedy == remedy_kind::hoist;
  if (allocation.kind == allocated_kind::coroutine_frame) return remedy == remedy_kind::pooled;
  // A pool has objects; the buffers of a container come from its allocator.
  if (remedy == remedy_kind::shared_pool && is_container(allocation.kind)) return false;
  // A container keeps the text's memory, so that the next one would have to allocate all the same, and to copy.
  if (is_taken_over(allocation) && (remedy == remedy_kind::hoist || remedy == remedy_kind::recycle)) return false;
  if (allocation.escape != escape_verdict::escapes) return true;
  // A copy may be avoided wherever it goes.
  if (remedy == remedy_kind::hoist) return allocation.was_copied;
  return remedy != remedy_kind::recycle;
}

bool saves_unmodelled_work(remedy_kind remedy, const allocation_info& allocation) {
  switch (remedy) {
    case remedy_kind::recycle: return true;
    case remedy_kind::hoist:
      return is_container(allocation.kind) || allocation.kind == allocated_kind::exception_object;
    // Repeating the excerpts moves plain bytes; elements of a class are moved by its own code.
    case remedy_kind::reserve:
      return is_container(allocation.kind) && allocation.kind != allocated_kind::text &&
             (allocation.element_bytes == 0 || allocation.element == "std::string");
    default: return false;
  }
}

advice advise(remedy_kind remedy, const allocation_info& allocation, const site& site, const growth& grown) {
  switch (remedy) {
    case remedy_kind::reserve: return advise_reserve(allocation, site, grown);
    case remedy_kind::hoist: return advise_hoist(allocation);
    case remedy_kind::recycle: return advise_recycle(allocation);
    case remedy_kind::pooled: return advise_pooled(allocation, site.category == heap_category::cross_thread);
    case remedy_kind::arena:
      return {"allocate it in an arena that ends with the work",
              allocation.kind == allocated_kind::text ? "tarn::arena request;  tarn::arena_string text(request);"
                                                      : "tarn::arena request;",
              "nothing of it may be used after the arena's reset"};
    case remedy_kind::shared_pool:
      return {"hand over objects of a pool", "tarn::shared_pool<" + or_T(allocation.type) + "> pool;  pool.create(...)",
              "the last user frees it, by pool.destroy, not by delete"};
    case remedy_kind::drop_in:
      return {allocation.is_of_another_language
                  ? "the code is not in C or C++: run the program on Tarn's heaps, unchanged"
              : allocation.is_foreign ? "the code is an installed library's: run the program on Tarn's heaps, unchanged"
                                      : "run it on Tarn's heaps, unchanged",
              "tarn run -- PROGRAM", ""};
  }
  return {};
}

}  // namespace tarn::analyse
