#include <tarn/quiet_region.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"

namespace {

using tarn::on_violation;
using tarn::quiet_region;
using tarn::quiet_violation;
using tarn::violation_kind;
using tarn::violation_log;

#if !TARN_CHECKS

// A release build only tests twice whether there is a recorder.
static_assert(std::is_empty_v<quiet_region>);

TEST(quiet_region, is_nothing_without_checks) {
  violation_log violations;
  {
    const quiet_region quiet{"region", violations};
    static_cast<void>(getppid());
  }
  EXPECT_EQ(violations.count(), 0u);
  EXPECT_FALSE(quiet_region::observes_calls());
}

#else

/// Returns the violations of `body` as text: "system call write, heap call malloc".
template <class Body>
std::string heard_in(Body body) {
  violation_log log;
  {
    const quiet_region quiet{"test", log};
    body();
  }
  std::string text;
  for (const quiet_violation& kept_violation : log.first_violations()) {
    static constexpr const char* kinds[] = {"call ", "wait ", "heap "};
    text +=
        (text.empty() ? "" : ", ") + std::string(kinds[static_cast<int>(kept_violation.kind)]) + kept_violation.name;
  }
  EXPECT_GE(log.count(), log.first_violations().size());
  return text;
}

TEST(quiet_region, hears_the_heap) {
  if (!quiet_region::observes_heap()) GTEST_SKIP() << "its malloc cannot be heard";
  void* block = nullptr;
  const auto of_heap = [](const std::string& text) { return text.starts_with("heap "); };
  EXPECT_PRED1(of_heap, heard_in([&] { block = std::malloc(100); }));
  EXPECT_PRED1(of_heap, heard_in([&] { std::free(block); }));
  std::vector<int> numbers;
  EXPECT_PRED1(of_heap, heard_in([&] { numbers.push_back(1); }));
  EXPECT_PRED1(of_heap, heard_in([&] { std::vector<int>().swap(numbers); }));
#if !defined(__SANITIZE_ADDRESS__)  // a sanitizer names all of them malloc and free
  const auto use = [](void* address) { return *static_cast<void* volatile*>(&address); };
  EXPECT_EQ(heard_in([&] { delete static_cast<int*>(use(new int)); }), "heap operator new, heap operator delete");
  struct alignas(128) wide {
    char bytes[128];
  };
  EXPECT_EQ(heard_in([&] { delete[] static_cast<wide*>(use(new wide[2])); }),
            "heap operator new[], heap operator delete[]");
  EXPECT_EQ(heard_in([&] { std::free(use(std::realloc(use(std::calloc(3, 5)), 1000))); }),
            "heap calloc, heap realloc, heap free");
  EXPECT_EQ(heard_in([&] { std::free(use(std::aligned_alloc(64, 128))); }), "heap aligned_alloc, heap free");
  EXPECT_EQ(heard_in([&] { std::free(use(std::malloc(100 << 20))); }), "heap malloc, heap free")
      << "and not the mmap in it";
#endif
}

#if !defined(__SANITIZE_ADDRESS__)  // it makes calls of its own: there they are not heard

class quiet_regions : public testing::Test {
 protected:
  void SetUp() override {
    if (!quiet_region::observes_calls()) GTEST_SKIP() << "a system without syscall user dispatch";
  }
};

TEST_F(quiet_regions, hears_nothing_where_nothing_is) {
  std::uint64_t sum = 0;
  std::mutex mutex;
  char text[100];
  EXPECT_EQ(heard_in([&] {
              for (std::uint64_t number = 0; number < 1000; ++number) sum += number * number;
              const std::lock_guard lock(mutex);  // free: taken without the kernel
              std::snprintf(text, sizeof text, "%d of %s", 17, "these");
              sum += static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
            }),
            "");
  EXPECT_NE(sum, 0u);
}

TEST_F(quiet_regions, hears_system_calls_and_makes_them) {
  int ends[2] = {};
  char bytes_read[4] = {};
  ssize_t failed = 0;
  int number = 0;
  EXPECT_EQ(heard_in([&] {
              if (pipe(ends) != 0) return;
              if (write(ends[1], "abc", 3) != 3) return;
              if (read(ends[0], bytes_read, 3) != 3) return;
              errno = 0;
              failed = write(-1, "", 1);
              number = errno;
              close(ends[0]);
              close(ends[1]);
            }),
            "call pipe2, call write, call read, call write, call close, call close");
  EXPECT_STREQ(bytes_read, "abc");
  EXPECT_EQ(failed, -1);
  EXPECT_EQ(number, EBADF);
}

TEST_F(quiet_regions, passes_six_arguments_on) {
  const int file = open("/proc/self/exe", O_RDONLY);
  void* mapping = nullptr;
  EXPECT_EQ(heard_in([&] { mapping = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 4096); }), "call mmap");
  char expected[64];
  ASSERT_EQ(pread(file, expected, sizeof expected, 4096), 64);
  EXPECT_EQ(std::memcmp(mapping, expected, sizeof expected), 0);
  munmap(mapping, 4096);
  close(file);
}

