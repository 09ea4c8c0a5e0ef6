// Measures the cost of each locking category and of the alternatives, in one interleaved run:
//   bench-sync [--rounds N] [--ms N] [--check]
// In each round every form does every row once, for --ms milliseconds. The figure is the least of the rounds, which
// keeps other work on the machine out of it; the median is next to it. Unit: ns for each operation of one thread.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "forms.hpp"
#include "urcu_forms.hpp"

namespace {

using namespace bench;
using bench_clock = std::chrono::steady_clock;

struct settings {
  int rounds = 21;
  int ms = 20;
} options;

double ns_since(bench_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(bench_clock::now() - start).count();
}

struct nothing {};
template <class Form>
auto membership() {
  if constexpr (requires { typename Form::member; }) {
    return typename Form::member{};
  } else {
    return nothing{};
  }
}

/// Runs the same code at the same address for each row of a form: a loop's alignment can cost it a quarter.
template <class Operation>
[[gnu::noinline, gnu::aligned(64)]] void batch(const Operation& operation, int thread) {
  for (int round = 0; round < 64; ++round) operation(thread);
}

/// `threads` threads call operation(thread) in batches until the time is over; `meanwhile` runs beside them.
template <class Form, class Operation, class Meanwhile>
double run(int threads, Operation operation, Meanwhile meanwhile) {
  std::atomic<bool> must_stop{false};
  std::barrier barrier(threads + 1);
  std::vector<double> ns_of_thread(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      const auto member = membership<Form>();
      static_cast<void>(member);
      operation(thread);
      barrier.arrive_and_wait();
      long operations = 0;
      const auto start = bench_clock::now();
      do {
        batch(operation, thread);
        operations += 64;
      } while (!must_stop.load(std::memory_order_relaxed));
      ns_of_thread[static_cast<std::size_t>(thread)] = ns_since(start) / static_cast<double>(operations);
    });
  }
  barrier.arrive_and_wait();
  const auto end = bench_clock::now() + std::chrono::milliseconds(options.ms);
  while (bench_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    meanwhile();
  }
  must_stop = true;
  for (std::thread& thread : running) thread.join();
  return *std::max_element(ns_of_thread.begin(), ns_of_thread.end());
}

void use(long value) { asm volatile("" : : "r"(value) : "memory"); }

struct table {
  std::vector<std::string> rows, forms;
  std::map<std::string, std::map<std::string, std::vector<double>>> samples;  // form, row

  void add(const char* form, const char* row, double ns) {
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
    samples[form][row].push_back(ns);
  }
  void print(const char* title) {
    fmt::print("\n{:<42}", title);
    for (const std::string& row : rows) fmt::print("{:>26}", row);
    fmt::print("\n");
    for (const std::string& form : forms) {
      fmt::print("{:<42}", form);
      for (const std::string& row : rows) {
        std::vector<double>& values = samples[form][row];
        std::sort(values.begin(), values.end());
        fmt::print("{:>26}",
                   values.empty() ? "–" : fmt::format("{:.2f} ({:.1f})", values.front(), values[values.size() / 2]));
      }
      fmt::print("\n");
    }
  }
};

template <class Form>
void read_rows(table& results) {
  static Form form;
  const auto read = [](int) { use(form.read()); };
  results.add(Form::name, "1 reader", run<Form>(1, read, [] {}));
  results.add(Form::name, "2 readers", run<Form>(2, read, [] {}));
  if constexpr (requires { form.write(1); }) {
    double spent = 0, writes = 0;
    const double ns = run<Form>(1, read, [&] {
      const auto start = bench_clock::now();
      form.write(1);
      spent += ns_since(start);
      ++writes;
    });
    results.add(Form::name, "1 reader, 1 writer", ns);
    results.add(Form::name, "a write then", spent / writes);
  }
}

template <class Form>
void change_rows(table& results) {
  static Form form;
  const auto change = [](int) { form.add(); };
  results.add(Form::name, "1 thread", run<Form>(1, change, [] {}));
  results.add(Form::name, "2 threads", run<Form>(2, change, [] {}));
}

template <class Form>
void pair_rows(table& results) {
  static Form form;
  results.add(Form::name, "1 thread",
              run<Form>(
                  1, [](int) { form.add(0); }, [] {}));
  results.add(Form::name, "2, same order",
              run<Form>(
                  2, [](int) { form.add(0); }, [] {}));
  results.add(Form::name, "2, opposite orders",
              run<Form>(
                  2, [](int thread) { form.add(thread); }, [] {}));
}

template <class... Forms>
void all_reads(table& results) {
  (read_rows<Forms>(results), ...);
}
template <class... Forms>
void all_changes(table& results) {
  (change_rows<Forms>(results), ...);
}
template <class... Forms>
void all_pairs(table& results) {
  (pair_rows<Forms>(results), ...);
}

}  // namespace

int main(int count, char** arguments) {
  for (int position = 1; position < count; ++position) {
    const auto number = [&] { return position + 1 < count ? std::max(1, std::atoi(arguments[++position])) : 1; };
    if (std::strcmp(arguments[position], "--rounds") == 0) {
      options.rounds = number();
    } else if (std::strcmp(arguments[position], "--ms") == 0) {
      options.ms = number();
    } else if (std::strcmp(arguments[position], "--check") == 0) {
      options = {.rounds = 1, .ms = 1};
    } else {
      fmt::print(stderr, "usage: bench-sync [--rounds N] [--ms N] [--check]\n");
      return 2;
    }
  }
  table reads, changes, pairs;
  for (int round = 0; round < options.rounds; ++round) {
    all_reads<constant, our_read_only, our_reloadable, our_shared, our_shared_readers, std_mutex, std_shared_mutex,
#if BENCH_PEERS
              std_atomic_shared_ptr,
#endif
#if BENCH_URCU
              urcu_qsbr_form, urcu_memb_form, urcu_bp_form,
#endif
              epochs, fenced_hazards, masked_hazards>(reads);
    all_changes<our_shared, our_shared_spin, std_mutex, std_shared_mutex>(changes);
    all_pairs<our_two, scoped_two, ordered_two>(pairs);
  }
#if BENCH_PEERS && !BENCH_URCU
  fmt::print(stderr, "liburcu is skipped: it is not installed (package liburcu-dev)\n");
#endif
  fmt::print("ns, the least of {} rounds of {} ms (the median behind it)\n", options.rounds, options.ms);
  reads.print("read four words of what is replaced");
  changes.print("change under a lock");
  pairs.print("change under two locks");
  return 0;
}
