// Allocates and locks in several threads, checks its own answers, and obeys lines on its input: the subject of
// recordings that begin or end while a program runs.
//
//   attached [THREADS [signals] [forks] [loads FILE] [sleepers N]]
//
// With "signals" a thread sends the first one signals all the time, whose handler has a stack of its own, and each that
// is lost is a wrong answer. With "forks" a thread makes children all the time, with "loads" one loads and unloads a
// library, and with "sleepers" N threads wait.
// It obeys the lines of its input. "blocks N" allocates N large blocks at one place and frees them, "hold N" allocates
// as many at another and keeps them until "drop". "fork" has a child allocate and checks its end, "fork bare" has two
// that no handler of fork knows of, "vfork" lends its thread to a child until that is killed, "plugin FILE N" loads a
// library that allocates, "filter" forbids itself some system calls, "leave" waits for a byte with addresses of
// malloc's code on its stack, and "exec" becomes cat. At the end of its input it prints how many answers were wrong,
// and exits with 3.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t large_bytes = 64 * 1024;  // each is sampled where an interval is 1 KiB

std::atomic<bool> must_end = false;
std::atomic<unsigned long> wrong = 0, rounds = 0;
std::mutex shared_mutex;
unsigned long shared_sum = 0;  // guarded by shared_mutex

struct block {
  unsigned char* start;
  std::size_t bytes;
  unsigned char mark;
};

block make_block(unsigned round) {
  const std::size_t bytes = 16 + round * 37 % 3000;
  void* start = nullptr;
  switch (round % 4) {
    case 0: start = std::malloc(bytes); break;
    case 1: start = std::calloc(1, bytes); break;
    case 2: start = std::realloc(std::malloc(bytes / 2), bytes); break;
    default:
      if (::posix_memalign(&start, 64, bytes) != 0) start = nullptr;
  }
  if (start == nullptr) std::abort();
  if (round % 4 == 1 && static_cast<unsigned char*>(start)[bytes - 1] != 0) ++wrong;
  const auto mark = static_cast<unsigned char>(round);
  std::memset(start, mark, bytes);
  return {static_cast<unsigned char*>(start), bytes, mark};
}

void check_and_free(const block& old) {
  for (std::size_t index = 0; index < old.bytes; ++index) {
    if (old.start[index] != old.mark) ++wrong;
  }
  std::free(old.start);
}

void work(unsigned seed) {
  std::vector<block> blocks;
  unsigned long added = 0;
  for (unsigned round = seed; !must_end; ++round) {
    blocks.push_back(make_block(round));
    const auto text = std::make_unique<std::string>(200, static_cast<char>('a' + round % 26));
    if ((*text)[199] != static_cast<char>('a' + round % 26)) ++wrong;
    if (blocks.size() == 100) {
      for (const block& old : blocks) check_and_free(old);
      blocks.clear();
    }
    const std::lock_guard lock(shared_mutex);
    ++shared_sum;
    ++added;
  }
  for (const block& old : blocks) check_and_free(old);
  rounds += added;
}

void bear_threads() {
  while (!must_end) {
    std::thread([] { check_and_free(make_block(static_cast<unsigned>(rounds++ * 7))); }).join();
    {
      const std::lock_guard lock(shared_mutex);
      ++shared_sum;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::atomic<unsigned long> handled = 0;

// Signals from SIGRTMIN on are queued and never merged.
void send_signals(pthread_t target) {
  constexpr unsigned long max_waiting_blocks = 50;
  unsigned long sent = 0;
  while (!must_end) {
    if (sent - handled < max_waiting_blocks && ::pthread_kill(target, SIGRTMIN) == 0) ++sent;
  }
  for (int tenths = 0; handled != sent && tenths < 100; ++tenths)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  wrong += sent - handled;
}

[[gnu::noinline]] void allocate_large(int count) {
  for (int number = 0; number < count; ++number) {
    void* volatile const start = std::malloc(large_bytes);
    std::free(start);
  }
}

std::vector<void*> held_blocks(1000);  // it does not grow where the heap is recorded
std::size_t held_count = 0;
[[gnu::noinline]] void hold_large(int count) {
  for (int number = 0; number < count; ++number) held_blocks.at(held_count++) = std::malloc(large_bytes);
}
void drop_large() {
  while (held_count > 0) std::free(held_blocks[--held_count]);
}

void wait_for_child(pid_t child, int blocks) {
  if (child == 0) {
    for (int count = 0; count < blocks; ++count) std::free(std::malloc(8));
    allocate_large(blocks);
    ::_exit(wrong == 0 ? 7 : 8);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) ++wrong;
}

void fork_a_child(int blocks) { wait_for_child(::fork(), blocks); }

// These call no handlers of fork.
void fork_bare_children(int blocks) {
  wait_for_child(::_Fork(), blocks);
  wait_for_child(static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)), blocks);
}

// The child shares this process's memory and changes nothing in it.
void lend_thread() {
  const pid_t child = ::vfork();
  if (child == 0) {
    for (;;) ::pause();
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) ++wrong;
}

void run_plugin(const std::string& file, int blocks) {
  void* const plugin = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) std::abort();
  const auto allocate = reinterpret_cast<void (*)(int)>(::dlsym(plugin, "allocate_in_plugin"));
  allocate(blocks);
  ::dlclose(plugin);
}