TEST_F(quiet_regions, hears_a_wait_for_a_lock) {
  std::timed_mutex mutex;
  std::atomic<int> step{0};
  std::thread holder([&] {
    const std::lock_guard lock(mutex);
    step = 1;
    step.wait(1);
  });
  while (step != 1) std::this_thread::yield();
  bool is_taken = true;
  const std::string violations = heard_in([&] { is_taken = mutex.try_lock_for(std::chrono::milliseconds(5)); });
  step = 2;
  step.notify_one();
  holder.join();
  EXPECT_FALSE(is_taken);
  EXPECT_TRUE(violations.starts_with("wait futex")) << violations;
}

[[gnu::noinline]] void deep_inside() {
  static_cast<void>(getppid());
  asm volatile("");
}
[[gnu::noinline]] void outside() {
  deep_inside();
  asm volatile("");
}

bool is_in(const void* address, void (*function)()) {
  const auto start = reinterpret_cast<std::uintptr_t>(function);
  return reinterpret_cast<std::uintptr_t>(address) - start < 100;
}

TEST_F(quiet_regions, tells_the_stack) {
  violation_log violations;
  {
    const quiet_region quiet{"test", violations};
    outside();
  }
  ASSERT_EQ(violations.count(), 1u);
  const std::span<const void* const> stack = violations.first_violations()[0].stack();
  ASSERT_GE(stack.size(), 4u);
  EXPECT_TRUE(is_in(stack[1], deep_inside)) << "below the C library's function";
  EXPECT_TRUE(is_in(stack[2], outside));
  const std::string text = violations.text();
  EXPECT_TRUE(text.starts_with("system call getppid\n  at ")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(stack.size()) + 1);
}

TEST_F(quiet_regions, lies_in_another) {
  violation_log outer, inner;
  {
    const quiet_region region{"outer", outer};
    {
      const quiet_region two{"inner", inner};
      static_cast<void>(getppid());
    }
    static_cast<void>(getppid());
  }
  static_cast<void>(getppid());
  EXPECT_EQ(inner.count(), 1u);
  EXPECT_EQ(outer.count(), 2u);
}

TEST_F(quiet_regions, keeps_the_first_violations_and_counts_all) {
  violation_log violations;
  {
    const quiet_region quiet{"test", violations};
    for (int number = 0; number < 100; ++number) static_cast<void>(getppid());
  }
  EXPECT_EQ(violations.count(), 100u);
  EXPECT_EQ(violations.first_violations().size(), violation_log::capacity);
  EXPECT_TRUE(violations.text().ends_with("and 84 more\n"));
}

TEST_F(quiet_regions, does_not_hear_other_threads) {
  std::atomic<int> step{0};
  std::thread second_thread([&] {
    while (step != 1) {
    }
    for (int number = 0; number < 100; ++number) static_cast<void>(getppid());
    step = 2;
  });
  EXPECT_EQ(heard_in([&] {
              step = 1;
              while (step != 2) {
              }
            }),
            "");
  second_thread.join();
}

TEST_F(quiet_regions, ends_with_an_exception) {
  violation_log violations;
  bool is_caught = false;
  try {
    const quiet_region quiet{"test", violations};
    throw 1;
  } catch (int) {
    is_caught = true;
  }
  const std::size_t before = violations.count();  // the exception's memory
  static_cast<void>(getppid());
  EXPECT_TRUE(is_caught);
  EXPECT_EQ(violations.count(), before);
}

volatile sig_atomic_t handled = 0;

sigset_t mask_now() {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return now;
}

