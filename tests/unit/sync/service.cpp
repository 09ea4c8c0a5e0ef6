// Tests the messages between a service and its manager, with a stand-in for the manager's socket.
#include <tarn/service.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <tarn/application.hpp>

#include "unit/sync/application_fixture.hpp"
#include "unit/sync/manager_stand_in.hpp"

namespace {

using namespace application_tests;

TEST(service, without_a_manager_nothing_is_sent) {
  for (const char* const path : {"", "relative", "/", "/nowhere/at/all", "@nobody-listens-here"}) {
    setenv("NOTIFY_SOCKET", path, 1);
    EXPECT_FALSE(tarn::notify_service("READY=1")) << path;
  }
  setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'x')).c_str(), 1);
  EXPECT_FALSE(tarn::notify_service("READY=1"));
  unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(tarn::notify_service("READY=1"));
}

TEST(service, sends_to_the_manager) {
  const manager_stand_in manager;
  EXPECT_TRUE(tarn::notify_service("READY=1\nSTATUS=well"));
  EXPECT_EQ(manager.next(), "READY=1\nSTATUS=well");
  unsetenv("NOTIFY_SOCKET");
}

TEST(service, answers_the_watchdog_of_this_process_only) {
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(tarn::service_watchdog_interval(), 30s);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(tarn::service_watchdog_interval(), 30s);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(tarn::service_watchdog_interval(), 0s);
  unsetenv("WATCHDOG_PID");
  for (const char* const wrong : {"", "0", "-5", "12 ", "99999999999999999999"}) {
    setenv("WATCHDOG_USEC", wrong, 1);
    EXPECT_EQ(tarn::service_watchdog_interval(), 0s) << wrong;
  }
  unsetenv("WATCHDOG_USEC");
}

TEST(service, takes_the_sockets_once_with_their_names) {
  EXPECT_EQ(in_child([] {
              for (const int descriptor : {3, 4, 5}) dup2(0, descriptor);
              setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
              setenv("LISTEN_FDS", "3", 1);
              setenv("LISTEN_FDNAMES", "http:metrics", 1);
              const auto sockets = tarn::take_service_sockets();
              const bool is_good = sockets.size() == 3 && sockets[0].descriptor == 3 && sockets[0].name == "http" &&
                                   sockets[1].name == "metrics" && sockets[2].descriptor == 5 &&
                                   sockets[2].name == "unknown" && (fcntl(4, F_GETFD) & FD_CLOEXEC) != 0;
              return is_good && tarn::take_service_sockets().empty() && std::getenv("LISTEN_FDS") == nullptr ? 0 : 100;
            }),
            quiet(0));
}

TEST(service, leaves_the_sockets_of_another_process) {
  setenv("LISTEN_PID", "1", 1);
  setenv("LISTEN_FDS", "1", 1);
  EXPECT_TRUE(tarn::take_service_sockets().empty());
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", "-1", 1);
  EXPECT_TRUE(tarn::take_service_sockets().empty());
}

TEST(service, application_pings_the_watchdog) {
  EXPECT_EQ(in_child([] {
              const manager_stand_in manager;
              setenv("WATCHDOG_USEC", "20000", 1);
              application app({.name = "test", .workers = 2, .stop_timeout = 1h});
              return run_until_pinged(manager, app);
            }),
            quiet(0));
}

TEST(service, application_tells_the_manager_of_its_life) {
  EXPECT_EQ(in_child([] {
              const manager_stand_in manager;
              application app({.name = "test", .workers = 2, .stop_timeout = 1h});
              app.on_work([](worker& me) { wait_for_the_stop(me); });
              app.on_reload([] {});
              bool is_good = true;
              std::thread driver([&] {
                is_good = manager.next() == "READY=1";
                app.reload();
                is_good = manager.next().starts_with("RELOADING=1\nMONOTONIC_USEC=") && is_good;
                is_good = manager.next() == "READY=1" && is_good;
                app.stop();
                is_good = manager.next() == "STOPPING=1" && is_good;
              });
              const int result = app.run();
              driver.join();
              return result == 0 && is_good ? 0 : 100;
            }),
            quiet(0));
}

TEST(service, parent_of_processes_alone_tells_the_manager) {
  EXPECT_EQ(in_child([] {
              const manager_stand_in manager;
              application app({.name = "test", .workers = 1, .processes = 2, .stop_timeout = 1h});
              app.on_work([&](worker& me) {
                if (me.number() == 1 && manager.next() == "READY=1") {  // the processes share the stand-in's socket
                  kill(getppid(), SIGTERM);
                }
                wait_for_the_stop(me);
              });
              const int result = app.run();
              return result == 0 && manager.next() == "STOPPING=1" && manager.is_empty() ? 0 : 100;
            }),
            quiet(0));
}

TEST(service, workers_stay_on_their_processors) {
  EXPECT_EQ(in_child([] {
              cpu_set_t allowed;
              sched_getaffinity(0, sizeof allowed, &allowed);
              const auto processors = static_cast<unsigned>(CPU_COUNT(&allowed));
              application app({.name = "test", .workers = processors + 1, .stop_timeout = 1h, .binds_workers = true});
              std::mutex mutex;
              std::multiset<int> processors_used;
              app.on_work([&](worker&) {
                cpu_set_t own_processors;
                sched_getaffinity(0, sizeof own_processors, &own_processors);
                const std::lock_guard hold(mutex);
                processors_used.insert(CPU_COUNT(&own_processors) == 1 ? sched_getcpu() : -1);
              });
              const int result = app.run();
              const std::set<int> different(processors_used.begin(), processors_used.end());
              return result == 0 && processors_used.count(-1) == 0 && different.size() == processors ? 0 : 100;
            }),
            quiet(0));
}

}  // namespace
