// Tests the life cycle of an application and its corner cases, each in a child process: the order of the callbacks,
// the messages, and the end of the process.
#include <tarn/application.hpp>

#include <gtest/gtest.h>

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include <tarn/owned.hpp>
#include <tarn/read_only.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/shared.hpp>

#include "unit/sync/application_fixture.hpp"

namespace {

using namespace application_tests;
using tarn::wake;
using tarn::watched_socket;

template <class Function>
std::string text_of_error(Function function) {
  try {
    function();
  } catch (const std::logic_error& thrown) {
    return thrown.what();
  }
  return "nothing was thrown";
}

void signal_myself(int number) { kill(getpid(), number); }
// Nobody waits for a deadline except where it is the subject: a missing wake-up is found by the test's own deadline.
application_options options(unsigned workers) { return {.name = "test", .workers = workers, .stop_timeout = 1h}; }

TEST(application, runs_from_the_initialiser_to_the_stop) {
  EXPECT_EQ(in_child([] {
              application app(options(3));
              std::atomic<int> ready{0}, numbers{0}, stopped{0};
              const auto main_thread = std::this_thread::get_id();
              bool is_initialised = false, has_stopped = false;
              app.on_initialise([&] { is_initialised = std::this_thread::get_id() == main_thread; });
              app.on_work([&](worker& me) {
                numbers += 1 << me.number();
                if (++ready == 3) signal_myself(SIGTERM);
                wait_for_the_stop(me);
                ++stopped;
              });
              app.on_stop([&] { has_stopped = std::this_thread::get_id() == main_thread; });
              const int result = app.run();
              return result == 0 && is_initialised && has_stopped && numbers == 7 && stopped == 3 ? 0 : 100;
            }),
            quiet(0));
}

TEST(application, names_its_threads) {
  EXPECT_EQ(in_child([] {
              application app({.name = "a-long-name-for-a-thread", .workers = 11});
              std::atomic<bool> good{false};
              app.on_work([&](worker& me) {
                char name[16];
                pthread_getname_np(pthread_self(), name, sizeof name);
                if (me.number() == 10) good = std::string(name) == "a-long-name--10";
              });
              return app.run() == 0 && good ? 0 : 100;
            }),
            quiet(0));
}

// --- The initialiser ------------------------------------------------------------------------------------------------

TEST(application, is_not_started_when_the_initialiser_throws) {
  const auto run = [](auto initialise) {
    return in_child([initialise] {
      application app(options(1));
      app.on_initialise(initialise);
      app.on_work([](worker&) { _exit(100); });
      return app.run();
    });
  };
  EXPECT_EQ(run([] { throw std::runtime_error("no file"); }),
            expected_ending(1, "not started: the initialiser threw: no file\n"));
  EXPECT_EQ(run([] { throw 7; }), expected_ending(1, "not started: the initialiser threw: an exception of type int\n"));
  EXPECT_EQ(run([] { throw std::runtime_error(""); }),
            expected_ending(1, "not started: the initialiser threw: an exception of type std::runtime_error\n"))
      << "one without a text";
}

TEST(application, does_not_start_workers_after_a_stop) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              app.on_initialise([] { signal_myself(SIGTERM); });
              app.on_work([](worker&) { _exit(100); });
              return app.run();
            }),
            quiet(0));
}

