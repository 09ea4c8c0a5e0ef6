// Tests the facts that advice reads from the names on a stack, and the line that it writes.
#include "analyse/advice.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "analyse/names.hpp"

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

constexpr auto text_name = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

std::vector<place> stack(const std::vector<std::string>& functions) {
  std::vector<place> made;
  for (const std::string& each : functions) made.push_back({each, "", 0, "/home/program", 0x10});
  return made;
}

std::string code(remedy by, const made_here& made, const growth& grown = {}) {
  return advise(by, made, site(), grown).code;
}

TEST(advice, a_function_is_known_without_what_it_returns) {
  EXPECT_EQ(qualified("main"), "main");
  EXPECT_EQ(qualified("void ns::f<int>(char, int)"), "ns::f<int>(char, int)");
  EXPECT_EQ(qualified("std::map<int, char const*> ns::f<a b>(x)"), "ns::f<a b>(x)");
  EXPECT_EQ(qualified("operator new(unsigned long)"), "operator new(unsigned long)");
  EXPECT_EQ(qualified("lambda at a (1).cpp:41"), "lambda at a (1).cpp:41");
  EXPECT_EQ(without_arguments("function object at a (1).cpp:41"), "function object at a (1).cpp:41");
  EXPECT_EQ(qualified("(anonymous namespace)::f(int)"), "(anonymous namespace)::f(int)");
  EXPECT_EQ(qualified("int* (anonymous namespace)::f<int>(int)"), "(anonymous namespace)::f<int>(int)");
  EXPECT_EQ(qualified("decltype (f((int)0)) std::construct_at<a, b>(a*)"), "std::construct_at<a, b>(a*)");
  EXPECT_EQ(qualified("decltype (unclosed"), "decltype (unclosed");
  EXPECT_EQ(qualified(""), "");
}

TEST(advice, a_template_argument_ends_where_it_does) {
  EXPECT_EQ(argument_of("std::vector<std::pair<int, char>, x>::f()", "std::vector<"), "std::pair<int, char>");
  EXPECT_EQ(argument_of("std::vector<int>", "std::vector<"), "int");
  EXPECT_EQ(argument_of("std::function<void (int, int)>", "std::function<"), "void (int, int)");
  EXPECT_EQ(argument_of("std::vector<int", "std::vector<"), "");
  EXPECT_EQ(argument_of("other", "std::vector<"), "");
}

TEST(advice, a_vector_that_grows_is_reserved_by_elements) {
  const made_here made = made_at(stack({"std::__new_allocator<int>::allocate(unsigned long, void const*)",
                                        "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
                                        "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>"
                                        "(__gnu_cxx::__normal_iterator<int*, std::vector<int> >, int const&)",
                                        "collect(int)", "main"}));
  EXPECT_EQ(made.what, thing::vector);
  EXPECT_EQ(made.type, "std::vector<int>");
  EXPECT_TRUE(made.grows);
  EXPECT_EQ(made.place, 3U) << "the function to change is the program's own";
  EXPECT_EQ(code(remedy::reserve, made, {600, 100, 4096}), "kept.reserve(1024);");
  EXPECT_EQ(code(remedy::pooled, made), "std::vector<int, tarn::allocator<int>>");
  EXPECT_EQ(code(remedy::recycle, made), "auto kept = tarn::recycle<std::vector<int>>();");
}

TEST(advice, a_vector_of_what_has_no_known_size_is_reserved_by_sizeof) {
  const made_here made =
      made_at(stack({"std::vector<row, std::allocator<row> >::_M_default_append(unsigned long)", "f()"}));
  EXPECT_EQ(code(remedy::reserve, made, {600, 100, 4096}), "kept.reserve(4096 / sizeof(row));");
}

TEST(advice, a_copied_string_is_viewed) {
  const made_here made = made_at(
      stack({"void " + std::string(text_name) + "::_M_construct<char*>(char*, char*, std::forward_iterator_tag)",
             "parse(std::string const&)", "main"}));
  EXPECT_EQ(made.what, thing::text);
  EXPECT_EQ(made.type, "std::string");
  EXPECT_TRUE(made.copies);
  EXPECT_FALSE(made.grows);
  EXPECT_EQ(code(remedy::hoist, made), "std::string_view");
}

