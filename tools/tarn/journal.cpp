// `tarn journal cat|tail|check|append`: shows what is in a journal, also while a program appends to it.
#include <fmt/format.h>
#include <unistd.h>
#include <tarn/io.hpp>
#include <tarn/io/format.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "tarn/commands.hpp"
#include "tarn/failure.hpp"

namespace tarn::command {
namespace {

using condition = io::journal_line::condition;

struct journal_words {
  std::string path;
  bool with_numbers = false;
  std::size_t last = 10;
  io::journal_options made;
};

io::writer output() { return io::writer(io::file::borrow(STDOUT_FILENO, "standard output")); }

const char* reason(condition is) {
  return is == condition::torn ? "is torn: its append had not returned" : "is damaged: it is not what was appended";
}

// Prints the lines from `first` on. A line that cannot be shown is named on standard error, in order with the others.
void show(const io::journal_reader& from, const journal_words& words, std::size_t first) {
  io::writer out = output();
  for (std::size_t at = first; at < from.lines().size(); ++at) {
    const io::journal_line& line = from.lines()[at];
    if (line.is == condition::whole) {
      if (words.with_numbers) io::print(out, "{}\t", line.number);
      out.line(line.text);
    } else {
      out.flush();
      fmt::print(stderr, "tarn: {}: line {} {}\n", words.path, line.number, reason(line.is));
    }
  }
  out.close();
}

void cat(const journal_words& words) { show(io::journal_reader(words.path), words, 0); }

void tail(const journal_words& words) {
  const io::journal_reader from(words.path);
  show(from, words, from.lines().size() - std::min(words.last, from.lines().size()));
}

void check(const journal_words& words) {
  const io::journal_reader from(words.path);
  const std::size_t whole = from.lines().size() - from.torn() - from.damaged();
  io::writer out = output();
  io::print_line(out, "{}: {} lines whole, {} torn, {} damaged, {} pieces lost", words.path, whole, from.torn(),
                 from.damaged(), from.lost_pieces());
  if (!from.lines().empty()) {
    const auto [least, most] =
        std::minmax_element(from.lines().begin(), from.lines().end(),
                            [](const auto& one, const auto& other) { return one.number < other.number; });
    io::print_line(out, "numbers {} to {}", least->number, most->number);
  }
  for (const io::journal_line& line : from.lines()) {
    if (line.is != condition::whole) io::print_line(out, "line {} {}", line.number, reason(line.is));
  }
  out.close();
  if (from.damaged() != 0 || from.lost_pieces() != 0) throw failure(exit_code::damaged, words.path + ": is damaged");
}

void append(const journal_words& words) {
  io::journal to(words.path, words.made);
  io::reader in(io::file::borrow(STDIN_FILENO, "standard input"));
  io::writer out = output();
  while (const auto line = in.line()) {
    const std::uint64_t number = to.append(*line);
    io::print_line(out, "{}", number);
    // A caller that waits for a number gets it before this command waits for the next line.
    if (in.buffered().find('\n') == std::string_view::npos) out.flush();
  }
  out.close();
}

CLI::App* add(CLI::App& to, const char* name, const char* help, const std::shared_ptr<journal_words>& words,
              void (*run)(const journal_words&)) {
  CLI::App* const command = to.add_subcommand(name, help);
  command->add_option("FILE", words->path, "the journal")->required();
  command->callback([words, run] { run(*words); });
  return command;
}

}  // namespace

void add_journal(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("journal", "Read a journal or append to it: cat, tail, check, append.");
  command->require_subcommand(1);
  const auto words = std::make_shared<journal_words>();
  const char* const numbers = "each line after its number and a tab";
  add(*command, "cat", "Print all lines, in the order of their appends.", words, cat)
      ->add_flag("-n,--numbers", words->with_numbers, numbers);
  CLI::App* const last = add(*command, "tail", "Print the newest lines.", words, tail);
  last->add_flag("--numbers", words->with_numbers, numbers);
  last->add_option("-n,--lines", words->last, "how many")->capture_default_str();
  add(*command, "check", "Say what is in it, and exit with 1 where it is damaged (not for a torn line).", words, check);
  CLI::App* const more =
      add(*command, "append", "Append each line of standard input, and print its number once it cannot be lost.", words,
          append);
  more->add_option("--bytes", words->made.bytes, "size of a new journal: 1M, 64M")->transform(CLI::AsSizeValue(false));
  words->made.prepare = 0;  // a few lines do not touch most of it
}

}  // namespace tarn::command
