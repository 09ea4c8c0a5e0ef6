// Tests an application of processes and its corner cases: each test's parent is itself a child of the test.
#include <tarn/application.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <tarn/read_only.hpp>
#include <tarn/reloadable.hpp>

#include "unit/sync/application_fixture.hpp"

namespace {

using namespace application_tests;

/// The data that the parent and all processes share.
struct shared_counts {
  std::atomic<int> working{0}, reloads{0}, stopped{0}, births{0};
  std::atomic<int> ids[8] = {};  ///< the id of the process with this number
  std::atomic<unsigned> numbers{0};
};
shared_counts& shared_numbers() {
  void* const memory = mmap(nullptr, sizeof(shared_counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *::new (memory) shared_counts;
}

int now(tarn::reloadable<int>& version) {
  return version.with([](int number) { return number; });
}

application_options in_processes(unsigned processes, unsigned workers = 1) {
  return {.name = "test", .workers = workers, .processes = processes, .stop_timeout = 1h};
}

/// Removes process ids, which a test cannot know.
ending without_ids(ending reported) {
  constexpr std::string_view before = ": process ";
  for (std::size_t position = 0; (position = reported.error.find(before, position)) != std::string::npos;) {
    position += before.size();
    const std::size_t digits = reported.error.find_first_not_of("0123456789", position) - position;
    if (reported.error.compare(position + digits, 4, " of ") != 0 && reported.error[position + digits] == ' ') {
      reported.error.replace(position, digits, "N");
    }
  }
  return reported;
}
TEST(processes, run_from_the_initialiser_to_the_stop) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(in_child([&] {
              application app(in_processes(2, 3));
              const pid_t parent = getpid();
              tarn::read_only<std::string> text;
              int own_number = 0;
              app.on_initialise([&] { text.build("built once"); });
              app.on_process([&](unsigned number) { own_number = static_cast<int>(number) + 1; });
              app.on_work([&](worker& me) {
                const bool is_right =
                    getpid() != parent && *text == "built once" && own_number == static_cast<int>(me.number()) / 3 + 1;
                counts.numbers += is_right ? 1u << me.number() : 1000;
                if (++counts.working == 6) kill(parent, SIGTERM);
                wait_for_the_stop(me);
                ++counts.stopped;
              });
              return app.run() == 0 && getpid() == parent && counts.numbers == 63 && counts.stopped == 6 ? 0 : 100;
            }),
            quiet(0));
}

TEST(processes, that_have_done_their_work_are_not_replaced) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(in_child([&] {
              application app(in_processes(3));
              app.on_work([&](worker&) { ++counts.working; });
              return app.run() == 0 && counts.working == 3 ? 0 : 100;
            }),
            quiet(0));
}

TEST(processes, write_what_they_printed) {
  EXPECT_EQ(in_child([&] {
              int ends[2];
              if (pipe(ends) != 0 || dup2(ends[1], 1) != 1) return 99;
              std::printf("before ");
              application app(in_processes(1));
              app.on_work([&](worker&) { std::printf("worked "); });
              static_cast<void>(app.run());
              std::printf("after");
              std::fflush(stdout);
              char bytes[100] = {};
              static_cast<void>(!read(ends[0], bytes, sizeof bytes - 1));
              return std::string(bytes) == "before worked after" ? 0 : 100;
            }),
            quiet(0));
}

// --- The start ------------------------------------------------------------------------------------------------------

TEST(processes, are_not_forked_beside_threads) {
  EXPECT_EQ(
      in_child([] {
        application app(in_processes(1));
        app.on_work([](worker&) { _exit(100); });
        std::atomic<bool> is_over{false};
        std::thread second_thread([&] { is_over.wait(false); });
        const int result = app.run();
        is_over = true;
        is_over.notify_all();
        second_thread.join();
        return result;
      }),
      expected_ending(1, "not started: another thread runs already, and a process is forked from one thread alone\n"));
}

TEST(processes, start_together_or_not_at_all) {
  EXPECT_EQ(without_ids(in_child([] {
              application app(in_processes(2));
              app.on_process([](unsigned number) {
                if (number == 1) throw std::runtime_error("no database");
              });
              app.on_work([](worker& me) { wait_for_the_stop(me); });
              return app.run();
            })),
            expected_ending(1,
                            "process 1: not started: no database\n"
                            "process 1 of 2: process N ended with status 1 before its workers ran: not started\n"));
}

// --- Deaths ---------------------------------------------------------------------------------------------------------

TEST(processes, one_that_dies_is_replaced_later_each_time) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(without_ids(in_child([&] {
              application app(in_processes(2));
              const pid_t parent = getpid();
              app.on_work([&](worker& me) {
                ++counts.working;
                if (me.number() == 1) {
                  wait_until([&] { return counts.working >= 2; });
                  switch (counts.births++) {
                    case 0: _exit(7);
                    case 1: kill(getpid(), SIGKILL); break;
                    default: kill(parent, SIGTERM);
                  }
                }
                wait_for_the_stop(me);
              });
              return app.run();
            })),
            expected_ending(0,
                            "process 1 of 2: process N ended with status 7, and starts again in 10 ms\n"
                            "process 1 of 2: process N was ended by signal 9 (Killed), and starts again in 20 ms\n"));
}

