// A part whose handlers come late misses the fork that is under way: its child begins with a lock that a thread which
// the child does not have took in the meantime. So each part registers its handlers when it is loaded.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <tarn/io/journal.hpp>
#include <tarn/io/memo.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/shared.hpp>
#include <tarn/shared_pool.hpp>

#include "base/c_library.hpp"

extern "C" {
extern void* __dso_handle;
int __register_atfork(void (*before)(), void (*in_parent)(), void (*in_child)(), void* library);
}

namespace {

std::atomic<bool> is_loaded{false};
std::atomic<int> registrations{0};
std::atomic<int> late_registrations{0};

}  // namespace

// Stands in for the function of the C library, which does the same.
extern "C" int pthread_atfork(void (*before)(), void (*in_parent)(), void (*in_child)()) TARN_LIBC_NOEXCEPT {
  ++(is_loaded ? late_registrations : registrations);
#ifdef __GLIBC__  // whose function is in each program, where dlsym() finds no second one
  return __register_atfork(before, in_parent, in_child, &__dso_handle);
#else
  return reinterpret_cast<decltype(&pthread_atfork)>(::dlsym(RTLD_NEXT, "pthread_atfork"))(before, in_parent, in_child);
#endif
}

namespace {

class forks : public testing::Test {
 protected:
  static void SetUpTestSuite() { is_loaded = true; }
};

TEST_F(forks, find_the_handlers_of_every_part_from_the_start) {
  ASSERT_GE(registrations, 4) << "the parts call the function above";

  const tarn::reloadable<int> setting(1);
  EXPECT_EQ(setting.with([](const int& value) { return value; }), 1);
  EXPECT_EQ(late_registrations, 0) << "the readers";

  tarn::shared_pool<int> pool;
  pool.destroy(pool.create(1));
  EXPECT_EQ(late_registrations, 0) << "the shared pools";

  tarn::shared<int> first(1);
  tarn::shared<int> second(1);
  first.with([&](int&) { second.with([](int& value) { ++value; }); });
  EXPECT_EQ(late_registrations, 0) << "the lock order";

  tarn::io::memo<int, int> answers([](const int& key) { return key; }, {.entries = 64});
  EXPECT_EQ(*answers.get(1), 1);
  EXPECT_EQ(late_registrations, 0) << "the memos";

  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tarn-forks-" + std::to_string(::getpid()) + ".journal");
  tarn::io::journal(path, {.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 1}).append("line");
  std::filesystem::remove(path);
  EXPECT_EQ(late_registrations, 0) << "the journals";
}

// A child that has a descriptor or a mapping of the file keeps its lock, so the next one cannot open it. The children
// live until the last journal is closed.
TEST_F(forks, of_other_threads_leave_no_lock_of_a_journal_that_opens_or_closes) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tarn-forks-opening-" + std::to_string(::getpid()) + ".journal");
  std::atomic<bool> is_over{false};
  std::atomic<int> opened{0};
  std::string failure;
  std::thread opener([&] {
    while (!is_over) {
      try {
        tarn::io::journal(path, {.bytes = 4096, .chunk_bytes = 1024, .lanes = 1, .prefault_bytes = 0}).append("line");
        ++opened;
      } catch (const std::exception& failed) {
        failure = failed.what();
        break;
      }
    }
  });
  std::vector<pid_t> children;
  for (int number = 0; number < 300; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    children.push_back(child);
    const int before = opened;
    while (opened == before && failure.empty() && number % 4 == 0) sched_yield();
    if (!failure.empty()) break;
  }
  is_over = true;
  opener.join();
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(failure, "") << "after " << opened << " journals";
  EXPECT_GT(opened, 75);
}

// Does the same while the process that has the journal is killed: nobody unlocks the file, so the child must have
// closed it.
TEST_F(forks, of_other_threads_let_go_of_a_journal_that_is_being_opened) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tarn-forks-killed-" + std::to_string(::getpid()) + ".journal");
  constexpr tarn::io::journal_options options{.bytes = 4096, .chunk_bytes = 1024, .lanes = 1, .prefault_bytes = 0};
  std::filesystem::remove(path);
  { const tarn::io::journal empty(path, options); }
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t service = fork();
    if (service == 0) {
      std::atomic<bool> begins{false};
      std::thread forker([&] {
        while (!begins) {
        }
        const auto start = std::chrono::steady_clock::now();  // the opening takes some 100 us
        while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(round % 200)) {
        }
        if (fork() == 0) {
          const pid_t helper = getpid();
          const bool is_written = write(ends[1], &helper, sizeof helper) == sizeof helper;
          close(ends[1]);
          for (alarm(30); is_written;) pause();
        }
      });
      begins = true;
      try {
        static_cast<void>(new tarn::io::journal(path, options));
      } catch (const std::exception&) {
        _exit(1);
      }
      forker.join();
      _exit(0);
    }
    close(ends[1]);
    pid_t helper = -1;
    const bool is_forked = read(ends[0], &helper, sizeof helper) == static_cast<ssize_t>(sizeof helper);
    int status = 0;
    waitpid(service, &status, 0);
    EXPECT_TRUE(is_forked && WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
    try {
      const tarn::io::journal next(path, options);
    } catch (const std::exception&) {
      ++refused;
    }
    close(ends[0]);
    if (is_forked) kill(helper, SIGKILL);
    if (refused != 0) break;
  }
  std::filesystem::remove(path);
  EXPECT_EQ(refused, 0);
}

}  // namespace