TEST(application, is_not_started_without_memory_for_a_heap) {
  EXPECT_EQ(in_child([] {
              application_options settings = options(1);
              settings.has_own_heaps = true;
              settings.heap = {.initial = std::size_t{1} << 50};
              application app(settings);
              app.on_work([](worker&) { _exit(100); });
              return app.run();
            }),
            expected_ending(1, "not started: worker 0 of 1: std::bad_alloc\n"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need more address space than there is here
TEST(application, is_not_started_without_a_thread) {
  const ending child_ending = in_child([] {
    application app(options(10'000));
    app.on_work([](worker&) { _exit(100); });
    const rlimit little{1 << 30, 1 << 30};
    setrlimit(RLIMIT_AS, &little);
    return app.run();
  });
  EXPECT_EQ(child_ending.status, 1);
  EXPECT_NE(child_ending.error.find(" of 10000: Resource temporarily unavailable\n"), std::string::npos)
      << child_ending;
}
#endif

TEST(application, runs_once) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              app.on_work([](worker&) {});
              const int first = app.run();
              try {
                return app.run() + 100;
              } catch (const std::logic_error& thrown) {
                return thrown.what() == std::string("tarn::application: run() can be called only once") ? first : 101;
              }
            }),
            quiet(0));
}

TEST(application, is_the_only_one_of_its_process) {
  EXPECT_EQ(in_child([] {
              {
                application first(options(1));
                EXPECT_EQ(text_of_error([] { application second({.name = "second"}); }),
                          "tarn::application \"second\": this process has \"test\" already, and a signal would reach "
                          "only one of them: use one with more workers, or destroy the other one first");
                EXPECT_EQ(support::in_child([] { application of_child(options(1)); }).status, 0)
                    << "a process of its own";
              }
              application next(options(1));
              return testing::Test::HasFailure() ? 1 : 0;
            }),
            quiet(0));
}

// --- Workers --------------------------------------------------------------------------------------------------------

TEST(application, ends_when_all_workers_have_returned) {
  EXPECT_EQ(in_child([] {
              application app(options(2));
              std::atomic<int> finished_workers{0};
              app.on_work([&](worker& me) {
                if (me.number() == 1) {
                  wait_until([&] { return finished_workers == 1; });  // the others continue
                }
                ++finished_workers;
              });
              return app.run() == 0 && finished_workers == 2 ? 0 : 100;
            }),
            quiet(0));
}

TEST(application, a_worker_that_throws_stops_the_others) {
  EXPECT_EQ(in_child([] {
              application app(options(2));
              app.on_work([](worker& me) {
                if (me.number() == 1) throw std::runtime_error("broken");
                wait_for_the_stop(me);
              });
              return app.run();
            }),
            expected_ending(2, "worker 1 threw: broken\n"));
}

TEST(application, a_worker_that_throws_starts_again) {
  EXPECT_EQ(in_child([] {
              application_options settings = options(1);
              settings.restarts = 2;
              application app(settings);
              int runs = 0;
              app.on_work([&](worker&) {
                if (++runs < 3) throw std::runtime_error("run " + std::to_string(runs));
              });
              return app.run();
            }),
            expected_ending(0, "worker 0 threw, and starts again: run 1\nworker 0 threw, and starts again: run 2\n"));
  EXPECT_EQ(in_child([] {
              application_options settings = options(1);
              settings.restarts = 1;
              application app(settings);
              app.on_work([&](worker&) { throw std::runtime_error("always"); });
              return app.run();
            }),
            expected_ending(2, "worker 0 threw, and starts again: always\nworker 0 threw: always\n"));
}

TEST(application, names_a_worker_that_ends_its_thread) {
  EXPECT_EQ(in_child([] {
              application app(options(2));
              app.on_work([](worker& me) {
                if (me.number() == 1) pthread_exit(nullptr);
                wait_for_the_stop(me);
              });
              return app.run();
            }),
            expected_ending(2, "worker 1 was ended by pthread_exit or cancellation\n"));
}

TEST(application, workers_have_heaps_of_their_own) {
  EXPECT_EQ(in_child([] {
              application_options settings = options(2);
              settings.has_own_heaps = true;
              settings.heap = {.initial = 1 << 20, .limit = 4 << 20};
              application app(settings);
              std::atomic<int> good{0};
              app.on_work([&](worker&) {
                void* const block = tarn::current_heap().allocate(1);
                good +=
                    &tarn::current_heap() != &tarn::process_heap() && tarn::owner_of(block) == &tarn::current_heap();
                tarn::current_heap().deallocate(block, 1);
              });
              return app.run() == 0 && good == 2 ? 0 : 100;
            }),
            quiet(0));
}

// --- Reload ---------------------------------------------------------------------------------------------------------

TEST(application, reloads_while_workers_work) {
  EXPECT_EQ(in_child([] {
              application app(options(2));
              tarn::reloadable<int> version(1);
              app.on_reload([&] { version.publish(version.with([](int v) { return v; }) + 1); });
              app.on_work([&](worker& me) {
                if (me.number() == 0) {
                  signal_myself(SIGHUP);
                  wait_until([&] { return version.version_number() == 2; });
                  app.reload();  // has the effect of the signal
                  wait_until([&] { return version.version_number() == 3; });
                  app.stop();
                }
                wait_for_the_stop(me);
              });
              return app.run();
            }),
            quiet(0));
}

TEST(application, takes_requests_during_a_reload_for_one_more) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              std::atomic<int> reloads{0};
              std::atomic<bool> is_asked{false};
              app.on_reload([&] {
                ++reloads;
                wait_until([&] { return is_asked.load(); });
              });
              app.on_work([&](worker& me) {
                app.reload();
                wait_until([&] { return reloads == 1; });
                for (int count = 0; count < 10; ++count) signal_myself(SIGHUP);
                is_asked = true;
                wait_until([&] { return reloads == 2; });
                app.stop();
                wait_for_the_stop(me);
              });
              return app.run() == 0 && reloads == 2 ? 0 : 100;
            }),
            quiet(0));
}