TEST(processes, one_that_is_stopped_alone_is_replaced) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(without_ids(in_child([&] {
              application app(in_processes(1));
              const pid_t parent = getpid();
              app.on_work([&](worker& me) {
                kill(counts.births++ == 0 ? getpid() : parent, SIGTERM);
                wait_for_the_stop(me);
                ++counts.stopped;
              });
              const int result = app.run();
              return counts.stopped == 2 ? result : 100;
            })),
            expected_ending(0, "process 0 of 1: process N was stopped, and starts again in 10 ms\n"));
}

TEST(processes, a_worker_that_throws_takes_its_process_along) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(without_ids(in_child([&] {
              application app(in_processes(1));
              const pid_t parent = getpid();
              app.on_work([&](worker& me) {
                if (counts.births++ == 0) throw std::runtime_error("lost");
                kill(parent, SIGTERM);
                wait_for_the_stop(me);
              });
              return app.run();
            })),
            expected_ending(0,
                            "process 0: worker 0 threw: lost\n"
                            "process 0 of 1: process N ended with status 2, and starts again in 10 ms\n"));
}

TEST(processes, stop_when_the_parent_dies) {
  shared_counts& counts = shared_numbers();
  const ending outcome = in_child([&] {
    application app(in_processes(2));
    const pid_t parent = getpid();
    app.on_work([&](worker& me) {
      if (++counts.working == 2) kill(parent, SIGKILL);
      wait_for_the_stop(me);
      if (me.number() == 1) {  // a process forked later must not keep the parent alive for an earlier one
        wait_until([&] { return counts.stopped == 1; });
      }
      ++counts.stopped;
    });
    return app.run();
  });
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_EQ(counts.stopped, 2);  // standard error was open until the processes had ended
  for (const char* number : {"0", "1"}) {
    EXPECT_THAT(outcome.error,
                testing::HasSubstr("process " + std::string(number) + ": the parent is gone: stopping\n"));
  }
}

// The parent does not learn how a process ended if a library waits for all children. Here a callback does.
void wait_for_a_child(shared_counts& counts) {
  ++counts.reloads;
  siginfo_t information;
  waitid(P_ALL, 0, &information, WEXITED);
}

TEST(processes, one_that_dies_is_replaced_where_a_library_has_waited_for_it) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(without_ids(in_child([&] {
              application app(in_processes(1));
              const pid_t parent = getpid();
              app.on_reload([&] { wait_for_a_child(counts); });
              app.on_work([&](worker& me) {
                if (counts.births++ == 0) {
                  kill(parent, SIGHUP);
                  wait_until([&] { return counts.reloads == 1; });
                  kill(getpid(), SIGKILL);
                }
                kill(parent, SIGTERM);
                wait_for_the_stop(me);
              });
              const int result = app.run();
              return counts.births == 2 ? result : 100;
            })),
            expected_ending(0,
                            "process 0 of 1: process N ended with an unknown status (something else in this program "
                            "waited for it), and starts again in 10 ms\n"));
}

TEST(processes, one_that_returns_is_not_replaced_where_a_library_has_waited_for_it) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(in_child([&] {
              application app(in_processes(1));
              const pid_t parent = getpid();
              app.on_reload([&] { wait_for_a_child(counts); });
              app.on_work([&](worker&) {
                ++counts.births;
                kill(parent, SIGHUP);
                wait_until([&] { return counts.reloads == 1; });
              });
              const int result = app.run();
              return counts.births == 1 ? result : 100;
            }),
            quiet(0));
}

// A channel that nobody reads would wake the watchdog of the callback again and again.
TEST(processes, one_that_dies_during_a_callback_is_noticed_once) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(without_ids(in_child([&] {
              application app(in_processes(1));
              const pid_t parent = getpid();
              const auto open_descriptors = [] {
                const std::filesystem::directory_iterator listed("/proc/self/fd");
                return std::distance(begin(listed), end(listed));
              };
              bool is_closed = false;
              app.on_reload([&] {
                const auto before = open_descriptors();
                ++counts.reloads;
                const auto limit = std::chrono::steady_clock::now() + 5s;
                wait_until([&] {
                  is_closed = open_descriptors() < before;
                  return is_closed || std::chrono::steady_clock::now() > limit;
                });
              });
              app.on_work([&](worker& me) {
                if (counts.births++ == 0) {
                  kill(parent, SIGHUP);
                  wait_until([&] { return counts.reloads == 1; });
                  _exit(7);
                }
                kill(parent, SIGTERM);
                wait_for_the_stop(me);
              });
              const int result = app.run();
              return is_closed ? result : 100;
            })),
            expected_ending(0, "process 0 of 1: process N ended with status 7, and starts again in 10 ms\n"));
}