TEST(advice, a_string_is_copied_whatever_allocates_for_it) {
  const std::string construct = "::_M_construct<char const*>(char const*, char const*, std::forward_iterator_tag)";
  EXPECT_TRUE(made_at(stack({std::string(text_name) + "::_M_create(unsigned long&, unsigned long)",
                             "void " + (text_name + construct), "find(std::string_view)"}))
                  .copies);
  EXPECT_FALSE(
      made_at(stack({std::string(text_name) + "::_M_create(unsigned long&, unsigned long)", "find()"})).copies);
}

TEST(advice, work_on_the_blocks_that_no_recording_shows_is_spared_as_well) {
  const auto vector_of = [](const std::string& element) {
    return made_at(stack({"std::vector<" + element + ", x>::_M_realloc_insert<int>()", "f()"}));
  };
  const made_here text = made_at(stack({std::string(text_name) + "::_M_mutate()", "f()"}));
  EXPECT_TRUE(spares_more(remedy::recycle, made_here()));
  EXPECT_TRUE(spares_more(remedy::hoist, text));
  EXPECT_FALSE(spares_more(remedy::hoist, made_here())) << "a block alone";
  EXPECT_FALSE(spares_more(remedy::reserve, text)) << "bytes are copied, which is repeated";
  EXPECT_FALSE(spares_more(remedy::reserve, vector_of("double")));
  EXPECT_TRUE(spares_more(remedy::reserve, vector_of("row")));
  EXPECT_TRUE(spares_more(remedy::reserve, vector_of("std::string")));
  EXPECT_FALSE(spares_more(remedy::pooled, text));
}

TEST(advice, a_copied_vector_is_taken_by_reference) {
  const made_here made = made_at(
      stack({"std::vector<int, std::allocator<int> >::vector(std::vector<int, std::allocator<int> > const&)", "f()"}));
  EXPECT_TRUE(made.copies);
  EXPECT_EQ(code(remedy::hoist, made), "const std::vector<int>&");
}

TEST(advice, a_string_that_grows_is_reserved) {
  const made_here made =
      made_at(stack({std::string(text_name) + "::_M_mutate(unsigned long, unsigned long, char const*, unsigned long)",
                     std::string(text_name) + "::_M_append(char const*, unsigned long)", "page()"}));
  EXPECT_TRUE(made.grows);
  EXPECT_EQ(code(remedy::reserve, made, {600, 100, 512}), "kept.reserve(512);");
}

TEST(advice, a_string_in_a_vector_is_a_string) {
  const made_here made =
      made_at(stack({std::string(text_name) + "::_M_construct<char const*>(char const*, char const*)",
                     "std::vector<" + std::string(text_name) + ", std::allocator<x> >::push_back(x)", "f()"}));
  EXPECT_EQ(made.what, thing::text);
}

TEST(advice, a_vector_of_strings_is_a_vector) {
  const made_here made = made_at(
      stack({"void std::vector<" + std::string(text_name) + ", std::allocator<x> >::_M_realloc_insert<x>(x)", "f()"}));
  EXPECT_EQ(made.type, "std::vector<std::string>");
}

TEST(advice, make_shared_is_known_by_its_control_block) {
  const made_here made = made_at(stack(
      {"std::__new_allocator<std::_Sp_counted_ptr_inplace<ns::order, std::allocator<void>, (__gnu_cxx::_Lock_policy)2> "
       ">::allocate(unsigned long, void const*)",
       "accept()"}));
  EXPECT_EQ(made.what, thing::shared_object);
  EXPECT_EQ(made.type, "ns::order");
  EXPECT_EQ(code(remedy::pooled, made), "std::allocate_shared<ns::order>(tarn::allocator<ns::order>(), ...)");
}