TEST(application, a_reload_that_fails_changes_nothing) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              std::atomic<int> reloads{0};
              app.on_reload([&] {
                ++reloads;
                throw std::runtime_error("line 3: no number");
              });
              app.on_work([&](worker& me) {
                app.reload();
                wait_until([&] { return reloads == 1; });
                if (!me.is_stopping()) app.stop();
                wait_for_the_stop(me);
              });
              return app.run();
            }),
            expected_ending(0, "reload failed: line 3: no number\n"));
}

TEST(application, names_a_thread_that_may_take_its_signals) {
  EXPECT_EQ(in_child([] {
              std::atomic<bool> has_name{false}, has_ended{false};
              std::thread earlier_thread([&] {
                pthread_setname_np(pthread_self(), "early");
                has_name = true;
                wait_until([&] { return has_ended.load(); });
              });
              wait_until([&] { return has_name.load(); });
              application app(options(1));
              app.on_work([](worker&) {});
              const int result = app.run();
              has_ended = true;
              earlier_thread.join();
              return result;
            }),
            expected_ending(0,
                            "construct it before other threads start: SIGHUP, SIGINT and SIGTERM may end the process, "
                            "because they are not blocked in the thread early\n"));
}

TEST(application, is_not_started_with_a_negative_deadline) {
  EXPECT_EQ(in_child([] {
              auto wrong = options(1);
              wrong.forced_stop_timeout = std::chrono::milliseconds(-5);
              application app(wrong);
              app.on_work([](worker&) {});
              return app.run();
            }),
            expected_ending(1, "not started: application_options::forced_stop_timeout is negative: -5 ms\n"));
}

TEST(application, a_reload_asked_for_in_the_initialiser_is_not_lost) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              std::atomic<int> reloads{0};
              app.on_initialise([] { signal_myself(SIGHUP); });
              app.on_reload([&] { ++reloads; });
              app.on_work([&](worker&) { wait_until([&] { return reloads == 1; }); });
              return app.run();
            }),
            quiet(0));
}

TEST(application, does_not_reload_while_it_stops) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              app.on_reload([] { _exit(100); });
              app.on_stop([&] { app.reload(); });
              app.on_work([&](worker& me) {
                app.stop();
                wait_for_the_stop(me);
                std::this_thread::sleep_for(20ms);
              });
              return app.run();
            }),
            expected_ending(0, "no reload: it is stopping\n"));
}

TEST(application, what_is_read_only_is_not_built_by_a_reload) {
  const ending child_ending = in_child([] {
    application app(options(1));
    static tarn::read_only<int> number;
    app.on_initialise([&] { number.build(1); });
    app.on_reload([&] {
      static tarn::read_only<int> late_value;
      late_value.build(2);
    });
    app.on_work([&](worker& me) {
      app.reload();
      wait_for_the_stop(me);
    });
    return app.run();
  });
  EXPECT_EQ(child_ending.signal, SIGABRT);
  EXPECT_NE(child_ending.error.find("while workers run"), std::string::npos) << child_ending;
}

// --- Stop -----------------------------------------------------------------------------------------------------------

