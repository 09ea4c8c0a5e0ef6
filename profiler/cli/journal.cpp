// `tarn journal cat|tail|export|check|append`: shows the lines of a journal, also while a program appends to it.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <tarn/io.hpp>
#include <tarn/io/format.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/journal_follower.hpp"
#include "profiler/cli/log_lines.hpp"
#include "profiler/cli/option_text.hpp"

namespace tarn::command {
namespace {

using condition = io::journal_line::condition;

struct journal_request {
  std::string path;
  bool has_numbers = false;
  std::optional<std::size_t> last;
  bool is_followed = false;
  std::string since, level;  // as the user wrote them
  bool is_otlp = false;
  std::string service = "unknown_service";  // the name that OpenTelemetry uses where there is none
  log_selection selection;
  io::journal_options creation;
};

io::writer output() { return io::writer(io::file::borrow(STDOUT_FILENO, "standard output")); }

const char* reason(condition state) {
  return state == condition::torn ? "is torn: its append had not returned" : "is damaged: it is not what was appended";
}

// Prints all lines. A line that cannot be shown is reported on standard error, in order with the others.
void cat(const journal_request& request) {
  const io::journal_reader reader(request.path);
  io::writer out = output();
  for (const io::journal_line& line : reader.lines()) {
    if (line.state == condition::whole) {
      if (request.has_numbers) io::print(out, "{}\t", line.number);
      out.line(line.text);
    } else {
      out.flush();
      print_error("tarn: {}: line {} {}\n", request.path, line.number, reason(line.state));
    }
  }
  out.close();
}

// Waits until a journal may have changed. A store into a mapping raises no event, so the journal is read at intervals.
// Truncation and rotation make system calls, which inotify reports at once.
class journal_watch {
 public:
  explicit journal_watch(const std::string& path)
      : folder_(path.find('/') == path.npos ? "." : path.substr(0, path.rfind('/') + 1)),
        ending_(adopt(::signalfd(-1, &end_signals(), SFD_CLOEXEC | SFD_NONBLOCK), "the descriptor of signals")),
        changes_(adopt(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "the descriptor of file changes")) {
    // Without a watch (their number is limited) the interval still finds everything.
    ::inotify_add_watch(changes_.descriptor(), folder_.c_str(), IN_CREATE | IN_MOVED_TO);
    watch_file(path);
  }

  void watch_file(const std::string& path) {
    if (file_ >= 0) ::inotify_rm_watch(changes_.descriptor(), file_);
    file_ = ::inotify_add_watch(changes_.descriptor(), path.c_str(), IN_MODIFY);
  }

