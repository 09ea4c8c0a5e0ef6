// Loads libraries at one address in turn. It obeys the lines of its input: "load FILE" prints the address, "run N"
// calls the library N times in each of two threads, one after the other, "close" unloads it, "close unseen"
// does so by the C library's own address of dlclose(), and "fork" has a child obey the lines that follow until "end".
#include <dlfcn.h>
#include <link.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace {

using run_function = void (*)(int);

sem_t due, finished;
run_function run_plugin = nullptr;
int rounds = 0;

// Lives as long as the program, so that it remembers stacks of all libraries.
[[noreturn]] void run_in_thread() {
  for (;;) {
    while (::sem_wait(&due) != 0) {
    }
    run_plugin(rounds);
    ::sem_post(&finished);
  }
}

void run(int count) {
  rounds = count;
  run_plugin(count);
  ::sem_post(&due);
  while (::sem_wait(&finished) != 0) {
  }
}

void obey_lines() {
  void* library = nullptr;
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
    if (line.starts_with("load ")) {
      library = ::dlopen(line.c_str() + 5, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) std::exit(3);
      run_plugin = reinterpret_cast<run_function>(::dlsym(library, "run_plugin"));
      std::cout << static_cast<const link_map*>(library)->l_addr << std::endl;
    } else if (line.starts_with("run ")) {
      run(std::atoi(line.c_str() + 4));
      std::cout << "ran" << std::endl;
    } else if (line.starts_with("close")) {
      void* const c_library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
      const auto close_unseen = reinterpret_cast<int (*)(void*)>(::dlsym(c_library, "dlclose"));
      if ((line == "close" ? ::dlclose : close_unseen)(library) != 0) std::exit(4);
      std::cout << "closed" << std::endl;
    } else if (line == "fork") {
      if (::fork() == 0) {
        std::thread(run_in_thread).detach();
        continue;
      }
      ::wait(nullptr);
      return;
    }
  }
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  ::sem_init(&due, 0, 0);
  ::sem_init(&finished, 0, 0);
  std::thread(run_in_thread).detach();
  obey_lines();
  std::cout.flush();
  std::_Exit(0);
}