TEST(application, a_stop_ends_waits_on_sockets) {
  EXPECT_EQ(in_child([] {
              application app(options(2));
              std::atomic<int> good{0};
              app.on_work([&](worker& me) {
                const connection peer;
                const watched_socket watch(me, peer.ends[0], wake::at_stop);
                if (me.number() == 0) {
                  app.stop();
                  wait_for_the_stop(me);  // a stop requested before the wait is still delivered
                }
                good += peer.wait() == 0;
              });
              return app.run() == 0 && good == 2 ? 0 : 100;
            }),
            quiet(0));
}

TEST(application, a_socket_that_is_watched_after_the_stop_is_shut_down_at_once) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              app.on_work([&](worker& me) {
                app.stop();
                wait_for_the_stop(me);
                const connection peer;
                const watched_socket watch(me, peer.ends[0], wake::at_stop);
                peer.wait();
              });
              return app.run();
            }),
            quiet(0));
}

TEST(application, requests_in_flight_have_until_the_deadline) {
  EXPECT_EQ(in_child([] {
              application_options settings = options(1);
              settings.stop_timeout = 30ms;
              application app(settings);
              std::chrono::steady_clock::duration waited{};
              app.on_work([&](worker& me) {
                const connection peer;
                const watched_socket watch(me, peer.ends[0], wake::at_deadline);
                const auto start = std::chrono::steady_clock::now();
                app.stop();
                peer.wait();
                waited = std::chrono::steady_clock::now() - start;
              });
              return app.run() == 0 && waited >= 29ms ? 0 : 100;
            }),
            quiet(0));
}

TEST(application, a_second_signal_is_the_deadline) {
  EXPECT_EQ(in_child([] {
              application app(options(1));
              app.on_work([&](worker& me) {
                const connection peer;
                const watched_socket watch(me, peer.ends[0], wake::at_deadline);
                signal_myself(SIGTERM);
                wait_for_the_stop(me);
                signal_myself(SIGINT);
                peer.wait();
              });
              return app.run();
            }),
            quiet(0));
}

TEST(application, a_worker_that_does_not_stop_is_named) {
  const ending child_ending = in_child([] {
    application_options settings = options(1);
    settings.stop_timeout = 1ms;
    settings.forced_stop_timeout = 20ms;
    static application app(settings);  // its destructor does not run
    app.on_work([&](worker& me) {
      me.set_activity("GET /slow");
      app.stop();
      pause();
    });
    return app.run() + 100;
  });
  EXPECT_EQ(child_ending.status, 3);
  const std::string start = "tarn: application \"test\": worker 0, thread ";
  EXPECT_EQ(child_ending.error.substr(0, start.size()), start);
  EXPECT_NE(child_ending.error.find(", did not stop: GET /slow\n"), std::string::npos) << child_ending;
}

TEST(application, on_stop_wakes_those_who_wait_for_data) {
  EXPECT_EQ(in_child([] {
              struct queue {
                bool is_closed = false;
              };
              application app(options(2));
              tarn::shared<queue> jobs;
              app.on_stop([&] { jobs.with([](queue& q) { q.is_closed = true; }); });
              app.on_work([&](worker&) {
                app.stop();
                jobs.with_when([](const queue& q) { return q.is_closed; }, [](queue&) {});
              });
              return app.run();
            }),
            quiet(0));
}

// --- Signals --------------------------------------------------------------------------------------------------------

TEST(application, takes_its_signals_and_gives_them_back) {
  EXPECT_EQ(in_child([] {
              sigset_t before, during, after;
              pthread_sigmask(SIG_BLOCK, nullptr, &before);
              struct sigaction pipe_during, pipe_after;
              {
                application app(options(0));
                pthread_sigmask(SIG_BLOCK, nullptr, &during);
                sigaction(SIGPIPE, nullptr, &pipe_during);
              }
              pthread_sigmask(SIG_BLOCK, nullptr, &after);
              sigaction(SIGPIPE, nullptr, &pipe_after);
              bool is_good = pipe_during.sa_handler == SIG_IGN && pipe_after.sa_handler == SIG_DFL;
              for (const int signal_number : {SIGHUP, SIGINT, SIGTERM}) {
                is_good &= sigismember(&during, signal_number) == 1 &&
                           sigismember(&before, signal_number) == sigismember(&after, signal_number);
              }
              return is_good ? 0 : 100;
            }),
            quiet(0));
}

}  // namespace