  // Returns false when the user ended the command, or when the reader of its output has ended.
  bool wait() {
    constexpr int interval_ms = 100;
    std::array<pollfd, 3> sources = {
        {{ending_.descriptor(), POLLIN, 0}, {changes_.descriptor(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
    ::poll(sources.data(), sources.size(), interval_ms);
    std::array<char, 4096> events;
    while (::read(changes_.descriptor(), events.data(), events.size()) > 0) {
    }
    return sources[0].revents == 0 && (sources[2].revents & (POLLERR | POLLHUP)) == 0;
  }

 private:
  static io::file adopt(int descriptor, const char* name) {
    if (descriptor < 0) throw io::error(errno, name, "cannot be opened");
    return io::file::adopt(descriptor, name);
  }

  // Blocks the signals, so that they end the command between two lines.
  static const sigset_t& end_signals() {
    static const sigset_t signals = [] {
      sigset_t set;
      ::sigemptyset(&set);
      ::sigaddset(&set, SIGINT);
      ::sigaddset(&set, SIGTERM);
      ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
      return set;
    }();
    return signals;
  }

  std::string folder_;
  io::file ending_;
  io::file changes_;
  int file_ = -1;  // the watch of the file
};

// Prints the chosen lines in their order, or keeps the last ones.
class tail_output {
 public:
  explicit tail_output(const journal_request& request) : request_(request) {}

  void keep_last(std::size_t count) { max_lines_ = count; }

  void add(std::uint64_t number, condition state, std::string_view text) {
    if (state != condition::whole) {
      put({fmt::format("tarn: {}: line {} {}\n", request_.path, number, reason(state)), false});
    } else if (std::optional<std::string> line = request_.selection.format_line(number, text)) {
      put({std::move(*line), true});
    }
  }

  // Prints the kept lines; from now on, lines are printed at once.
  void print_kept() {
    max_lines_.reset();
    for (const output_line& line : std::exchange(last_lines_, {})) put(line);
  }

  void flush() { out_.flush(); }
  void close() { out_.close(); }

 private:
  struct output_line {
    std::string text;
    bool is_line;  // of the journal; else a message for standard error
  };

  void put(const output_line& line) {
    if (max_lines_) {
      last_lines_.push_back(line);
      if (last_lines_.size() > *max_lines_) last_lines_.pop_front();
    } else if (line.is_line) {
      out_.line(line.text);
    } else {
      out_.flush();
      print_error("{}", line.text);
    }
  }

  const journal_request& request_;
  std::optional<std::size_t> max_lines_;
  std::deque<output_line> last_lines_;
  io::writer out_ = output();
};

void add_new_lines(journal_follower& journal, tail_output& lines) {
  for (const followed_line& line : journal.take())
    lines.add(line.number, line.is_damaged ? condition::damaged : condition::whole, line.text);
}

// Prints the present lines, then those that are appended, until a signal.
void follow(const journal_request& request, tail_output& lines) {
  journal_watch watch(request.path);
  auto current = std::make_unique<journal_follower>(request.path);
  std::unique_ptr<journal_follower> rotated;  // threads may still append to it until the program has reopened the path
  add_new_lines(*current, lines);
  lines.print_kept();
  lines.flush();
  for (bool goes_on = true; goes_on;) {
    goes_on = watch.wait();
    // Checks for rotation before it reads: a file that has left the path gets no more lines soon, and is read to its
    // end.
    const bool is_current = current->is_at(request.path);
    if (rotated) add_new_lines(*rotated, lines);
    add_new_lines(*current, lines);
    if (!is_current && ::access(request.path.c_str(), F_OK) == 0) {
      rotated = std::exchange(current, std::make_unique<journal_follower>(request.path));
      watch.watch_file(request.path);
      add_new_lines(*current, lines);
    }
    lines.flush();
  }
  lines.close();
}

void tail(const journal_request& base_request) {
  journal_request request = base_request;
  if (!request.since.empty()) request.selection.since = parse_since(request.since);
  if (!request.level.empty()) request.selection.level = parse_level(request.level);
  request.selection.has_numbers = request.has_numbers;
  if (request.selection.includes_other_lines && !request.selection.is_filter())
    fail(exit_code::usage, "--other-lines: needs --level or --since");
  constexpr std::size_t usual = 10;
  tail_output lines(request);
  // A time alone asks for all lines since then, and an export for all lines.
  if (request.last || (request.since.empty() && !request.selection.otlp_service)) {
    lines.keep_last(request.last.value_or(usual));
  }
  if (request.is_followed) return follow(request, lines);
  const io::journal_reader reader(request.path);
  for (const io::journal_line& line : reader.lines()) lines.add(line.number, line.state, line.text);
  lines.print_kept();
  lines.close();
}

void export_lines(const journal_request& base_request) {
  journal_request request = base_request;
  request.selection.otlp_service = base_request.service;
  tail(request);
}

void check(const journal_request& request) {
  const io::journal_reader reader(request.path);
  const std::size_t whole = reader.lines().size() - reader.torn_lines() - reader.damaged_lines();
  io::writer out = output();
  io::print_line(out, "{}: {} lines whole, {} torn, {} damaged, {} pieces lost", request.path, whole,
                 reader.torn_lines(), reader.damaged_lines(), reader.lost_pieces());
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
  if (reader.damaged_lines() != 0 || reader.lost_pieces() != 0)
    throw failure(exit_code::check_failed,
                  request.path + ": the journal is damaged; tarn journal cat prints the lines that are whole");
}

void append(const journal_request& request) {
  io::journal journal(request.path, request.creation);
  io::reader input(io::file::borrow(STDIN_FILENO, "standard input"));
  io::writer out = output();
  while (const auto line = input.line()) {
    const std::uint64_t number = journal.append(*line);
    io::print_line(out, "{}", number);
    // A caller that waits for a number gets it before this command waits for the next line.
    if (input.buffered_text().find('\n') == std::string_view::npos) out.flush();
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
      application.add_subcommand("journal", "Read a journal or append to it: cat, tail, export, check, append.");
  command->require_subcommand(1);
  const auto request = std::make_shared<journal_request>();
  const char* const numbers = "print the number and a tab before each line";
  add(*command, "cat", "Print all lines, oldest first.", request, cat)
      ->add_flag("-n,--numbers", request->has_numbers, numbers);
  CLI::App* const last = add(*command, "tail", "Print the newest lines.", request, tail);
  last->add_flag("--numbers", request->has_numbers, numbers);
  last->add_option("-n,--lines", request->last, "number of lines; 10, or with --since all")
      ->check(refuse_negative)
      ->type_name("N");
  const auto add_selection = [&](CLI::App& chooser) {
    chooser.add_flag("-f,--follow", request->is_followed,
                     "then print what is appended, also after a rotation, until SIGINT or SIGTERM");
    chooser
        .add_option(
            "--since", request->since,
            "only lines of a logger from this time in UTC on (2026-11-22T10:00:00Z), or of the last 90s, 10m, 2h, 7d")
        ->type_name("TIME");
    chooser.add_option("--level", request->level, "only lines of a logger of this level or above")->type_name("LEVEL");
    chooser.add_flag("--other-lines", request->selection.includes_other_lines,
                     "with --since or --level, also print lines that no logger wrote");
  };
  add_selection(*last);
  last->add_flag("--json", request->selection.as_json, "print each line as a JSON object");
  CLI::App* const exported =
      add(*command, "export", "Print all lines in another program's format, oldest first.", request, export_lines);
  exported->add_flag("--otlp", request->is_otlp, "as OTLP/JSON, one LogsData object for each line")->required();
  exported->add_option("--service", request->service, "value of service.name; unknown_service")->type_name("NAME");
  add_selection(*exported);
  add(*command, "check", "Print a summary; exit code 1 if the journal is damaged (a torn line is not damage).", request,
      check);
  CLI::App* const append_command = add(
      *command, "append", "Append each line of standard input; print its number once it is durable.", request, append);
  append_command->add_option("--bytes", request->creation.bytes, "size of a new journal: 1M, 64M")
      ->check(refuse_unless_positive)
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
  request->creation.prefault_bytes = 0;  // a few lines do not touch most of it
}

}  // namespace tarn::command
