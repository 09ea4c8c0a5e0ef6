// Forks workers that live on, as a server does: the subject of recordings of several processes of one family.
//
//   prefork [breeds N]
//
// It obeys the lines of its input. "fork" and "fork bare" make a worker, the second one without the handlers of fork,
// and print its process number. "to NUMBER LINE" gives a worker a line, which obeys the same lines. "blocks N"
// allocates N blocks at one place and frees them, and "thread" begins a thread that does so until the end. With
// "breeds" a thread makes N workers, one after the other, from "begin" on; "bred" prints their numbers when there are
// all. At the end of its input a process ends its workers, and exits with 3 if none had a wrong answer.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t large_bytes = 64 * 1024;  // each is sampled where an interval is 1 KiB
constexpr int success = 3;

std::map<pid_t, int> workers;  // with the end of each one's input
std::atomic<bool> must_end = false;
std::vector<std::thread> threads;

void answer(const std::string& text) {
  const std::string line = text + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

[[gnu::noinline]] void allocate_large(int count) {
  for (int number = 0; number < count; ++number) {
    auto* volatile const start = static_cast<char*>(std::malloc(large_bytes));
    std::memset(start, number, large_bytes);
    if (start[large_bytes - 1] != static_cast<char>(number)) std::abort();
    std::free(start);
  }
}

int obey();

pid_t make_worker(bool is_bare) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t worker = is_bare ? ::_Fork() : ::fork();
  if (worker < 0) std::abort();
  if (worker == 0) {
    for (const auto& [number, end] : workers) ::close(end);
    workers.clear();
    ::close(ends[1]);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    for (std::thread& thread : threads) thread.detach();  // they are in the parent alone
    threads.clear();
    ::_exit(obey());
  }
  ::close(ends[0]);
  workers[worker] = ends[1];
  return worker;
}

std::atomic<bool> may_breed = false, has_bred = false;
void breed(int count) {
  while (!may_breed) std::this_thread::yield();
  for (; count > 0; --count) {
    make_worker(false);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  has_bred = true;
}

// Reads without a buffer, which a worker would inherit.
bool read_line(std::string& line) {
  line.clear();
  char letter;
  while (::read(STDIN_FILENO, &letter, 1) == 1) {
    if (letter == '\n') return true;
    line += letter;
  }
  return false;
}

void obey_line(const std::string& line) {
  std::istringstream input(line);
  std::string verb;
  input >> verb;
  if (verb == "fork") {
    std::string manner;
    input >> manner;
    return answer(std::to_string(make_worker(manner == "bare")));
  }
  if (verb == "to") {
    pid_t worker;
    std::string order;
    input >> worker >> std::ws;
    std::getline(input, order);
    order += '\n';
    if (::write(workers.at(worker), order.data(), order.size()) < 0) std::abort();
    return;  // the worker answers
  }
  if (verb == "blocks") {
    int count;
    input >> count;
    allocate_large(count);
  } else if (verb == "thread") {
    threads.emplace_back([] {
      while (!must_end) allocate_large(1);
    });
  } else if (verb == "begin") {
    may_breed = true;
  } else if (verb == "bred") {
    while (!has_bred) std::this_thread::yield();
    std::string numbers;
    for (const auto& [number, end] : workers) numbers += std::to_string(number) + " ";
    return answer(numbers);
  }
  answer("done");
}

int obey() {
  for (std::string line; read_line(line);) obey_line(line);
  must_end = true;
  for (std::thread& thread : threads) thread.join();
  int result = success;
  for (const auto& [worker, end] : workers) ::close(end);
  for (const auto& [worker, end] : workers) {
    int status = 0;
    if (::waitpid(worker, &status, 0) != worker || !WIFEXITED(status) || WEXITSTATUS(status) != success) result = 4;
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 2 && std::strcmp(arguments[1], "breeds") == 0) threads.emplace_back(breed, std::atoi(arguments[2]));
  answer("ready");
  return obey();
}
