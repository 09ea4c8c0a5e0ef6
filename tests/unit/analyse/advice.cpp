// Tests the facts that advice reads from the names on a stack, and the line that it writes.
#include "profiler/advise/advice.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "profiler/symbols/names.hpp"

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

using testing::HasSubstr;

constexpr auto text_name = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

std::vector<code_location> stack(const std::vector<std::string>& functions) {
  std::vector<code_location> location;
  for (const std::string& text : functions) location.push_back({text, "", 0, "/home/program", 0x10});
  return location;
}

std::string code(remedy_kind remedy, const allocation_info& allocation, const growth& grown = {}) {
  return advise(remedy, allocation, site(), grown).code;
}

TEST(advice, a_function_is_known_without_what_it_returns) {
  EXPECT_EQ(qualified_name("main"), "main");
  EXPECT_EQ(qualified_name("void ns::f<int>(char, int)"), "ns::f<int>(char, int)");
  EXPECT_EQ(qualified_name("std::map<int, char const*> ns::f<a b>(x)"), "ns::f<a b>(x)");
  EXPECT_EQ(qualified_name("operator new(unsigned long)"), "operator new(unsigned long)");
  EXPECT_EQ(qualified_name("lambda at a (1).cpp:41"), "lambda at a (1).cpp:41");
  EXPECT_EQ(without_arguments("function object at a (1).cpp:41"), "function object at a (1).cpp:41");
  EXPECT_EQ(qualified_name("(anonymous namespace)::f(int)"), "(anonymous namespace)::f(int)");
  EXPECT_EQ(qualified_name("int* (anonymous namespace)::f<int>(int)"), "(anonymous namespace)::f<int>(int)");
  EXPECT_EQ(qualified_name("decltype (f((int)0)) std::construct_at<a, b>(a*)"), "std::construct_at<a, b>(a*)");
  EXPECT_EQ(qualified_name("decltype (unclosed"), "decltype (unclosed");
  EXPECT_EQ(qualified_name(""), "");
}