TEST_F(quiet_regions, lets_signals_wait_and_keeps_the_mask) {
  struct sigaction action {};
  action.sa_handler = [](int) {
    handled = handled + 1;
    static_cast<void>(getppid());
  };
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
  const sigset_t before = mask_now();

  handled = 0;
  EXPECT_EQ(heard_in([] {
              for (int number = 0; number < 3; ++number) raise(SIGUSR1);  // handled inside this call
            }),
            "call gettid, call getpid, call tgkill, call gettid, call getpid, call tgkill, call gettid, call getpid, "
            "call tgkill");
  EXPECT_EQ(handled, 3);

  // An outside signal arrives in the middle of nothing and is handled when the region ends.
  handled = 0;
  std::atomic<int> step{0};
  const pthread_t self = pthread_self();
  std::thread second_thread([&] {
    while (step != 1) {
    }
    pthread_kill(self, SIGUSR1);
    step = 2;
  });
  int handled_inside = -1;
  EXPECT_EQ(heard_in([&] {
              step = 1;
              while (step != 2) {
              }
              handled_inside = handled;
            }),
            "");
  EXPECT_EQ(handled_inside, 0);
  EXPECT_EQ(handled, 1);
  second_thread.join();

  // Changes of the program's signal mask take effect and outlive the region.
  sigset_t blocked, old_mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  sigaddset(&blocked, SIGSYS);
  EXPECT_EQ(heard_in([&] {
              pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
              pthread_sigmask(SIG_SETMASK, nullptr, &old_mask);
            }),
            "call rt_sigprocmask, call rt_sigprocmask");
  EXPECT_TRUE(sigismember(&old_mask, SIGUSR2) == 1 && sigismember(&old_mask, SIGUSR1) == 0);
  const sigset_t after = mask_now();
  EXPECT_EQ(std::memcmp(&old_mask, &after, sizeof(std::uint64_t)), 0);
  EXPECT_EQ(heard_in([] { static_cast<void>(getppid()); }), "call getppid") << "with SIGSYS blocked";
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_F(quiet_regions, a_call_that_waits_is_interrupted_as_ever) {
  struct sigaction action {};
  action.sa_handler = [](int) { handled = handled + 1; };
  sigaction(SIGALRM, &action, nullptr);
  handled = 0;
  int result = 0, number = 0;
  const itimerval soon{{0, 20'000}, {0, 20'000}}, never{};  // repeats in case the first comes before the wait
  EXPECT_EQ(heard_in([&] {
              setitimer(ITIMER_REAL, &soon, nullptr);
              result = pause();
              number = errno;
            }),
            "call setitimer, call pause");
  setitimer(ITIMER_REAL, &never, nullptr);
  EXPECT_GE(handled, 1);
  EXPECT_EQ(result, -1);
  EXPECT_EQ(number, EINTR);
  std::signal(SIGALRM, SIG_DFL);
}

TEST_F(quiet_regions, a_fault_in_it_is_handled) {
  static char* page;
  page = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  struct sigaction action {
  }, before;
  action.sa_handler = [](int) { mprotect(page, 4096, PROT_READ | PROT_WRITE); };
  sigaction(SIGSEGV, &action, &before);
  EXPECT_EQ(heard_in([] { *page = 'x'; }), "call mprotect");
  EXPECT_EQ(heard_in([] { static_cast<void>(getppid()); }), "call getppid");
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(*page, 'x');
  munmap(page, 4096);
}

TEST_F(quiet_regions, threads_and_children_start_in_it) {
  const sigset_t before = mask_now();
  std::atomic<bool> ran{false};
  bool is_same = false;
  EXPECT_NE(heard_in([&] {
              std::thread([&] {
                const sigset_t inner_mask = mask_now();
                is_same = std::memcmp(&inner_mask, &before, sizeof(std::uint64_t)) == 0;
                ran = true;
              }).join();
            }).find("call clone"),
            std::string::npos);
  EXPECT_TRUE(ran && is_same) << "with the mask of the thread that started it";
  sigset_t after = mask_now();
  EXPECT_EQ(std::memcmp(&after, &before, sizeof(std::uint64_t)), 0);

  int wait_status = -1;
  EXPECT_NE(heard_in([&] {
              const pid_t child = fork();
              if (child == 0) {
                const sigset_t inner_mask = mask_now();
                if (std::memcmp(&inner_mask, &before, sizeof(std::uint64_t)) != 0) _exit(8);
                violation_log own_log;
                {
                  const quiet_region quiet{"in the child", own_log};
                  static_cast<void>(getppid());
                }
                _exit(7);
              }
              waitpid(child, &wait_status, 0);
            }).find("call clone"),
            std::string::npos);
  EXPECT_EQ(WEXITSTATUS(wait_status), 7);
  EXPECT_EQ(heard_in([] { static_cast<void>(getppid()); }), "call getppid") << "the next region listens again";
}

TEST_F(quiet_regions, reports_on_standard_error) {
  const support::ending child_ending = support::in_child([] {
    const quiet_region quiet{"parse request"};
    for (int number = 0; number < 20; ++number) static_cast<void>(getppid());
  });
  EXPECT_EQ(child_ending.status, 0);
  EXPECT_TRUE(child_ending.error.starts_with("tarn: quiet region parse request: system call getppid\n  at "))
      << child_ending.error;
  EXPECT_TRUE(child_ending.error.ends_with("\ntarn: quiet region parse request: 12 more violations\n"))
      << child_ending.error;
}

TEST_F(quiet_regions, ends_the_process_if_wanted) {
  const support::ending child_ending = support::in_child([] {
    const quiet_region quiet{"parse request", on_violation::abort};
    static_cast<void>(getppid());
  });
  EXPECT_EQ(child_ending.signal, SIGABRT);
  EXPECT_TRUE(child_ending.error.starts_with("tarn: quiet region parse request: system call getppid\n  at "))
      << child_ending.error;
}

TEST_F(quiet_regions, leaves_a_foreign_sigsys_to_others) {
  const support::ending child_ending = support::in_child([] {
    std::signal(SIGSYS, [](int) { _exit(5); });
    violation_log violations;
    {
      const quiet_region quiet{"test", violations};
      static_cast<void>(getppid());
    }
    if (violations.count() != 1) return 6;
    raise(SIGSYS);
    return 7;
  });
  EXPECT_EQ(child_ending.status, 5);
  const support::ending by_default = support::in_child([] {
    std::signal(SIGSYS, SIG_DFL);
    { const quiet_region quiet{"test"}; }
    raise(SIGSYS);
  });
  EXPECT_EQ(by_default.signal, SIGSYS);
}

#endif
#endif

}  // namespace
