#include "work.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace lab {
namespace {

[[noreturn]] void leave(std::string_view program, const std::string& why, int code) {
  std::fprintf(stderr, "lab-%s: %s\n", std::string(program).c_str(), why.c_str());
  std::exit(code);
}

std::string quote(std::string_view word) { return '"' + std::string(word) + '"'; }

}  // namespace

settings::settings(std::string_view program, std::initializer_list<parameter> parameters,
                   const std::vector<std::string_view>& assignments) {
  for (const parameter& parameter : parameters) values_.push_back({parameter, parameter.usual, {}});
  for (const std::string_view word : assignments) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    value* entry = nullptr;
    for (value& candidate : values_) {
      if (candidate.definition.name == name) entry = &candidate;
    }
    if (equals == word.npos || entry == nullptr) leave(program, "unknown key " + quote(name), 2);
    entry->text = word.substr(equals + 1);
    if (entry->definition.is_text) continue;
    const char* const end = entry->text.data() + entry->text.size();
    const auto [stopped, error] = std::from_chars(entry->text.data(), end, entry->number);
    if (error != std::errc() || stopped != end || entry->number < entry->definition.minimum ||
        entry->number > entry->definition.maximum) {
      leave(program,
            std::string(name) + "=" + entry->text + ": a number from " + std::to_string(entry->definition.minimum) +
                " to " + std::to_string(entry->definition.maximum),
            2);
    }
  }
}

const settings::value& settings::find(std::string_view name, bool is_text) const {
  for (const value& candidate : values_) {
    if (candidate.definition.name == name && candidate.definition.is_text == is_text) return candidate;
  }
  std::abort();  // the program asks for a key that it does not list
}

std::uint64_t settings::operator[](std::string_view name) const { return find(name, false).number; }

const std::string& settings::text(std::string_view name) const { return find(name, true).text; }

void give_up(std::string_view program, std::string_view why) { leave(program, std::string(why), 3); }

int main_of(int count, char** arguments_of_main, std::string_view program, std::initializer_list<parameter> parameters,
            std::initializer_list<form> forms) {
  const std::vector<std::string_view> arguments(arguments_of_main + (count > 0 ? 1 : 0), arguments_of_main + count);
  if (arguments.size() == 1 && arguments[0] == "--forms") {
    for (const form& candidate : forms) std::printf("%s\n", std::string(candidate.name).c_str());
    return 0;
  }
  if (arguments.empty()) leave(program, "usage: lab-" + std::string(program) + " --forms | FORM KEY=VALUE…", 2);
  for (const form& candidate : forms) {
    if (candidate.name != arguments[0]) continue;
    const settings values(program, parameters, {arguments.begin() + 1, arguments.end()});
    const outcome result = candidate.run(values);
    nlohmann::ordered_json counts = nlohmann::ordered_json::object();
    for (const auto& [name, number] : result.counts) counts[name] = number;
    char checksum[17];  // a text, because JSON's numbers end at 53 bits
    std::snprintf(checksum, sizeof checksum, "%016llx", static_cast<unsigned long long>(result.checksum));
    const nlohmann::ordered_json line = {{"units", result.units},
                                         {"ns", result.ns},
                                         {"processor_ns", result.processor_ns},
                                         {"checksum", checksum},
                                         {"malloc", bench::malloc_provider()},
                                         {"counts", counts}};
    std::printf("%s\n", line.dump().c_str());
    return std::fflush(stdout) == 0 ? 0 : 3;
  }
  leave(program, "unknown form " + quote(arguments[0]) + "; lab-" + std::string(program) + " --forms lists them", 2);
}

}  // namespace lab