TEST(advice, a_function_of_c_is_told_by_its_name_and_wrappers_are_passed) {
  const made_here made = made_at(stack({"xmalloc", "parse_line", "main"}));
  EXPECT_EQ(made.what, thing::c_block);
  EXPECT_EQ(made.place, 1U);
  EXPECT_EQ(code(remedy::pooled, made), "tarn_malloc, tarn_free");
}

TEST(advice, what_is_not_in_c_or_cpp_is_foreign_and_rusts_library_is_passed) {
  std::vector<place> frames = stack({"<alloc::vec::Vec<u8>>::with_capacity", "app::parse", "app::main"});
  frames[0].file = "/rustc/0123456789abcdef/library/alloc/src/vec/mod.rs";
  frames[1].file = "/home/ada/app/library/alloc.rs";  // the program's own
  const made_here made = made_at(frames);
  EXPECT_EQ(made.place, 1U);
  EXPECT_TRUE(made.is_foreign);
  EXPECT_EQ(code(remedy::drop_in, made), "tarn run -- PROGRAM");
}

TEST(advice, an_installed_library_is_foreign) {
  std::vector<place> frames = stack({"f", "main"});
  EXPECT_FALSE(made_at(frames).is_foreign);
  frames[0].module = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
  EXPECT_TRUE(made_at(frames).is_foreign);
  frames[0].module = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus";
  EXPECT_FALSE(made_at(frames).is_foreign);
  frames[0].module = "/lib/x86_64-linux-gnu/libc.so.6";
  EXPECT_EQ(made_at(frames).place, 1U) << "the program calls the C library";
}

TEST(advice, a_function_that_returns_a_container_allocates_for_itself) {
  std::vector<place> frames = stack({"operator new(unsigned long)", "std::allocator<char>::allocate(unsigned long)",
                                     std::string(text_name) + " make_page<false>(int)", "main"});
  ASSERT_EQ(stack_of(frames).size(), 2U);
  EXPECT_EQ(made_at(frames).place, 2U);
}

TEST(advice, code_of_an_installed_header_is_not_the_programs) {
  std::vector<place> frames = stack({"nlohmann::json::json(int)", "read(int)", "main"});
  frames[0].file = "/usr/include/nlohmann/json.hpp";
  EXPECT_EQ(made_at(frames).place, 1U);
}

TEST(advice, new_is_read_from_the_source) {
  const std::string path = testing::TempDir() + "tarn_advice_" + std::to_string(::getpid()) + ".cpp";
  std::ofstream(path) << "int main() {\n   auto* one = new ns::order(7);  \n}\n";
  std::vector<place> frames = {{"main(int)", path, 2, "/home/program", 0x10}};
  made_here made = made_at(frames);
  read_source(made, frames, 1);
  EXPECT_EQ(made.source, "") << "the file is newer than the recording";
  read_source(made, frames, ~0ULL);
  EXPECT_EQ(made.source, "auto* one = new ns::order(7);");
  EXPECT_EQ(made.type, "ns::order");
  EXPECT_EQ(code(remedy::pooled, made), "struct ns::order : tarn::pooled<ns::order> { ... };");
  frames[0].line = 20;
  made = made_at(frames);
  read_source(made, frames, ~0ULL);
  EXPECT_EQ(made.source, "") << "there is no such line";
  ::unlink(path.c_str());
}

TEST(advice, what_is_not_known_is_not_invented) {
  const made_here none = made_at({});
  EXPECT_EQ(none.what, thing::unknown);
  EXPECT_EQ(none.type, "");
  const made_here library = made_at(stack({"std::function<void ()>::function<x, void>(x)", "std::thread::f()"}));
  EXPECT_EQ(library.place, 0U);
  for (const remedy each :
       {remedy::hoist, remedy::reserve, remedy::recycle, remedy::pooled, remedy::arena, remedy::shared}) {
    EXPECT_FALSE(advise(each, none, site(), {}).words.empty());
  }
}

}  // namespace
}  // namespace tarn::analyse
