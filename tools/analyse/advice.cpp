#include "analyse/advice.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "analyse/names.hpp"
#include "analyse/stacks.hpp"
#include "analyse/wrappers.hpp"

namespace tarn::analyse {
namespace {

// The standard library's own names of its containers.
struct container {
  std::string_view prefix;
  thing what;
  const char* shown;
};
constexpr std::array containers = {
    container{"std::__cxx11::basic_string<", thing::text, "std::basic_string"},
    container{"std::basic_string<", thing::text, "std::basic_string"},
    container{"std::vector<", thing::vector, "std::vector"},
    container{"std::_Vector_base<", thing::vector, "std::vector"},
    container{"std::deque<", thing::deque, "std::deque"},
    container{"std::_Deque_base<", thing::deque, "std::deque"},
    container{"std::__cxx11::list<", thing::list, "std::list"},
    container{"std::__cxx11::_List_base<", thing::list, "std::list"},
    container{"std::_Rb_tree<", thing::tree, "std::map or std::set"},
    container{"std::map<", thing::tree, "std::map or std::set"},
    container{"std::set<", thing::tree, "std::map or std::set"},
    container{"std::_Hashtable<", thing::table, "std::unordered_map or set"},
    container{"std::make_shared<", thing::shared_object, "std::make_shared"},
    container{"std::allocate_shared<", thing::shared_object, "std::make_shared"},
    container{"std::make_unique<", thing::unique_object, "std::make_unique"},
};
// Types that std::allocator is asked for, if the container's own functions are inlined and leave no frame.
constexpr std::array nodes = {
    container{"std::_Sp_counted_ptr_inplace<", thing::shared_object, "std::make_shared"},
    container{"std::_Rb_tree_node<", thing::tree, "std::map or std::set"},
    container{"std::__detail::_Hash_node<", thing::table, "std::unordered_map or set"},
    container{"std::_List_node<", thing::list, "std::list"},
};
constexpr std::array growing = {"_M_realloc_insert", "_M_realloc_append", "_M_default_append", "_M_range_insert",
                                "_M_fill_insert",    "_M_mutate",         "_M_reallocate_map"};

std::string shortened_type(std::string_view type) {
  std::string made(type);
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = made.find(from, at)) != std::string::npos; at += to.size()) {
      made.replace(at, from.size(), to);
    }
  };
  replace("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string");
  replace("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string");
  replace("std::__cxx11::", "std::");
  replace("(anonymous namespace)::", "");
  return made;
}

void set_type(made_here& made, const container& as, std::string_view argument) {
  made.what = as.what;
  made.element = shortened_type(argument);
  switch (as.what) {
    case thing::text: made.type = argument == "char" ? "std::string" : "std::basic_string<" + made.element + ">"; break;
    case thing::vector:
    case thing::deque:
    case thing::list:
      if (!made.element.empty()) made.type = std::string(as.shown) + "<" + made.element + ">";
      break;
    case thing::shared_object:
    case thing::unique_object: made.type = made.element; break;
    default: break;
  }
}

