// `tarn journal cat|tail|check|append`: shows what is in a journal, also while a program appends to it.
#include <fmt/format.h>
#include <unistd.h>
#include <tarn/io.hpp>
#include <tarn/io/format.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"

namespace tarn::command {
namespace {

using condition = io::journal_line::condition;

struct journal_request {
  std::string path;
  bool has_numbers = false;
  std::size_t last = 10;
  io::journal_options creation;
};

io::writer output() { return io::writer(io::file::borrow(STDOUT_FILENO, "standard output")); }

const char* reason(condition state) {
  return state == condition::torn ? "is torn: its append had not returned" : "is damaged: it is not what was appended";
}

// Prints the lines from `first` on. A line that cannot be shown is named on standard error, in order with the others.
void show(const io::journal_reader& reader, const journal_request& request, std::size_t first) {
  io::writer out = output();
  for (std::size_t index = first; index < reader.lines().size(); ++index) {
    const io::journal_line& line = reader.lines()[index];
    if (line.state == condition::whole) {
      if (request.has_numbers) io::print(out, "{}\t", line.number);
      out.line(line.text);
    } else {
      out.flush();
      fmt::print(stderr, "tarn: {}: line {} {}\n", request.path, line.number, reason(line.state));
    }
  }
  out.close();
}

void cat(const journal_request& request) { show(io::journal_reader(request.path), request, 0); }

void tail(const journal_request& request) {
  const io::journal_reader reader(request.path);
  show(reader, request, reader.lines().size() - std::min(request.last, reader.lines().size()));
}

void check(const journal_request& request) {
  const io::journal_reader reader(request.path);
  const std::size_t whole = reader.lines().size() - reader.torn() - reader.damaged();
  io::writer out = output();
  io::print_line(out, "{}: {} lines whole, {} torn, {} damaged, {} pieces lost", request.path, whole, reader.torn(),
                 reader.damaged(), reader.lost_pieces());
  if (!reader.lines().empty()) {
    const auto [lowest, highest] =
        std::minmax_element(reader.lines().begin(), reader.lines().end(),
                            [](const auto& left, const auto& right) { return left.number < right.number; });
    io::print_line(out, "numbers {} to {}", lowest->number, highest->number);
  }
  for (const io::journal_line& line : reader.lines()) {
    if (line.state != condition::whole) io::print_line(out, "line {} {}", line.number, reason(line.state));
  }
  out.close();
  if (reader.damaged() != 0 || reader.lost_pieces() != 0)
    throw failure(exit_code::check_failed, request.path + ": is damaged");
}

void append(const journal_request& request) {
  io::journal journal(request.path, request.creation);
  io::reader input(io::file::borrow(STDIN_FILENO, "standard input"));
  io::writer out = output();
  while (const auto line = input.line()) {
    const std::uint64_t number = journal.append(*line);
    io::print_line(out, "{}", number);
    // A caller that waits for a number gets it before this command waits for the next line.
    if (input.buffered().find('\n') == std::string_view::npos) out.flush();
  }
  out.close();
}

CLI::App* add(CLI::App& parent, const char* name, const char* help, const std::shared_ptr<journal_request>& request,
              void (*run)(const journal_request&)) {
  CLI::App* const command = parent.add_subcommand(name, help);
  command->add_option("FILE", request->path, "journal file")->required();
  command->callback([request, run] { run(*request); });
  return command;
}

}  // namespace

void add_journal(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("journal", "Read a journal or append to it: cat, tail, check, append.");
  command->require_subcommand(1);
  const auto request = std::make_shared<journal_request>();
  const char* const numbers = "print the number and a tab before each line";
  add(*command, "cat", "Print all lines, oldest first.", request, cat)
      ->add_flag("-n,--numbers", request->has_numbers, numbers);
  CLI::App* const last = add(*command, "tail", "Print the newest lines.", request, tail);
  last->add_flag("--numbers", request->has_numbers, numbers);
  last->add_option("-n,--lines", request->last, "number of lines")->capture_default_str();
  add(*command, "check", "Print a summary; exit code 1 if the journal is damaged (a torn line is not damage).", request,
      check);
  CLI::App* const append_command = add(
      *command, "append", "Append each line of standard input; print its number once it is durable.", request, append);
  append_command->add_option("--bytes", request->creation.bytes, "size of a new journal: 1M, 64M")
      ->transform(CLI::AsSizeValue(false));
  request->creation.prepare = 0;  // a few lines do not touch most of it
}

}  // namespace tarn::command
