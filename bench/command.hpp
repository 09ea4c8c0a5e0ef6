// The command line that both programs share; every answer is one line of JSON.
#pragma once
#include <gnu/libc-version.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "footprint.hpp"
#include "measure.hpp"
#include "steady.hpp"

namespace bench {

inline constexpr const char* usage =
    "usage: PROGRAM facts | PROGRAM rows | PROGRAM row NAME REPETITIONS | PROGRAM steady STEPS plain|traced | PROGRAM "
    "footprint KIND\n";

template <class Front>
int list_rows() {
  for (const row& listed : all_rows<Front>())
    std::printf(
        "{\"form\":\"%s\",\"row\":\"%s\",\"threads\":%u,\"units\":%llu,\"budget\":%g,\"baseline\":%s,\"pools\":%s}\n",
        Front::name, listed.name.c_str(), listed.threads, static_cast<unsigned long long>(listed.units), listed.budget,
        listed.is_baseline ? "true" : "false", listed.is_for_pools ? "true" : "false");
  return 0;
}

inline int tell_facts() {
#if defined(__clang__)
  const char* const compiler = "Clang " __clang_version__;
#else
  const char* const compiler = "GCC " __VERSION__;
#endif
  std::printf("{\"compiler\":\"%s\",\"libc\":\"glibc %s\"}\n", compiler, gnu_get_libc_version());
  return 0;
}

template <class Front>
int run_row(const char* name, std::uint64_t repetitions) {
  for (const row& candidate : all_rows<Front>()) {
    if (candidate.name != name) continue;
    const outcome result = measure(candidate, repetitions);
    const double units = static_cast<double>(repetitions) * static_cast<double>(candidate.units);
    std::printf(
        "{\"form\":\"%s\",\"row\":\"%s\",\"malloc\":\"%s\",\"wall_ns\":%lld,\"ns\":%.4f,\"processor_ns\":%.4f,"
        "\"checksum\":\"%016llx\",\"peak_kib\":%ld,\"faults\":%ld}\n",
        Front::name, name, malloc_provider(), static_cast<long long>(result.wall_ns),
        static_cast<double>(result.wall_ns) / units,
        static_cast<double>(result.processor_ns) / units / candidate.threads,
        static_cast<unsigned long long>(result.checksum), peak_kib(), page_faults());
    return 0;
  }
  std::fprintf(stderr, "bench: no row %s in the form %s\n", name, Front::name);
  return 2;
}

/// `arguments` are those after the program's name (and after the form's name in bench-inline).
template <class Front>
int command(int count, char** arguments) {
  const auto is_word = [&](int position, const char* word) {
    return position < count && std::strcmp(arguments[position], word) == 0;
  };
  const auto number = [&](int position) { return std::max(1ull, std::strtoull(arguments[position], nullptr, 10)); };
  if (is_word(0, "facts") && count == 1) return tell_facts();
  if (is_word(0, "rows") && count == 1) return list_rows<Front>();
  if (is_word(0, "row") && count == 3) return run_row<Front>(arguments[1], number(2));
  if constexpr (requires(Front f) { f.allocate(1); }) {
    if (is_word(0, "steady") && count == 3 && (is_word(2, "plain") || is_word(2, "traced")))
      return run_steady<Front>(number(1), is_word(2, "traced"));
    if (is_word(0, "footprint") && count == 2) return run_footprint<Front>(arguments[1]);
  }
  std::fputs(usage, stderr);
  return 2;
}

}  // namespace bench