// Reads what the name of one function tells about the allocation; returns whether it told anything.
bool read_name(made_here& made, std::string_view function) {
  const std::string_view name = qualified(function);
  for (const container& each : containers) {
    if (!name.starts_with(each.prefix)) continue;
    set_type(made, each, argument_of(name, each.prefix));
    const std::string_view copied_from = name.substr(std::min(name.size(), name.rfind('(')));
    made.copies = copied_from.find(std::string(each.shown).substr(5)) != std::string_view::npos &&
                  copied_from.find("const&") != std::string_view::npos;
    return true;
  }
  for (const std::string_view prefix : {"std::__new_allocator<", "__gnu_cxx::new_allocator<", "std::allocator<"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view what = argument_of(name, prefix);
    for (const container& each : nodes) {
      if (!what.starts_with(each.prefix)) continue;
      set_type(made, each, argument_of(what, each.prefix));
      return true;
    }
    if (made.element.empty()) made.element = shortened_type(what);
  }
  return false;
}

std::size_t size_of(std::string_view type) {
  struct known {
    std::string_view name;
    std::size_t bytes;
  };
  constexpr std::array all = {known{"char", 1},        known{"unsigned char", 1}, known{"short", 2},
                              known{"int", 4},         known{"float", 4},         known{"unsigned int", 4},
                              known{"long", 8},        known{"unsigned long", 8}, known{"double", 8},
                              known{"std::string", 32}};
  if (type.ends_with('*')) return sizeof(void*);
  const auto* const found = std::find_if(all.begin(), all.end(), [&](const known& each) { return each.name == type; });
  return found == all.end() ? 0 : found->bytes;
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// Returns the type of the first `new T` or `make_unique<T>` in a line of source.
std::string type_in(const std::string& source) {
  const auto is_part = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == ':';
  };
  for (const std::string_view word : {"make_unique<", "make_shared<", "new "}) {
    std::size_t at = source.find(word);
    if (at == std::string::npos || (at != 0 && is_part(source[at - 1]) && source[at - 1] != ':')) continue;
    at += word.size();
    std::size_t end = at;
    while (end < source.size() && is_part(source[end])) ++end;
    if (end != at && source.compare(end, 1, "<") != 0) return source.substr(at, end - at);
  }
  return {};
}

std::string or_T(const std::string& type) { return type.empty() ? "T" : type; }

std::string reserved(const made_here& made, const growth& grown) {
  const std::size_t each = made.what == thing::text ? 1 : size_of(made.element);
  if (each != 0) return std::to_string(grown.bytes / each);
  return std::to_string(grown.bytes) + " / sizeof(" + or_T(made.element) + ")";
}

bool is_container(thing what) {
  return what == thing::text || what == thing::vector || what == thing::deque || what == thing::list ||
         what == thing::tree || what == thing::table;
}

advice advise_hoist(const made_here& made) {
  if (made.copies) {
    return {"do not copy it: take it by reference, or as a view",
            made.what == thing::text ? "std::string_view" : "const " + or_T(made.type) + "&",
            "what is viewed must live as long as the view"};
  }
  if (is_container(made.what)) {
    return {"hoist it out of the loop: clear() keeps its memory",
            made.type.empty() ? "" : made.type + " kept;  /* in the loop: */ kept.clear();", ""};
  }
  return {"hoist it out of the loop, or make it a local variable", made.type.empty() ? "" : made.type + " one;", ""};
}

advice advise_pooled(const made_here& made, bool shared) {
  const std::string risk = shared ? "the blocks still travel: each free by another thread is sent to the owner" : "";
  switch (made.what) {
    case thing::text:
      return {"take its memory from the thread's own heap",
              "std::basic_string<char, std::char_traits<char>, tarn::allocator<char>>",
              "another type than std::string: convert by std::string_view"};
    case thing::vector:
    case thing::deque:
    case thing::list:
      return {"take its memory from the thread's own heap",
              made.type.empty()
                  ? "tarn::allocator<T>"
                  : made.type.substr(0, made.type.size() - 1) + ", tarn::allocator<" + made.element + ">>",
              risk};
    case thing::tree:
    case thing::table:
      return {"take its nodes from the thread's own heap",
              "tarn::allocator<" + (made.element.empty() ? "value_type" : made.element) + "> as its allocator", risk};
    case thing::shared_object:
      return {"make it on the thread's own heap",
              "std::allocate_shared<" + or_T(made.type) + ">(tarn::allocator<" + or_T(made.type) + ">(), ...)", risk};
    case thing::c_block: return {"take it from the thread's own heap", "tarn_malloc, tarn_free", risk};
    case thing::unknown:
      if (made.type.empty())
        return {"take it from the thread's own heap", "tarn_malloc, tarn_free; a type of C++: tarn::pooled<T>", risk};
      [[fallthrough]];
    default:
      return {"give the type the thread's own heap",
              "struct " + or_T(made.type) + " : tarn::pooled<" + or_T(made.type) + "> { ... };", risk};
  }
}

// Returns true if there is no T to write: the function may be C, or the type is not known.
bool is_a_block(const made_here& made) {
  return made.what == thing::c_block || (made.what == thing::unknown && made.type.empty());
}

advice advise_recycle(const made_here& made) {
  if (is_a_block(made)) {
    return {"keep the block of the last time, one for each thread, and use it again", "", "it holds what it held"};
  }
  if (is_container(made.what)) {
    return {"use a warm one again, its memory kept", "auto kept = tarn::recycle<" + or_T(made.type) + ">();",
            "it comes back empty, and to the thread that ends it"};
  }
  return {"use a warm one again", "auto one = tarn::recycle<" + or_T(made.type) + ">();",
          "needs a clear(), or a tarn::recycling<" + or_T(made.type) + ">"};
}

}  // namespace

