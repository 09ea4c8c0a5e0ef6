// The options of Tarn. Each has a row in option_table, from which the environment names, `tarn run --help`, the shell
// completion and docs/reference/options.md follow; a field of `options`; and a case in base/options.cpp.
//
// Everything here may run inside the first malloc of a process, before main. So nothing allocates, locks, throws,
// uses stdio or needs libstdc++ at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.hpp"

namespace tarn::base {

enum class option_id : std::uint8_t {
  purge_delay_ms,
  stats,
  stats_file,
  guard,
  thp,
  limit,
  initial,
  increment,
  background_purge,
  sample_guards,
  harden,
  thread_heaps,
};

enum class option_kind : std::uint8_t { milliseconds, bytes, flag, choice, path, number };

// One row of the table. `minimum` and `maximum` bound a number (milliseconds, bytes, number) or the length of a path.
struct option_info {
  option_id id;
  std::string_view name;  // purge_delay_ms; TARN_PURGE_DELAY_MS in the environment
  option_kind kind;
  std::string_view default_text;  // in the form that a user writes; empty: none
  std::uint64_t minimum;
  std::uint64_t maximum;
  std::string_view choices;  // for a choice, in the order of its enum: "off|text|json"
  std::string_view help;     // one line
};

enum class stats_mode : std::uint8_t { off, text, json, openmetrics };
enum class thp_mode : std::uint8_t { automatic, enabled, disabled };

// True in builds of the guard preset, where the checks of `guard` are on unless switched off.
inline constexpr bool uses_guard_by_default = TARN_GUARD != 0;

inline constexpr std::uint64_t max_milliseconds = 3'600'000;        // an hour
inline constexpr std::uint64_t max_bytes = std::uint64_t{1} << 47;  // the address space of a process
inline constexpr std::uint64_t max_samples_apart = 1'000'000'000;
inline constexpr std::uint64_t max_thread_heaps = 1'000'000;
inline constexpr std::size_t max_path_bytes = 1023;
inline constexpr std::size_t max_option_name_bytes = 32;

inline constexpr option_info option_table[] = {
    {option_id::purge_delay_ms, "purge_delay_ms", option_kind::milliseconds, "500", 0, max_milliseconds, "",
     "Milliseconds that empty memory stays with the process before it goes back to the system; 0: at once."},
    {option_id::stats, "stats", option_kind::choice, "off", 0, 0, "off|text|json|openmetrics",
     "Statistics printed at exit, on standard error or to stats_file; counting slows every call down."},
    {option_id::stats_file, "stats_file", option_kind::path, "", 0, max_path_bytes, "",
     "File for the statistics instead of standard error; tarn run empties it first, then each process appends."},
    {option_id::guard, "guard", option_kind::flag, uses_guard_by_default ? "1" : "0", 0, 1, "",
     "1: finds overruns, uses after free, double frees and wrong sizes, with sites; all threads share one slow heap."},
    {option_id::thp, "thp", option_kind::choice, "auto", 0, 0, "auto|on|off",
     "Transparent huge pages: auto leaves the choice to the system, on asks for them, off refuses them."},
    {option_id::limit, "limit", option_kind::bytes, "0", 0, max_bytes, "",
     "Most bytes that all heaps of the process together may hold; 0: no limit."},
    {option_id::initial, "initial", option_kind::bytes, "0", 0, max_bytes, "",
     "Bytes mapped and touched for each new thread's heap: 2 GiB for 32 threads at 64M; 0: none."},
    {option_id::increment, "increment", option_kind::bytes, "0", 0, max_bytes, "",
     "Bytes mapped at a time when the heaps of all threads need more, 2M to 64M; 0: as many as are in use, 4M to 64M."},
    {option_id::background_purge, "background_purge", option_kind::flag, "1", 0, 1, "",
     "1: a helper thread also gives empty memory back while the program idles; it ends before setuid and seccomp."},
    {option_id::sample_guards, "sample_guards", option_kind::number, "5000", 0, max_samples_apart, "",
     "Puts one in this many allocations between inaccessible pages, to find misuse; 0, limit and guard turn it off."},
    {option_id::harden, "harden", option_kind::flag, "0", 0, 1, "",
     "1: finds writes after free, overruns and wrong sizes, in 1.04 to 1.9 times the time; guard=1 replaces it."},
    {option_id::thread_heaps, "thread_heaps", option_kind::number, "0", 0, max_thread_heaps, "",
     "Threads at a time that have heaps of their own; further ones share four heaps for each processor; 0: all."},
};
inline constexpr std::size_t option_count = sizeof option_table / sizeof option_table[0];

constexpr const option_info& info(option_id id) noexcept { return option_table[static_cast<std::size_t>(id)]; }

// The values that the engine reads. A default-constructed object has the table's defaults.
struct options {
  std::uint32_t purge_delay_ms = 500;
  stats_mode stats = stats_mode::off;
  thp_mode thp = thp_mode::automatic;
  bool uses_guard = uses_guard_by_default;
  bool purges_in_background = true;
  bool is_hardened = false;
  std::uint32_t sample_guards = 5000;  // 0: none; 1: each, until no slot is left
  std::uint32_t thread_heaps = 0;      // 0: no limit
  std::uint64_t limit = 0;             // bytes; 0: no limit
  std::uint64_t initial = 0;           // bytes
  std::uint64_t increment = 0;         // bytes; 0: as needed
  // Empty: standard error. This is a copy, because a program may overwrite its environment (setproctitle does).
  char stats_file[max_path_bytes + 1] = {};
};

// The option's name in the environment: TARN_ and the name in upper case. It is cheap to compute.
struct environment_name {
  static constexpr std::string_view prefix = "TARN_";
  char bytes[prefix.size() + max_option_name_bytes] = {};
  std::size_t size = 0;