// Ends the process at a call that it does not make itself, and that a recorder could make in it.
void filter_calls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter = {sizeof program / sizeof *program, program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) std::abort();
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0) std::abort();
}

// Waits for a byte, with addresses on the stack that calls of malloc may have left there.
void wait_beside_left_over_addresses() {
  const auto* const code = static_cast<const unsigned char*>(::dlsym(RTLD_DEFAULT, "malloc"));
  const void* const call = std::memchr(code, 0xe8, 4096);
  if (call == nullptr) std::abort();
  volatile std::uintptr_t left_over[16];
  for (volatile std::uintptr_t& address : left_over) address = reinterpret_cast<std::uintptr_t>(call) + 5;
  std::cout << "waits" << std::endl;
  char byte;
  if (::read(STDIN_FILENO, &byte, 1) != 1 || left_over[0] != left_over[15]) std::abort();
}

std::mutex sleeping_mutex;
std::condition_variable sleeping_ends;
void sleep_to_the_end() {
  std::unique_lock lock(sleeping_mutex);
  sleeping_ends.wait(lock, [] { return must_end.load(); });
}

void handle_signals_on_a_stack() {
  static char stack[64 * 1024];
  const stack_t signal_stack{stack, 0, sizeof stack};
  struct sigaction action {};
  action.sa_handler = [](int) { ++handled; };
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  if (::sigaltstack(&signal_stack, nullptr) != 0 || ::sigaction(SIGRTMIN, &action, nullptr) != 0) std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 2;
  std::vector<std::thread> workers;
  for (int number = 0; number < threads; ++number) workers.emplace_back(work, static_cast<unsigned>(number * 1000));
  if (threads > 0) workers.emplace_back(bear_threads);
  for (int number = 2; number < count; ++number) {
    const std::string mode = arguments[number];
    if (mode == "signals") {
      handle_signals_on_a_stack();
      workers.emplace_back(send_signals, ::pthread_self());
    } else if (mode == "forks") {
      workers.emplace_back([] {
        while (!must_end) fork_a_child(10);
      });
    } else if (mode == "loads") {
      workers.emplace_back([file = arguments[++number]] {
        while (!must_end) run_plugin(file, 1);
      });
    } else if (mode == "sleepers") {
      for (int left = std::atoi(arguments[++number]); left > 0; --left) workers.emplace_back(sleep_to_the_end);
    }
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with("blocks ")) allocate_large(std::atoi(line.c_str() + 7));
    if (line.starts_with("hold ")) hold_large(std::atoi(line.c_str() + 5));
    if (line == "drop") drop_large();
    if (line == "fork") fork_a_child(1000);
    if (line == "fork bare") fork_bare_children(1000);
    if (line == "vfork") lend_thread();
    if (line == "filter") filter_calls();
    if (line == "leave") wait_beside_left_over_addresses();
    if (line.starts_with("plugin ")) {
      const std::size_t space = line.rfind(' ');
      run_plugin(line.substr(7, space - 7), std::atoi(line.c_str() + space));
    }
    if (line == "exec") ::execlp("cat", "cat", nullptr);
    std::cout << "done" << std::endl;
  }
  {
    const std::lock_guard lock(sleeping_mutex);
    must_end = true;
  }
  sleeping_ends.notify_all();
  for (std::thread& worker : workers) worker.join();
  std::cout << wrong << " wrong" << std::endl;
  return wrong == 0 ? 3 : 4;
}