made_here made_at(const std::vector<place>& frames, std::size_t passed) {
  made_here made;
  bool told = false;
  std::size_t own = 0;
  for (; own < frames.size(); ++own) {
    const place& at = frames[own];
    const std::string_view name = qualified(at.function);
    if (own >= passed && !passes_on(at)) break;
    told = told || read_name(made, at.function);
    // A copying constructor's frame is above the frame that allocates.
    if (made.what == thing::text) made.copies |= name.find("_M_construct<char") != std::string_view::npos;
    for (const char* const each : growing) made.grows = made.grows || name.find(each) != std::string_view::npos;
  }
  // If all frames are the library's, the innermost is as good as any.
  made.place = own < frames.size() ? own : 0;
  if (!frames.empty()) {
    const place& at = frames[made.place];
    made.is_of_another_language = is_of_another_language(at);
    made.is_foreign = made.is_of_another_language || is_installed_library(at.module);
  }
  if (!told && own < frames.size() && !frames[own].function.empty() &&
      frames[own].function.find('(') == std::string::npos) {
    made.what = thing::c_block;
  }
  return made;
}

void read_source(made_here& made, const std::vector<place>& frames, std::uint64_t recorded) {
  if (made.place >= frames.size() || frames[made.place].line <= 0) return;
  const place& at = frames[made.place];
  struct stat facts {};
  if (::stat(at.file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  if (static_cast<std::uint64_t>(facts.st_mtime) > recorded) return;  // the text may differ from the compiled one
  std::ifstream file(at.file);
  std::string line;
  for (int number = 0; number < at.line; ++number) {
    if (!std::getline(file, line)) return;
  }
  made.source = trimmed(line);
  if (made.what != thing::unknown) return;
  made.type = type_in(made.source);
  if (!made.type.empty()) made.what = thing::object;
  if (made.source.find("alloc(") != std::string::npos) made.what = thing::c_block;
}

bool spares_more(remedy by, const made_here& made) {
  switch (by) {
    case remedy::recycle: return true;
    case remedy::hoist: return is_container(made.what);
    // Repeating the excerpts moves plain bytes; elements of a class are moved by its own code.
    case remedy::reserve:
      return is_container(made.what) && made.what != thing::text &&
             (size_of(made.element) == 0 || made.element == "std::string");
    default: return false;
  }
}

advice advise(remedy by, const made_here& made, const site& of, const growth& grown) {
  switch (by) {
    case remedy::reserve:
      return {"reserve: " + std::to_string(grown.buffers) + " buffers grew in " + std::to_string(grown.steps) +
                  " steps, 9 of 10 to at most " + std::to_string(grown.bytes) + " bytes",
              is_container(made.what) ? "kept.reserve(" + reserved(made, grown) + ");"
                                      : "allocate " + std::to_string(grown.bytes) + " bytes at once",
              "takes that much for each, also where less would do"};
    case remedy::hoist: return advise_hoist(made);
    case remedy::recycle: return advise_recycle(made);
    case remedy::pooled: return advise_pooled(made, of.is == category::shared);
    case remedy::arena:
      return {"allocate it in an arena that ends with the work",
              made.what == thing::text ? "tarn::arena_string text(request);" : "tarn::arena request;",
              "nothing of it may be used after the arena's reset"};
    case remedy::shared:
      return {"hand over objects of a pool", "tarn::shared_pool<" + or_T(made.type) + "> pool;  pool.create(...)",
              "who takes it last frees it, by pool.destroy, not by delete"};
    case remedy::drop_in:
      return {made.is_of_another_language ? "the code is not in C or C++: run the program on Tarn's heaps, unchanged"
              : made.is_foreign ? "the code is an installed library's: run the program on Tarn's heaps, unchanged"
                                : "run it on Tarn's heaps, unchanged",
              "tarn run -- PROGRAM", ""};
  }
  return {};
}

}  // namespace tarn::analyse