  explicit constexpr environment_name(const option_info& option) noexcept {
    for (const char letter : prefix) bytes[size++] = letter;
    for (const char letter : option.name) {
      bytes[size++] = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
  }
  constexpr std::string_view view() const noexcept { return {bytes, size}; }
};

// Returns the option called `name` (lower case, no prefix), or none.
std::optional<option_id> find_option(std::string_view name) noexcept;

// Returns the option with the most similar name, or none if no name is so similar that `name` is probably a slip.
std::optional<option_id> nearest_option(std::string_view name) noexcept;

// Sets the field of `id` in `target` from `value` and returns true. For a malformed value it returns false, leaves
// `target` unchanged, and sets `reason` ("not a number of milliseconds from 0 to 3600000").
[[nodiscard]] bool parse_option(options& target, option_id id, std::string_view value, text& reason) noexcept;

// Appends the value of the option `id` in `source`, as a user writes it.
void append_value(text& line, const options& source, option_id id) noexcept;

// Called with each message about a wrong entry: one line with its newline.
using report_function = void (*)(std::string_view line) noexcept;

// Sets `target` from the TARN_* entries of `environment` (like `environ`: "NAME=value" pointers with a null at the
// end; may itself be null). A malformed value or an unknown name is reported and changes nothing. Of two entries with
// the same name the first one counts, as with getenv. Does nothing in a set-uid or set-gid program (AT_SECURE), whose
// environment another user may have set.
void load_from_environment(options& target, const char* const* environment, report_function report) noexcept;

// The options of this process. They are defaults until load_from_environment was called on them. They are written
// while the process has one thread, and only read afterwards.
extern constinit options process_options;
inline options& current_options() noexcept { return process_options; }

namespace options_detail {
consteval bool table_is_in_order() {
  for (std::size_t row = 0; row < option_count; ++row) {
    if (static_cast<std::size_t>(option_table[row].id) != row) return false;
    if (option_table[row].name.size() > max_option_name_bytes) return false;
  }
  return true;
}
static_assert(table_is_in_order(),
              "option_table has one row for each option_id, in that order, and no name is too long");
}  // namespace options_detail

}  // namespace tarn::base
