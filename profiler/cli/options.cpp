// `tarn options`: prints the option table, for a terminal and for docs/reference/options.md.
#include <fmt/format.h>

#include <memory>

#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"

namespace tarn::command {
namespace {

std::string markdown() {
  std::string page =
      "# Options\n\n"
      "<!-- Made by `tarn options --markdown`; a test compares. The table is in src/base/options.hpp. -->\n\n"
      "Set an option for a program as `tarn run --option NAME=VALUE`, or in the environment of any program\n"
      "that runs on `libtarn-malloc.so`. The environment is read once, when the program starts.\n\n"
      "| option | environment | value | default | what it does |\n"
      "|---|---|---|---|---|\n";
  for (const base::option_info& option : all_options()) {
    page += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", option.name, environment_text(option), value_text(option),
                        default_text(option), option.help);
  }
  page +=
      "\n"
      "K and KiB are 1,024 bytes, M and MiB 1,048,576, G and GiB 1,073,741,824.\n"
      "`on` and `off` mean 1 and 0.\n\n"
      "Each process reports a malformed value in the environment in one line on standard error, which\n"
      "names the process, and uses the default. An unknown name that starts with `TARN_` is reported\n"
      "likewise, and changes nothing. `tarn run --option` refuses both. A set-uid or set-gid program\n"
      "ignores the environment.\n\n"
      "`limit` counts slabs of at least 64 KiB and whole size classes, also where their blocks are free:\n"
      "with a limit of 64 MiB a program gets somewhat less. If `initial` does not fit into the available\n"
      "memory of the machine or the control group, one line says so, and threads start without. From 4 MiB\n"
      "on, that memory is read once, for the first thread; what each further thread reserves counts against\n"
      "it.\n\n"
      "`harden` and `guard` cost most in short threads. Threads that each allocate and free 200 blocks of\n"
      "200 sizes, 20 at a time, take 6 times the CPU time with `harden=1` and 16 to 18 times with `guard=1`\n"
      "([costs](../guide/guard.md)). `thread_heaps` is for threads that mostly sleep: a pair of `malloc`\n"
      "and `free` takes 94 ns in a shared heap and 13 in one of the thread's own\n"
      "([costs](../design/thread-heaps.md)). `guard=1` ignores it, and with `harden=1` shared heaps have\n"
      "no quarantine.\n\n"
      "A program that links `libtarn.a` obeys the options of its heaps, such as `TARN_LIMIT`. `stats` only\n"
      "makes them count, and `stats_file` has no effect: nothing is printed at exit, because several copies\n"
      "of the library may be in one process. `tarn::heap::statistics()` returns the counters of a heap.\n\n"
      "In a build of the `guard` preset the default of `guard` is 1.\n";
  return page;
}

}  // namespace

void add_options(CLI::App& application) {
  CLI::App* const command = application.add_subcommand("options", "Print the options that tarn run can set.");
  const auto as_markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *as_markdown, "as the page docs/reference/options.md");
  command->callback([as_markdown] { fmt::print("{}", *as_markdown ? markdown() : option_list(100)); });
}

}  // namespace tarn::command
