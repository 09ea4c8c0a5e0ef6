// Tests an application, and loops that accept connections, in a process that has no descriptors left.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>

#include <tarn/accept_backoff.hpp>
#include <tarn/application.hpp>

#include "support/descriptors.hpp"
#include "unit/sync/application_fixture.hpp"
#include "unit/sync/manager_stand_in.hpp"

namespace {

using namespace application_tests;
using support::few_descriptors;

const std::string cure = std::string(support::few_descriptors_text) + "\n";

// The child ends by the value of run(), so an exception of the constructor fails the test by its signal.
ending run_with(unsigned descriptors, application_options settings) {
  return in_child([&] {
    const few_descriptors shortage(descriptors);
    application app(settings);
    app.on_work([](worker&) { _exit(100); });
    app.stop();  // and does nothing worse than without descriptors
    return app.run();
  });
}

TEST(descriptors, an_application_without_any_is_not_started) {
  EXPECT_EQ(run_with(0, {.name = "test"}), expected_ending(1, "not started: cannot make a signalfd: " + cure));
  EXPECT_EQ(run_with(1, {.name = "test"}), expected_ending(1, "not started: cannot make an eventfd: " + cure));
  EXPECT_EQ(run_with(2, {.name = "test"}), expected_ending(1, "not started: cannot make an eventfd: " + cure));
  EXPECT_EQ(run_with(3, {.name = "test"}), quiet(0)) << "the least number that suffices";
}

TEST(descriptors, an_application_without_any_gives_its_signals_back) {
  EXPECT_EQ(in_child([] {
              sigset_t before, after;
              pthread_sigmask(SIG_BLOCK, nullptr, &before);
              {
                const few_descriptors shortage(0);
                const application failed({.name = "test"});
              }
              pthread_sigmask(SIG_BLOCK, nullptr, &after);
              application works({.name = "test"});
              works.on_work([](worker&) {});
              return sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM) ? works.run() : 100;
            }),
            quiet(0));
}

TEST(descriptors, processes_without_any_are_not_forked) {
  EXPECT_EQ(in_child([] {
              application app({.name = "test", .processes = 1});
              app.on_work([](worker&) { _exit(100); });
              const few_descriptors shortage(1);  // a channel has two ends
              return app.run();
            }),
            expected_ending(1, "process 0 of 1: cannot be forked: cannot make a socketpair: " + cure));
}

TEST(descriptors, errors_of_callbacks_name_the_limit) {
  const auto run = [](auto throw_it) {
    return in_child([throw_it] {
      application app({.name = "test"});
      app.on_initialise(throw_it);
      app.on_work([](worker&) { _exit(100); });
      const few_descriptors shortage(0);
      return app.run();
    });
  };
  EXPECT_EQ(run([] { throw std::system_error(EMFILE, std::generic_category(), "a.toml"); }),
            expected_ending(1, "not started: the initialiser threw: a.toml: " + cure));
  EXPECT_EQ(run([] { throw std::system_error(ENOENT, std::generic_category(), "a.toml"); }),
            expected_ending(1, "not started: the initialiser threw: a.toml: No such file or directory\n"));
}

// A manager that gets no sign of life would end a service that has too many clients.
TEST(descriptors, the_manager_still_gets_signs_of_life) {
  EXPECT_EQ(in_child([] {
              const manager_stand_in manager;
              setenv("WATCHDOG_USEC", "20000", 1);
              application app({.name = "test", .stop_timeout = 1h});
              const few_descriptors shortage(0);
              return run_until_pinged(manager, app);
            }),
            quiet(0));
}

// --- Loops that accept connections ----------------------------------------------------------------------------------

TEST(descriptors, a_failed_accept_is_reported_once_a_minute) {
  EXPECT_EQ(
      in_child([] {
        const few_descriptors shortage(0);
        tarn::accept_backoff door("port 8080");
        bool may_go_on = true;
        for (int attempt = 0; attempt < 1000; ++attempt) may_go_on &= door.may_retry(EMFILE);
        return may_go_on ? 0 : 100;
      }),
      (ending{.signal = 0, .status = 0, .error = "tarn: port 8080: connections wait, because accept fails: " + cure}));
  EXPECT_EQ(in_child([] {
              tarn::accept_backoff door("port 8080");
              return door.may_retry(ENFILE) ? 0 : 100;
            }),
            (ending{.signal = 0,
                    .status = 0,
                    .error = "tarn: port 8080: connections wait, because accept fails: Too many open files in system: "
                             "end programs, or raise the limit of the system (sysctl fs.file-max)\n"}));
}

TEST(descriptors, a_failed_accept_tells_passing_errors_from_mistakes) {
  EXPECT_EQ(in_child([] {
              tarn::accept_backoff door("port 8080");
              for (const int passing : {EAGAIN, EINTR, ECONNABORTED, EPROTO}) {  // concern one connection, or none
                if (!door.may_retry(passing)) return passing;
              }
              for (const int mistake : {EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP}) {
                if (door.may_retry(mistake)) return mistake;
              }
              return 0;
            }),
            quiet(0));
}

}  // namespace