// --- Reloads --------------------------------------------------------------------------------------------------------

TEST(processes, reload_after_the_parent) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(in_child([&] {
              application app(in_processes(2));
              const pid_t parent = getpid();
              tarn::reloadable<int> version(1);
              app.on_reload([&] {
                if (getpid() == parent || counts.reloads > 0) {
                  ++counts.reloads;
                  version.publish(2);
                }
              });
              app.on_work([&](worker& me) {
                if (++counts.working == 2) kill(parent, SIGHUP);
                wait_until([&] { return now(version) == 2; });
                if (++counts.stopped == 2) kill(parent, SIGTERM);
                wait_for_the_stop(me);
              });
              return app.run() == 0 && counts.reloads == 3 ? 0 : 100;
            }),
            quiet(0));
}

TEST(processes, a_reload_that_fails_in_the_parent_is_asked_of_nobody) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(in_child([&] {
              application app(in_processes(2));
              const pid_t parent = getpid();
              app.on_reload([&] {
                if (getpid() != parent) _exit(99);
                kill(parent, SIGTERM);
                throw std::runtime_error("line 3: no number");
              });
              app.on_work([&](worker& me) {
                if (++counts.working == 2) kill(parent, SIGHUP);
                wait_for_the_stop(me);
              });
              return app.run();
            }),
            expected_ending(0, "reload failed: line 3: no number\n"));
}

TEST(processes, one_that_is_born_later_has_what_was_reloaded) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(without_ids(in_child([&] {
              application app(in_processes(1));
              const pid_t parent = getpid();
              tarn::reloadable<int> version(1);
              app.on_reload([&] { version.publish(2); });
              app.on_work([&](worker& me) {
                if (counts.births++ == 0) {
                  kill(parent, SIGHUP);
                  wait_until([&] { return now(version) == 2; });
                  _exit(7);
                }
                kill(now(version) == 2 ? parent : getpid(), now(version) == 2 ? SIGTERM : SIGKILL);
                wait_for_the_stop(me);
              });
              return app.run();
            })),
            expected_ending(0, "process 0 of 1: process N ended with status 7, and starts again in 10 ms\n"));
}

// --- The stop -------------------------------------------------------------------------------------------------------

// A terminal's Ctrl-C and a service manager's SIGTERM reach all processes at once.
TEST(processes, signals_of_the_whole_group_count_once) {
  for (const int number : {SIGINT, SIGTERM}) {
    shared_counts& counts = shared_numbers();
    EXPECT_EQ(in_child([&] {
                setpgid(0, 0);
                application app(in_processes(2));
                app.on_work([&](worker& me) {
                  const connection peer;
                  const tarn::watched_socket socket(me, peer.ends[0], tarn::wake::at_deadline);
                  if (++counts.working == 2) kill(0, number);
                  wait_for_the_stop(me);
                  pollfd hurried{peer.ends[0], POLLIN, 0};
                  counts.stopped += poll(&hurried, 1, 200) == 0 ? 1 : 100;  // a second signal would have shut it down
                });
                return app.run() == 0 && counts.stopped == 2 ? 0 : 100;
              }),
              quiet(0));
  }
}

TEST(processes, a_second_signal_hurries) {
  shared_counts& counts = shared_numbers();
  EXPECT_EQ(in_child([&] {
              application app(in_processes(2));
              const pid_t parent = getpid();
              app.on_work([&](worker& me) {
                const connection peer;
                const tarn::watched_socket socket(me, peer.ends[0], tarn::wake::at_deadline);
                if (++counts.working == 2) kill(parent, SIGTERM);
                wait_for_the_stop(me);
                if (++counts.stopped == 2) kill(parent, SIGTERM);
                static_cast<void>(peer.wait());
              });
              return app.run();
            }),
            quiet(0));
}

TEST(processes, one_that_does_not_stop_is_killed) {
  EXPECT_EQ(without_ids(in_child([&] {
              application app({.name = "test", .processes = 1, .stop_timeout = 1ms, .forced_stop_timeout = 1ms});
              const pid_t parent = getpid();
              app.on_work([&](worker&) {
                kill(parent, SIGTERM);
                kill(getpid(), SIGSTOP);  // stops all of it, including the thread that would see the deadline
              });
              return app.run();
            })),
            expected_ending(3, "process 0 of 1: process N did not stop, and is killed\n"));
}

TEST(processes, one_that_dies_in_the_stop_is_a_failure) {
  EXPECT_EQ(without_ids(in_child([&] {
              application app(in_processes(1));
              const pid_t parent = getpid();
              app.on_work([&](worker& me) {
                kill(parent, SIGTERM);
                wait_for_the_stop(me);
                _exit(9);
              });
              return app.run();
            })),
            expected_ending(2, "process 0 of 1: process N ended with status 9\n"));
}

}  // namespace
