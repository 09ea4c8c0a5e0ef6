// The names of a line's fields have characters that no form of a line gives a meaning.
#include <tarn/io/log.hpp>

#include <string>
#include <string_view>

//- good
void log(tarn::io::logger& http, const std::string& name, std::string_view view, const char* text) {
  http.info({{"user.id", 7}, {"took_ms", 0.5}, {"x-request", "a"}}, "served");
  http.info({{name, 7}, {view, view}, {text, true}}, "served {}", name);
}
//- bad: field_names_have_letters_digits_underscores_dashes_and_dots_only
void log(tarn::io::logger& http) { http.info({{"bad name", 7}}, "served"); }
//- bad: field_names_have_letters_digits_underscores_dashes_and_dots_only
void log(tarn::io::logger& http) { http.info({{"name=", "x"}}, "served"); }
//- bad: field_names_have_letters_digits_underscores_dashes_and_dots_only
void log(tarn::io::logger& http) { http.info({{"", "x"}}, "served"); }
//- bad: field_names_are_none_of_time_level_logger_and_msg
void log(tarn::io::logger& http) { http.info({{"level", 3}}, "served"); }
//- bad: a field has a number, a bool, a text or a duration of std::chrono
struct order {};
void log(tarn::io::logger& http) { http.info({{"order", order()}}, "served"); }
