// Callbacks of an application hang or take long: the deadlines of a stop apply to them, too.
#include <tarn/application.hpp>

#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "unit/sync/application_fixture.hpp"

namespace {

using namespace application_tests;

void hang() {
  for (;;) pause();
}
// A callback that hangs is left at the deadline. Workers that do not hang must have ended by then, or the message would
// name them as well: they need some microseconds, and a busy machine must let them run once in the second.
application_options in_a_moment() {
  return {.name = "test", .workers = 2, .stop_timeout = 1s, .forced_stop_timeout = 20ms};
}
// The parent gives its processes a second more than their own deadline, also after a second signal, which skips the
// time for the stop: that time must be short beside the second.
application_options in_processes_in_a_moment() {
  return {.name = "test", .workers = 2, .stop_timeout = 20ms, .forced_stop_timeout = 20ms};
}
// The second signal ends it, not a deadline.
application_options in_an_hour() {
  return {.name = "test", .workers = 2, .stop_timeout = 1h, .forced_stop_timeout = 20ms};
}

TEST(callbacks, on_stop_that_hangs_is_named_at_the_deadline) {
  EXPECT_EQ(in_child([] {
              static application app(in_a_moment());
              app.on_work(wait_for_the_stop);
              app.on_stop(hang);
              app.stop();
              return app.run() + 100;
            }),
            quiet(100));  // a stop before the workers needs no on_stop
  EXPECT_EQ(in_child([] {
              static application app(in_a_moment());
              app.on_work([](worker& me) {
                kill(getpid(), SIGTERM);
                wait_for_the_stop(me);
              });
              app.on_stop(hang);
              return app.run() + 100;
            }),
            expected_ending(3, "on_stop did not return\n"));
}

TEST(callbacks, a_second_signal_shortens_the_wait_for_on_stop) {
  EXPECT_EQ(in_child([] {
              static application app(in_an_hour());
              app.on_work([](worker& me) {
                kill(getpid(), SIGTERM);
                wait_for_the_stop(me);
              });
              app.on_stop([] {
                kill(getpid(), SIGTERM);
                hang();
              });
              return app.run() + 100;
            }),
            expected_ending(3, "on_stop did not return\n"));
}

TEST(callbacks, on_reload_that_hangs_does_not_hold_a_stop) {
  EXPECT_EQ(in_child([] {
              static application app(in_a_moment());
              app.on_work([](worker& me) {
                app.reload();
                wait_for_the_stop(me);
              });
              app.on_reload([] {
                kill(getpid(), SIGTERM);
                hang();
              });
              return app.run() + 100;
            }),
            expected_ending(3, "on_reload did not return\n"));
}

TEST(callbacks, a_stop_during_a_reload_begins_at_once_and_calls_on_stop_after_it) {
  EXPECT_EQ(in_child([] {
              application app({.name = "test", .workers = 1, .stop_timeout = 1h});
              std::atomic<int> order{0};
              std::atomic<bool> stopped{false};
              app.on_work([&](worker& me) {
                app.reload();
                wait_for_the_stop(me);
                stopped = true;
              });
              app.on_reload([&] {
                app.stop();
                wait_until([&] { return stopped.load(); });  // the worker stops while the reload runs
                order = 1;
              });
              app.on_stop([&] { order = order == 1 ? 2 : 100; });
              const int result = app.run();
              return result == 0 && order == 2 ? 0 : 100;
            }),
            quiet(0));
}

TEST(callbacks, an_initialiser_that_hangs_is_named) {
  for (const unsigned processes : {0u, 2u}) {
    EXPECT_EQ(in_child([processes] {
                application_options settings = in_an_hour();
                settings.processes = processes;
                settings.forced_stop_timeout = 0ms;  // the parent gives its processes a second more
                static application app(settings);
                app.on_work([](worker&) { _exit(100); });
                app.on_initialise([] {
                  // Two signals that are taken at once count as one. Further ones have no effect, so repeat them.
                  for (;;) {
                    kill(getpid(), SIGTERM);
                    std::this_thread::sleep_for(10ms);
                  }
                });
                return app.run() + 100;
              }),
              expected_ending(3, "on_initialise did not return\n"));
  }
}

TEST(callbacks, a_worker_and_a_callback_that_hang_are_both_named) {
  const ending child_ending = in_child([] {
    static application app(in_a_moment());
    app.on_work([](worker& me) {
      if (me.number() == 0) {
        me.set_activity("GET /slow");
        app.stop();
        hang();
      }
      wait_for_the_stop(me);
    });
    app.on_stop(hang);
    return app.run() + 100;
  });
  EXPECT_EQ(child_ending.status, 3);
  EXPECT_NE(child_ending.error.find("on_stop did not return\n"), std::string::npos) << child_ending;
  EXPECT_NE(child_ending.error.find(", did not stop: GET /slow\n"), std::string::npos) << child_ending;
}

TEST(callbacks, that_return_in_time_change_nothing) {
  EXPECT_EQ(in_child([] {
              application app({.name = "test", .workers = 1, .stop_timeout = 1h});
              std::atomic<int> reloads{0};
              app.on_work([&](worker& me) {
                for (int round = 1; round <= 20; ++round) {
                  app.reload();
                  wait_until([&] { return reloads == round; });
                }
                app.stop();
                wait_for_the_stop(me);
              });
              app.on_reload([&] { ++reloads; });
              return app.run();
            }),
            quiet(0));
}

TEST(callbacks, callbacks_of_processes_that_hang_are_named) {
  // Both processes end at their own deadlines.
  const ending stops = in_child([] {
    application_options settings = in_processes_in_a_moment();
    settings.processes = 2;
    application app(settings);
    app.on_work([&](worker& me) {
      kill(getppid(), SIGTERM);
      wait_for_the_stop(me);
    });
    app.on_stop(hang);
    return app.run();
  });
  EXPECT_NE(stops.error.find("process 0: on_stop did not return\n"), std::string::npos) << stops;
  EXPECT_NE(stops.error.find("process 1: on_stop did not return\n"), std::string::npos) << stops;

  // The parent runs its own reload: its processes are stopped meanwhile.
  const ending reloads = in_child([] {
    application_options settings = in_processes_in_a_moment();
    settings.processes = 1;
    static application app(settings);
    app.on_work([&](worker& me) {
      kill(getppid(), SIGHUP);
      wait_for_the_stop(me);
    });
    app.on_reload([] {
      kill(getpid(), SIGTERM);
      hang();
    });
    return app.run() + 100;
  });
  EXPECT_EQ(reloads, expected_ending(3, "on_reload did not return\n"));

  const ending births = in_child([] {
    application_options settings = in_processes_in_a_moment();
    settings.processes = 1;
    application app(settings);
    app.on_work([&](worker&) { _exit(100); });
    const pid_t parent = getpid();
    app.on_process([parent](unsigned) {
      kill(parent, SIGTERM);
      hang();
    });
    return app.run();
  });
  EXPECT_NE(births.error.find("process 0: on_process did not return\n"), std::string::npos) << births;
}

TEST(callbacks, an_application_without_work_is_not_started) {
  EXPECT_EQ(in_child([] { return application({.name = "test"}).run(); }),
            expected_ending(1, "not started: on_work() was not called, and there would be nothing to do\n"));
  EXPECT_EQ(in_child([] {
              application app({.name = "test", .workers = 0});
              app.on_work([](worker&) {});
              return app.run();
            }),
            expected_ending(1, "not started: application_options::workers is 0, and there would be nobody to work\n"));
}

}  // namespace
