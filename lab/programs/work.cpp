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

std::string quoted(std::string_view word) { return '"' + std::string(word) + '"'; }

}  // namespace

settings::settings(std::string_view program, std::initializer_list<parameter> known,
                   const std::vector<std::string_view>& words) {
  for (const parameter& each : known) values_.push_back({each, each.usual, {}});
  for (const std::string_view word : words) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    value* found = nullptr;
    for (value& each : values_) {
      if (each.of.name == name) found = &each;
    }
    if (equals == word.npos || found == nullptr) leave(program, "unknown key " + quoted(name), 2);
    found->text = word.substr(equals + 1);
    if (found->of.is_text) continue;
    const char* const end = found->text.data() + found->text.size();
    const auto [stopped, error] = std::from_chars(found->text.data(), end, found->number);
    if (error != std::errc() || stopped != end || found->number < found->of.least || found->number > found->of.most) {
      leave(program,
            std::string(name) + "=" + found->text + ": a number from " + std::to_string(found->of.least) + " to " +
                std::to_string(found->of.most),
            2);
    }
  }
}

const settings::value& settings::at(std::string_view name, bool is_text) const {
  for (const value& each : values_) {
    if (each.of.name == name && each.of.is_text == is_text) return each;
  }
  std::abort();  // the program asks for a key that it does not list
}

std::uint64_t settings::operator[](std::string_view name) const { return at(name, false).number; }

const std::string& settings::text(std::string_view name) const { return at(name, true).text; }

void give_up(std::string_view program, std::string_view why) { leave(program, std::string(why), 3); }

int main_of(int count, char** words, std::string_view program, std::initializer_list<parameter> known,
            std::initializer_list<form> forms) {
  const std::vector<std::string_view> all(words + (count > 0 ? 1 : 0), words + count);
  if (all.size() == 1 && all[0] == "--forms") {
    for (const form& each : forms) std::printf("%s\n", std::string(each.name).c_str());
    return 0;
  }
  if (all.empty()) leave(program, "usage: lab-" + std::string(program) + " --forms | FORM KEY=VALUE…", 2);
  for (const form& each : forms) {
    if (each.name != all[0]) continue;
    const settings wanted(program, known, {all.begin() + 1, all.end()});
    const outcome done = each.run(wanted);
    nlohmann::ordered_json counts = nlohmann::ordered_json::object();
    for (const auto& [name, number] : done.counts) counts[name] = number;
    char checksum[17];  // a text, because JSON's numbers end at 53 bits
    std::snprintf(checksum, sizeof checksum, "%016llx", static_cast<unsigned long long>(done.checksum));
    const nlohmann::ordered_json line = {{"units", done.units},
                                         {"ns", done.ns},
                                         {"processor_ns", done.processor_ns},
                                         {"checksum", checksum},
                                         {"malloc", bench::malloc_provider()},
                                         {"counts", counts}};
    std::printf("%s\n", line.dump().c_str());
    return std::fflush(stdout) == 0 ? 0 : 3;
  }
  leave(program, "unknown form " + quoted(all[0]) + "; lab-" + std::string(program) + " --forms lists them", 2);
}

}  // namespace lab