TEST(names, a_function_has_no_arguments_but_those_that_name_a_lambda) {
  EXPECT_EQ(without_arguments("void ns::f<int (char)>(char, int)"), "ns::f<int (char)>");
  EXPECT_EQ(without_arguments("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(without_arguments("work(int)::{lambda(char, {lambda()#2})#1}::operator()(char) const"),
            "work::{lambda(char, {lambda()#2})#1}::operator()");
  EXPECT_EQ(without_arguments("auto pool::run(int) const::{lambda(auto:1)#1}::operator()<int>(int) const"),
            "pool::run::{lambda(auto:1)#1}::operator()<int>");
  EXPECT_EQ(without_arguments("main::$_0::operator()(int) const"), "main::$_0::operator()");
  EXPECT_EQ(without_arguments("ns::(anonymous namespace)::f(int)"), "ns::(anonymous namespace)::f");
  EXPECT_EQ(without_arguments("(anonymous namespace)::f(int)::local::g()"), "(anonymous namespace)::f::local::g");
  EXPECT_EQ(without_arguments("std::f(int (*)(char))"), "std::f");
  EXPECT_EQ(without_arguments("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(without_arguments("unclosed(int"), "unclosed");
  EXPECT_EQ(without_arguments("f::{lambda(int"), "f::{lambda(int");
}

TEST(advice, a_template_argument_ends_where_it_does) {
  EXPECT_EQ(argument_of("std::vector<std::pair<int, char>, x>::f()", "std::vector<"), "std::pair<int, char>");
  EXPECT_EQ(argument_of("std::vector<int>", "std::vector<"), "int");
  EXPECT_EQ(argument_of("std::function<void (int, int)>", "std::function<"), "void (int, int)");
  EXPECT_EQ(argument_of("std::vector<int", "std::vector<"), "");
  EXPECT_EQ(argument_of("other", "std::vector<"), "");
}

TEST(names, those_of_rust_take_the_form_of_cpp) {
  EXPECT_EQ(from_rust("places::make"), "places::make");
  EXPECT_EQ(from_rust("<alloc::alloc::Global>::alloc_impl"), "alloc::alloc::Global::alloc_impl");
  EXPECT_EQ(from_rust("<alloc::vec::Vec<u8> as core::clone::Clone>::clone"), "alloc::vec::Vec<u8>::clone");
  EXPECT_EQ(from_rust("<&str as shop::Text<'_>>::copy"), "shop::Text<'_>::copy");
  EXPECT_EQ(from_rust("<fn() -> u8 as core::ops::FnOnce<()>>::call_once"), "core::ops::FnOnce<()>::call_once");
  EXPECT_EQ(from_rust("std::rt::lang_start::<()>::{closure#0}"), "std::rt::lang_start<()>::{closure#0}");
  EXPECT_EQ(from_rust("<cut"), "<cut");
}

TEST(advice, a_vector_that_grows_is_reserved_by_elements) {
  const allocation_info allocation =
      allocation_at(stack({"std::__new_allocator<int>::allocate(unsigned long, void const*)",
                           "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
                           "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>"
                           "(__gnu_cxx::__normal_iterator<int*, std::vector<int> >, int const&)",
                           "collect(int)", "main"}));
  EXPECT_EQ(allocation.kind, allocated_kind::vector);
  EXPECT_EQ(allocation.type, "std::vector<int>");
  EXPECT_TRUE(allocation.has_grown);
  EXPECT_EQ(allocation.frame, 3U) << "the function to change is the program's own";
  EXPECT_EQ(code(remedy_kind::reserve, allocation, {600, 100, 4096}),
            "if (container.empty()) container.reserve(1024);");
  EXPECT_EQ(code(remedy_kind::pooled, allocation), "std::vector<int, tarn::allocator<int>>");
  EXPECT_EQ(code(remedy_kind::recycle, allocation), "auto kept = tarn::recycle<std::vector<int>>();");
}

TEST(advice, a_vector_of_what_has_no_known_size_is_reserved_by_sizeof) {
  const allocation_info allocation =
      allocation_at(stack({"std::vector<row, std::allocator<row> >::_M_default_append(unsigned long)", "f()"}));
  EXPECT_EQ(code(remedy_kind::reserve, allocation, {600, 100, 4096}),
            "if (container.empty()) container.reserve(4096 / sizeof(row));");
}

TEST(advice, reserve_names_the_variable_of_the_line) {
  allocation_info allocation = allocation_at(stack({"std::vector<int, x>::_M_realloc_append<int>(int&&)", "f()"}));
  const auto code_for = [&](const std::string& source) {
    allocation.source = source;
    return code(remedy_kind::reserve, allocation, {600, 100, 1024});
  };
  EXPECT_EQ(code_for("for (int k = 0; k < 200; ++k) v.push_back(k);"), "if (v.empty()) v.reserve(256);");
  EXPECT_EQ(code_for("for (int k = 0; k < 200; ++k)v.push_back(k);"), "if (v.empty()) v.reserve(256);");
  EXPECT_EQ(code_for("page().rows.push_back(k);"), "if (container.empty()) container.reserve(256);");
  EXPECT_EQ(code_for("page.rows.emplace_back(k);"), "if (page.rows.empty()) page.rows.reserve(256);");
  EXPECT_EQ(code_for("if (text.size() < 4) lines_2.insert(at, k);"), "if (lines_2.empty()) lines_2.reserve(256);");
  EXPECT_EQ(code_for("pages[3].push_back(k);"), "if (container.empty()) container.reserve(256);") << "more than a name";
  EXPECT_EQ(code_for("that->rows.push_back(k);"), "if (container.empty()) container.reserve(256);");
  EXPECT_EQ(code_for("sum += collect(k);"), "if (container.empty()) container.reserve(256);");
  EXPECT_EQ(code_for(""), "if (container.empty()) container.reserve(256);");
}

TEST(advice, growth_is_told_in_the_digits_that_are_known) {
  const allocation_info allocation =
      allocation_at(stack({"std::vector<int, x>::_M_realloc_append<int>(int&&)", "f()"}));
  site site;
  growth grown = {9'600'123, 1'195'938, 1024};
  grown.is_counted = true;
  const auto text = [&] { return advise(remedy_kind::reserve, allocation, site, grown).text; };
  EXPECT_EQ(text(), "reserve: 1,195,938 buffers grew in 9,600,123 steps; 1,024 bytes are enough for 100 % of them");
  grown.steps = grown.buffers = 1;
  EXPECT_THAT(text(), HasSubstr("1 buffer grew in 1 step;"));
  grown.steps = 9'600'123;
  grown.buffers = 1'195'938;
  grown.is_counted = false;
  grown.fitting_share = 0.999;
  EXPECT_EQ(text(),
            "reserve: about 1.2 million buffers grew in 9.6 million steps; 1,024 bytes are enough for 99 % of them")
      << "the sizes do not tell how many";
  grown.is_counted = true;
  site.error = 0.01;
  site.peak_blocks = 100'000;
  grown.spare_bytes = 857;
  EXPECT_EQ(
      text(),
      "reserve: about 1.2 million buffers grew in 9.6 million steps; 1,024 bytes are enough for 99 % of them, and "
      "take about 81.7 MiB more at the peak");
  grown.bytes = 0;
  EXPECT_EQ(text(),
            "reserve: about 1.2 million buffers grew in 9.6 million steps; no fixed size pays, as most stay small");
  EXPECT_EQ(code(remedy_kind::reserve, allocation, grown), "container.reserve(count);");
}

TEST(advice, a_block_that_outlives_its_function_is_not_kept_there) {
  allocation_info allocation = allocation_at(stack({"std::vector<int, x>::_M_default_append(unsigned long)", "f()"}));
  const auto note = [&] { return advise(remedy_kind::hoist, allocation, site(), {}).note; };
  EXPECT_EQ(note(), "only if the function does not return or keep it");
  allocation.escape = escape_verdict::confined;
  EXPECT_EQ(note(), "");
  EXPECT_TRUE(is_applicable(remedy_kind::hoist, allocation));
  allocation.escape = escape_verdict::escapes;
  EXPECT_FALSE(is_applicable(remedy_kind::hoist, allocation));
  EXPECT_FALSE(is_applicable(remedy_kind::recycle, allocation));
  EXPECT_TRUE(is_applicable(remedy_kind::reserve, allocation));
  EXPECT_TRUE(is_applicable(remedy_kind::pooled, allocation));
  allocation.was_copied = true;
  EXPECT_TRUE(is_applicable(remedy_kind::hoist, allocation)) << "the copy itself may not be needed";
}

TEST(advice, a_text_that_a_container_takes_is_not_kept) {
  const std::string insert = std::string(text_name) + "::insert(unsigned long, char const*)";
  const std::string push_back = std::string(text_name) + "::push_back(char)";
  allocation_info allocation = allocation_at(stack({insert, "f()"}));
  allocation.escape = escape_verdict::confined;
  for (const char* const source :
       {"names.push_back(\"item \" + std::to_string(i));", "names->emplace_back(prefix + name);"}) {
    allocation.source = source;
    EXPECT_FALSE(is_applicable(remedy_kind::hoist, allocation)) << source;
    EXPECT_FALSE(is_applicable(remedy_kind::recycle, allocation)) << source;
    EXPECT_TRUE(is_applicable(remedy_kind::arena, allocation)) << source;
  }
  allocation.source = "text.insert(0, prefix);";
  EXPECT_TRUE(is_applicable(remedy_kind::hoist, allocation));
  allocation_info growing = allocation_at(stack({push_back, "f()"}));
  growing.source = "text.push_back('x');";
  EXPECT_TRUE(is_applicable(remedy_kind::hoist, growing)) << "the text itself grows";
}

TEST(advice, a_pool_serves_objects_and_no_buffers) {
  allocation_info allocation = allocation_at(stack({std::string(text_name) + "::_M_create(unsigned long&)", "f()"}));
  EXPECT_EQ(allocation.kind, allocated_kind::text);
  EXPECT_FALSE(is_applicable(remedy_kind::shared_pool, allocation)) << "a string's buffer";
  EXPECT_TRUE(is_applicable(remedy_kind::pooled, allocation));
  EXPECT_TRUE(is_applicable(remedy_kind::drop_in, allocation));
  allocation = allocation_at(stack({"std::vector<int, x>::_M_realloc_insert<int>()", "f()"}));
  EXPECT_FALSE(is_applicable(remedy_kind::shared_pool, allocation)) << "a vector's buffer";
  for (const allocated_kind kind : {allocated_kind::object, allocated_kind::unique_object, allocated_kind::c_block}) {
    allocation.kind = kind;
    EXPECT_TRUE(is_applicable(remedy_kind::shared_pool, allocation));
  }
}

TEST(advice, of_folded_functions_the_callers_one_names_the_type) {
  const auto function = [](const std::string& type, const std::string& member) {
    return "std::_Vector_base<" + type + ", std::allocator<" + type + "> >::" + member;
  };
  const auto type_of = [](const std::vector<std::string>& functions) { return allocation_at(stack(functions)).type; };
  const std::string allocates = "_M_allocate(unsigned long)", creates = "_M_create_storage(unsigned long)";
  EXPECT_EQ(type_of({function("std::thread", allocates), function("unsigned long", allocates), "f()"}),
            "std::vector<unsigned long>");
  EXPECT_EQ(type_of({function("int", allocates), function("std::vector<int>", creates), "f()"}), "std::vector<int>")
      << "one container in the other";
}

TEST(advice, buffers_of_one_container_have_one_key) {
  const auto key = [](const char* grown, const char* function) {
    const std::vector<code_location> frames = stack({grown, function});
    return container_key(allocation_at(frames), frames);
  };
  const char* const vector = "std::vector<int, x>::_M_realloc_append<int>(int&&)";
  EXPECT_FALSE(key(vector, "f()").empty());
  EXPECT_EQ(key(vector, "f()"), key("std::vector<int, x>::_M_default_append(unsigned long)", "f()"));
  EXPECT_NE(key(vector, "f()"), key(vector, "g()"));
  EXPECT_NE(key(vector, "f()"), key("std::vector<char, x>::_M_realloc_append<char>(char&&)", "f()"));
  EXPECT_EQ(key("operator new(unsigned long)", "f()"), "") << "no container";
}

TEST(advice, a_copied_string_is_viewed) {
  const allocation_info allocation = allocation_at(
      stack({"void " + std::string(text_name) + "::_M_construct<char*>(char*, char*, std::forward_iterator_tag)",
             "parse(std::string const&)", "main"}));
  EXPECT_EQ(allocation.kind, allocated_kind::text);
  EXPECT_EQ(allocation.type, "std::string");
  EXPECT_TRUE(allocation.was_copied);
  EXPECT_FALSE(allocation.has_grown);
  EXPECT_EQ(code(remedy_kind::hoist, allocation), "std::string_view");
}

constexpr auto added =
    "std::string std::operator+<char, std::char_traits<char>, std::allocator<char> >(std::string const&, char const*)";

// The function may have no loop, and the result of operator+ has no name that could be moved out of one.
TEST(advice, texts_that_are_added_are_appended_to_one) {
  const std::string grows = std::string(text_name) + "::_M_append(char const*, unsigned long)";
  for (const char* const function : {added, "std::string std::__str_concat<std::string>(char const*, unsigned long)"}) {
    const allocation_info allocation = allocation_at(stack({grows, function, "total(std::string const&)"}));
    const advice suggestion = advise(remedy_kind::hoist, allocation, site(), {});
    EXPECT_TRUE(suggestion.text.starts_with("append the parts to one string")) << suggestion.text;
    EXPECT_EQ(suggestion.code, "kept.clear();  kept.reserve(length);  kept.append(first).append(second);");
    EXPECT_EQ(suggestion.note, "only if the function does not return or keep it");
  }
  const allocation_info grown = allocation_at(stack({grows, "total(std::string const&)"}));
  EXPECT_TRUE(advise(remedy_kind::hoist, grown, site(), {}).text.starts_with("move it out of the loop"))
      << "a text with a name";
}

TEST(advice, a_copy_that_more_is_appended_to_is_no_view) {
  const std::string copies =
      "void " + std::string(text_name) + "::_M_construct<char*>(char*, char*, std::forward_iterator_tag)";
  for (const char* const function :
       {added, "std::string::operator+=(char const*)", "std::string::append(std::string const&)"}) {
    const allocation_info allocation = allocation_at(stack({copies, function, "total(std::string const&)"}));
    EXPECT_EQ(allocation.kind, allocated_kind::text);
    EXPECT_FALSE(allocation.was_copied) << function;
    if (function != added) {
      EXPECT_EQ(code(remedy_kind::hoist, allocation), "std::string kept;  /* in the loop: */ kept.clear();");
    }
  }
  EXPECT_TRUE(allocation_at(stack({copies, "next(std::string const&)", "std::operator+(char)"})).was_copied)
      << "the program's function decides";
}

TEST(advice, a_view_is_advised_for_a_copy_that_is_not_changed) {
  allocation_info allocation = allocation_at(stack({text_name, "f()"}));
  allocation.was_copied = true;
  const advice view = advise(remedy_kind::hoist, allocation, site(), {});
  EXPECT_TRUE(view.text.starts_with("if the copy is not changed, ")) << view.text;
  EXPECT_EQ(view.note, "no recording shows whether the copy is changed; the original must outlive the view");
}

TEST(advice, a_string_is_copied_whatever_allocates_for_it) {
  const std::string construct = "::_M_construct<char const*>(char const*, char const*, std::forward_iterator_tag)";
  EXPECT_TRUE(allocation_at(stack({std::string(text_name) + "::_M_create(unsigned long&, unsigned long)",
                                   "void " + (text_name + construct), "find(std::string_view)"}))
                  .was_copied);
  EXPECT_FALSE(allocation_at(stack({std::string(text_name) + "::_M_create(unsigned long&, unsigned long)", "find()"}))
                   .was_copied);
}

TEST(advice, work_on_the_blocks_that_no_recording_shows_is_spared_as_well) {
  const auto vector_of = [](const std::string& element) {
    return allocation_at(stack({"std::vector<" + element + ", x>::_M_realloc_insert<int>()", "f()"}));
  };
  const allocation_info text = allocation_at(stack({std::string(text_name) + "::_M_mutate()", "f()"}));
  EXPECT_TRUE(saves_unmodelled_work(remedy_kind::recycle, allocation_info()));
  EXPECT_TRUE(saves_unmodelled_work(remedy_kind::hoist, text));
  EXPECT_FALSE(saves_unmodelled_work(remedy_kind::hoist, allocation_info())) << "a block alone";
  EXPECT_FALSE(saves_unmodelled_work(remedy_kind::reserve, text)) << "bytes are copied, which is repeated";
  EXPECT_FALSE(saves_unmodelled_work(remedy_kind::reserve, vector_of("double")));
  EXPECT_TRUE(saves_unmodelled_work(remedy_kind::reserve, vector_of("row")));
  EXPECT_TRUE(saves_unmodelled_work(remedy_kind::reserve, vector_of("std::string")));
  EXPECT_FALSE(saves_unmodelled_work(remedy_kind::pooled, text));
}

TEST(advice, a_copied_vector_is_taken_by_reference) {
  const allocation_info allocation = allocation_at(
      stack({"std::vector<int, std::allocator<int> >::vector(std::vector<int, std::allocator<int> > const&)", "f()"}));
  EXPECT_TRUE(allocation.was_copied);
  EXPECT_EQ(code(remedy_kind::hoist, allocation), "const std::vector<int>&");
}

TEST(advice, a_string_that_grows_is_reserved) {
  const allocation_info allocation = allocation_at(
      stack({std::string(text_name) + "::_M_mutate(unsigned long, unsigned long, char const*, unsigned long)",
             std::string(text_name) + "::_M_append(char const*, unsigned long)", "page()"}));
  EXPECT_TRUE(allocation.has_grown);
  EXPECT_EQ(code(remedy_kind::reserve, allocation, {600, 100, 512}), "if (text.empty()) text.reserve(512);");
}

TEST(advice, a_string_in_a_vector_is_a_string) {
  const allocation_info allocation =
      allocation_at(stack({std::string(text_name) + "::_M_construct<char const*>(char const*, char const*)",
                           "std::vector<" + std::string(text_name) + ", std::allocator<x> >::push_back(x)", "f()"}));
  EXPECT_EQ(allocation.kind, allocated_kind::text);
}

TEST(advice, a_copy_made_for_a_vector_that_grows_does_not_grow) {
  const auto copied_for = [](const std::string& constructor, const std::string& element) {
    return allocation_at(stack(
        {constructor, "void std::allocator_traits<std::allocator<" + element + " > >::construct<" + element + ">(x)",
         "void std::vector<" + element + ", x>::_M_realloc_insert<" + element + " const&>(x)", "f()"}));
  };
  const allocation_info text =
      copied_for("void " + std::string(text_name) + "::_M_construct<char*>(char*, char*)", text_name);
  EXPECT_EQ(text.type, "std::string");
  EXPECT_FALSE(text.has_grown);
  const std::string row = "std::vector<int, x>";
  const allocation_info copy = copied_for(row + "::vector(" + row + " const&)", row);
  EXPECT_EQ(copy.type, "std::vector<int>");
  EXPECT_FALSE(copy.has_grown);
}

TEST(advice, a_vector_of_strings_is_a_vector) {
  const allocation_info allocation = allocation_at(
      stack({"void std::vector<" + std::string(text_name) + ", std::allocator<x> >::_M_realloc_insert<x>(x)", "f()"}));
  EXPECT_EQ(allocation.type, "std::vector<std::string>");
}

TEST(advice, make_shared_is_known_by_its_control_block) {
  const allocation_info allocation = allocation_at(stack(
      {"std::__new_allocator<std::_Sp_counted_ptr_inplace<ns::order, std::allocator<void>, (__gnu_cxx::_Lock_policy)2> "
       ">::allocate(unsigned long, void const*)",
       "accept()"}));
  EXPECT_EQ(allocation.kind, allocated_kind::shared_object);
  EXPECT_EQ(allocation.type, "ns::order");
  EXPECT_EQ(code(remedy_kind::pooled, allocation),
            "std::allocate_shared<ns::order>(tarn::allocator<ns::order>(), ...)");
}

TEST(advice, a_function_of_c_is_told_by_its_name_and_wrappers_are_passed) {
  const allocation_info allocation = allocation_at(stack({"xmalloc", "parse_line", "main"}));
  EXPECT_EQ(allocation.kind, allocated_kind::c_block);
  EXPECT_EQ(allocation.frame, 1U);
  EXPECT_EQ(code(remedy_kind::pooled, allocation), "tarn_malloc, tarn_free");
}

TEST(advice, what_is_not_in_c_or_cpp_is_foreign_and_rusts_library_is_passed) {
  std::vector<code_location> frames = stack({"<alloc::vec::Vec<u8>>::with_capacity", "app::parse", "app::main"});
  frames[0].file = "/rustc/0123456789abcdef/library/alloc/src/vec/mod.rs";
  frames[1].file = "/home/ada/app/library/alloc.rs";  // the program's own
  const allocation_info allocation = allocation_at(frames);
  EXPECT_EQ(allocation.frame, 1U);
  EXPECT_TRUE(allocation.is_foreign);
  EXPECT_EQ(code(remedy_kind::drop_in, allocation), "tarn run -- PROGRAM");
}

TEST(advice, an_installed_library_is_foreign) {
  std::vector<code_location> frames = stack({"f", "main"});
  EXPECT_FALSE(allocation_at(frames).is_foreign);
  frames[0].module = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
  EXPECT_TRUE(allocation_at(frames).is_foreign);
  frames[0].module = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus";
  EXPECT_FALSE(allocation_at(frames).is_foreign);
  frames[0].module = "/lib/x86_64-linux-gnu/libc.so.6";
  EXPECT_EQ(allocation_at(frames).frame, 1U) << "the program calls the C library";
}

TEST(advice, a_function_that_returns_a_container_allocates_for_itself) {
  std::vector<code_location> frames =
      stack({"operator new(unsigned long)", "std::allocator<char>::allocate(unsigned long)",
             std::string(text_name) + " make_page<false>(int)", "main"});
  ASSERT_EQ(stack_of(frames).size(), 2U);
  EXPECT_EQ(allocation_at(frames).frame, 2U);
}

TEST(advice, code_of_an_installed_header_is_not_the_programs) {
  std::vector<code_location> frames = stack({"nlohmann::json::json(int)", "read(int)", "main"});
  frames[0].file = "/usr/include/nlohmann/json.hpp";
  EXPECT_EQ(allocation_at(frames).frame, 1U);
}

TEST(advice, new_is_read_from_the_source) {
  const std::string path = testing::TempDir() + "tarn_advice_" + std::to_string(::getpid()) + ".cpp";
  std::ofstream(path) << "int main() {\n   auto* one = new ns::order(7);  \n}\n";
  std::vector<code_location> frames = {{"main(int)", path, 2, "/home/program", 0x10}};
  allocation_info allocation = allocation_at(frames);
  read_source(allocation, frames, 1);
  EXPECT_EQ(allocation.source, "") << "the file is newer than the recording";
  read_source(allocation, frames, ~0ULL);
  EXPECT_EQ(allocation.source, "auto* one = new ns::order(7);");
  EXPECT_EQ(allocation.type, "ns::order");
  EXPECT_EQ(code(remedy_kind::pooled, allocation), "struct ns::order : tarn::pooled<ns::order> { ... };");
  EXPECT_FALSE(allocation.is_source_newer);
  const std::string program = path + ".program";
  std::ofstream(program) << "built before";
  const std::array<timespec, 2> long_ago = {timespec{1000, 0}, timespec{1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, program.c_str(), long_ago.data(), 0), 0);
  frames[0].module = program;
  allocation = allocation_at(frames);
  read_source(allocation, frames, ~0ULL);
  EXPECT_EQ(allocation.source, "") << "the file is newer than the program";
  EXPECT_TRUE(allocation.is_source_newer);
  ::unlink(program.c_str());
  frames[0].line = 20;
  allocation = allocation_at(frames);
  read_source(allocation, frames, ~0ULL);
  EXPECT_EQ(allocation.source, "") << "there is no such line";
  ::unlink(path.c_str());
}

TEST(advice, an_exception_can_only_be_avoided) {
  std::vector<code_location> frames = stack({"malloc", "__cxa_allocate_exception", "parse(int)", "main"});
  frames[0].module = "/lib/x86_64-linux-gnu/libc.so.6";
  frames[1].module = "/lib/x86_64-linux-gnu/libstdc++.so.6";
  for (const char* function : {"__cxa_allocate_exception", "std::runtime_error::runtime_error(char const*)"}) {
    frames[1].function = function;
    allocation_info thrown = allocation_at(frames);
    EXPECT_EQ(thrown.kind, allocated_kind::exception_object);
    EXPECT_EQ(thrown.frame, 2U);
    thrown.escape = escape_verdict::escapes;
    EXPECT_TRUE(is_applicable(remedy_kind::hoist, thrown));
    EXPECT_TRUE(is_applicable(remedy_kind::drop_in, thrown));
    for (const remedy_kind remedy : {remedy_kind::reserve, remedy_kind::recycle, remedy_kind::pooled,
                                     remedy_kind::arena, remedy_kind::shared_pool})
      EXPECT_FALSE(is_applicable(remedy, thrown));
    EXPECT_THAT(advise(remedy_kind::hoist, thrown, site(), {}).text, HasSubstr("return the error"));
    EXPECT_EQ(code(remedy_kind::hoist, thrown), "");
    EXPECT_TRUE(saves_unmodelled_work(remedy_kind::hoist, thrown)) << "a throw unwinds the stack";
  }
}

TEST(advice, a_coroutine_is_known_by_its_body) {
  const std::string path = testing::TempDir() + "tarn_coroutine_" + std::to_string(::getpid()) + ".cpp";
  std::ofstream(path) << "gen count(int n) {\n  for (int i = 0; i < n; ++i) {\n    co_yield i;\n  }\n}\n"
                         "gen brief() { co_return; }\n"
                         "void plain(int n) {\n  run(n);\n}\n";
  const auto at_line = [&](int line) {
    const std::vector<code_location> frames = {{"operator new(unsigned long)", "", 0, "", 0x10},
                                               {"f(int)", path, line, "/home/program", 0x10}};
    allocation_info allocation = allocation_at(frames);
    read_source(allocation, frames, ~0ULL);
    return allocation;
  };
  for (const int line : {1, 5, 6}) EXPECT_EQ(at_line(line).kind, allocated_kind::coroutine_frame) << line;
  for (const int line : {2, 3, 4, 7, 8, 9}) EXPECT_EQ(at_line(line).kind, allocated_kind::unknown) << line;
  const allocation_info frame = at_line(5);
  for (const remedy_kind remedy : {remedy_kind::hoist, remedy_kind::recycle, remedy_kind::arena})
    EXPECT_FALSE(is_applicable(remedy, frame));
  EXPECT_TRUE(is_applicable(remedy_kind::pooled, frame));
  EXPECT_EQ(code(remedy_kind::pooled, frame), "struct promise_type : tarn::pooled<promise_type> { ... };");
  ::unlink(path.c_str());
}

TEST(advice, what_is_not_known_is_not_invented) {
  const allocation_info empty = allocation_at({});
  EXPECT_EQ(empty.kind, allocated_kind::unknown);
  EXPECT_EQ(empty.type, "");
  const allocation_info library =
      allocation_at(stack({"std::function<void ()>::function<x, void>(x)", "std::thread::f()"}));
  EXPECT_EQ(library.frame, 0U);
  for (const remedy_kind remedy : {remedy_kind::hoist, remedy_kind::reserve, remedy_kind::recycle, remedy_kind::pooled,
                                   remedy_kind::arena, remedy_kind::shared_pool}) {
    EXPECT_FALSE(advise(remedy, empty, site(), {}).text.empty());
  }
}

}  // namespace
}  // namespace tarn::analyse
