// Tarn's parts for users of Asio, in an io_context of one thread: locks in Asio's own coroutines, deadlines,
// cancellation, coroutines with memory of their own, connections.
#include <tarn/asio/async_lock.hpp>
#include <tarn/asio/coroutine.hpp>
#include <tarn/asio/listener.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tarn/application.hpp>

#include "support/child.hpp"
#include "support/descriptors.hpp"

namespace {

using namespace std::chrono_literals;
namespace net = tarn::asio::net;
using tarn::async_shared;

constexpr auto for_ever = 24h;
constexpr auto result_and_error = net::as_tuple(net::use_awaitable);

net::awaitable<void> append(async_shared<std::string>& text, char letter) {
  auto handle = co_await tarn::asio::async_lock(text, net::use_awaitable);
  co_await net::post(co_await net::this_coro::executor, net::use_awaitable);  // the lock is held over a suspension
  *handle += letter;
}

TEST(asio, coroutines_of_asio_take_the_lock_in_turn) {
  net::io_context io;
  async_shared<std::string> text;
  for (const char letter : {'a', 'b', 'c'}) net::co_spawn(io, append(text, letter), net::detached);
  io.run();
  EXPECT_EQ(*text.try_lock(), "abc");
}

TEST(asio, a_lock_completes_by_the_executor_and_never_at_once) {
  net::io_context io;
  async_shared<int> number(1);
  int value = 0;
  tarn::asio::async_lock(
      number, net::bind_executor(io, [&](tarn::asio::error_code, auto handle) { value = handle ? *handle : -1; }));
  EXPECT_EQ(value, 0);
  io.run();
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(number.try_lock()) << "the handler had the handle";
}

TEST(asio, run_does_not_return_while_a_lock_is_waited_for) {
  net::io_context io;
  async_shared<int> number(0);
  auto own_lock = number.try_lock();
  net::co_spawn(
      io,
      [&]() -> net::awaitable<void> {
        co_await net::post(co_await net::this_coro::executor, net::use_awaitable);
        ++*co_await tarn::asio::async_lock(number, net::use_awaitable);
      },
      net::detached);
  while (io.poll() != 0) {
  }
  EXPECT_FALSE(io.stopped());
  std::thread([&] { own_lock.unlock(); }).join();
  io.run();
  EXPECT_EQ(*number.try_lock(), 1);
}

TEST(asio, a_wait_for_the_lock_has_a_deadline) {
  net::io_context io;
  async_shared<int> number(0);
  auto own_lock = number.try_lock();
  std::vector<std::string> results;
  net::co_spawn(
      io,
      [&]() -> net::awaitable<void> {
        auto [error, handle] = co_await tarn::asio::async_lock(number, 1ms, result_and_error);
        results.push_back(error == net::error::operation_aborted && !handle ? "late" : "wrong");
        own_lock.unlock();
        auto [no_lock, now] = co_await tarn::asio::async_lock(number, for_ever, result_and_error);
        results.push_back(!no_lock && now ? "in time" : "wrong");
      },
      net::detached);
  io.run();  // returns although for_ever is not over
  EXPECT_EQ(results, (std::vector<std::string>{"late", "in time"}));
}

TEST(asio, a_wait_for_the_lock_is_cancelled_by_its_slot) {
  net::io_context io;
  async_shared<int> number(0);
  auto own_lock = number.try_lock();
  net::cancellation_signal first, second;
  int cancelled = 0, locked = 0;
  const auto count = [&](tarn::asio::error_code error, auto handle) {
    ++(error == net::error::operation_aborted && !handle ? cancelled : locked);
  };
  for (net::cancellation_signal* signal : {&first, &second}) {
    tarn::asio::async_lock(number, net::bind_executor(io, net::bind_cancellation_slot(signal->slot(), count)));
  }
  io.poll();
  first.emit(net::cancellation_type::terminal);
  io.poll();
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(locked, 0);
  own_lock.unlock();
  io.run();
  EXPECT_EQ(locked, 1);
  second.emit(net::cancellation_type::terminal);
  EXPECT_EQ(cancelled, 1);
}

// A program that stops destroys its io_context while coroutines hold a lock and wait for it.
class a_context_that_ends : public testing::Test {
 protected:
  void wait_in(net::io_context& io) {
    net::co_spawn(
        io, [this]() -> net::awaitable<void> { ++*co_await tarn::asio::async_lock(number_, net::use_awaitable); },
        net::detached);
  }

  async_shared<int> number_{0};
  std::optional<net::io_context> io_{std::in_place};
};

TEST_F(a_context_that_ends, leaves_the_lock_free_that_its_coroutines_had_and_waited_for) {
  net::co_spawn(
      *io_,
      [this]() -> net::awaitable<void> {
        const auto handle = co_await tarn::asio::async_lock(number_, net::use_awaitable);
        net::steady_timer never(co_await net::this_coro::executor, for_ever);
        co_await never.async_wait(net::use_awaitable);
      },
      net::detached);
  wait_in(*io_);
  wait_in(*io_);
  io_->poll();
  EXPECT_FALSE(number_.try_lock());
  io_.reset();
  EXPECT_TRUE(number_.try_lock());
}

TEST_F(a_context_that_ends, is_not_used_by_who_releases_the_lock_later) {
  auto own_lock = number_.try_lock();
  wait_in(*io_);
  net::co_spawn(
      *io_,
      [this]() -> net::awaitable<void> { co_await tarn::asio::async_lock(number_, for_ever, net::use_awaitable); },
      net::detached);
  io_->poll();
  net::io_context next_context;
  wait_in(next_context);
  next_context.poll();
  io_.reset();
  own_lock.unlock();
  next_context.run();
  EXPECT_EQ(*number_.try_lock(), 1) << "the lock passed to who still waits";
}

TEST_F(a_context_that_ends, gives_back_the_lock_that_was_on_its_way) {
  auto own_lock = number_.try_lock();
  wait_in(*io_);
  wait_in(*io_);
  io_->poll();
  own_lock.unlock();
  EXPECT_FALSE(number_.try_lock()) << "the first one has it, and has not run yet";
  io_.reset();
  EXPECT_TRUE(number_.try_lock());
}

TEST_F(a_context_that_ends, destroys_handlers_that_wait_and_clears_their_slots) {
  auto own_lock = number_.try_lock();
  net::cancellation_signal signal;
  const auto part = std::make_shared<int>();
  const auto handler = [part](tarn::asio::error_code, tarn::async_handle<int>) { FAIL(); };
  tarn::asio::async_lock(number_, net::bind_executor(*io_, net::bind_cancellation_slot(signal.slot(), handler)));
  tarn::asio::async_lock(number_, for_ever, net::bind_executor(net::make_strand(*io_), handler));
  io_->poll();
  EXPECT_EQ(part.use_count(), 4);
  io_.reset();
  EXPECT_EQ(part.use_count(), 2) << "this test has them";
  signal.emit(net::cancellation_type::terminal);
  own_lock.unlock();
  EXPECT_TRUE(number_.try_lock());
}

TEST_F(a_context_that_ends, may_do_so_while_another_thread_releases_the_lock) {
  for (int turn = 0; turn < 200; ++turn) {
    auto own_lock = number_.try_lock();
    ASSERT_TRUE(own_lock);
    wait_in(*io_);
    wait_in(*io_);
    io_->poll();
    std::thread releaser([&] { own_lock.unlock(); });
    io_.emplace();
    releaser.join();
  }
  EXPECT_EQ(*number_.try_lock(), 0) << "no coroutine ran, and none kept the lock";
}

/// Counts the blocks of coroutines and of their waits.
class counted_memory : public std::pmr::memory_resource {
 public:
  int blocks = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++blocks;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    --blocks;
    std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& resource) const noexcept override { return this == &resource; }
};

/// Starts coroutines that nobody awaits.
class background_starter {
 public:
  counted_memory memory_;
  std::shared_ptr<int> part_ = std::make_shared<int>();  ///< each coroutine that is alive has a copy
  async_shared<int> number_{0};

  std::pmr::memory_resource& memory() noexcept { return memory_; }

  tarn::asio::background hold_lock(net::io_context& io) {
    const auto copy = part_;
    const auto lock = number_.try_lock();
    co_await wait_for_ever(io);
    ADD_FAILURE() << "the wait never ends";
  }
  tarn::asio::task<> wait_for_ever(net::io_context& io) {
    const auto copy = part_;
    tarn::asio::steady_timer never(io, for_ever);
    co_await tarn::asio::wait(memory_, [&](auto handler) { never.async_wait(std::move(handler)); });
  }
  template <class Start>
  tarn::asio::background start(Start operation, std::string& result) {
    const auto copy = part_;
    try {
      co_await tarn::asio::wait(memory_, operation);
      result = "resumed";
    } catch (const std::runtime_error& thrown) {
      result = thrown.what();
    }
  }
  tarn::asio::background fail_after_wait(net::io_context& io) {
    const auto copy = part_;
    tarn::asio::steady_timer soon(io, 1ms);
    co_await tarn::asio::wait(memory_, [&](auto handler) { soon.async_wait(std::move(handler)); });
    throw std::runtime_error("failed");
  }
};

class a_coroutine_that_nobody_awaits : public testing::Test {
 protected:
  void expect_nothing_is_left() {
    EXPECT_EQ(starter_.part_.use_count(), 1);
    EXPECT_EQ(starter_.memory_.blocks, 0);
  }

  background_starter starter_;
  std::optional<net::io_context> io_{std::in_place};
  std::string result_;
};

TEST_F(a_coroutine_that_nobody_awaits, is_destroyed_with_its_tasks_when_its_context_ends) {
  starter_.hold_lock(*io_);
  starter_.hold_lock(*io_);
  io_->poll();
  EXPECT_EQ(starter_.part_.use_count(), 5);
  EXPECT_FALSE(starter_.number_.try_lock());
  io_.reset();
  expect_nothing_is_left();
  EXPECT_TRUE(starter_.number_.try_lock());
}

TEST_F(a_coroutine_that_nobody_awaits, catches_what_the_start_of_an_operation_throws) {
  starter_.start([](auto) { throw std::runtime_error("refused"); }, result_);
  EXPECT_EQ(result_, "refused");
  expect_nothing_is_left();
}

TEST_F(a_coroutine_that_nobody_awaits, is_destroyed_when_an_operation_drops_its_handler) {
  starter_.start([](auto) {}, result_);
  EXPECT_EQ(result_, "");
  expect_nothing_is_left();
}

TEST_F(a_coroutine_that_nobody_awaits, leaves_nothing_when_its_exception_leaves_the_context) {
  starter_.fail_after_wait(*io_);
  EXPECT_THROW(io_->run(), std::runtime_error);
  expect_nothing_is_left();
}

/// An object whose coroutines have their frames in its memory.
class owner {
 public:
  explicit owner(net::io_context& io) : io_(io) {}
  std::pmr::memory_resource& memory() noexcept { return memory_; }

  tarn::asio::background run(std::vector<std::string>& results) {
    const int sum = co_await add(1, 2);
    results.push_back(std::to_string(sum));
    try {
      co_await fail();
    } catch (const std::runtime_error& thrown) {
      results.push_back(thrown.what());
    }
    const tarn::asio::deadline soon(io_.get_executor(), 1ms);
    auto own_lock = number_.try_lock();
    const auto late_handle = co_await number_.lock(tarn::asio::resume_on(io_.get_executor()), soon.token());
    results.push_back(!late_handle && soon.is_over() ? "late" : "wrong");
    const bool is_called = co_await number_.with([](int& n) { ++n; }, soon.token());
    results.push_back(is_called ? "wrong" : "late");
  }
  tarn::asio::task<int> add(int a, int b) {
    tarn::asio::steady_timer timer(io_, 1ms);
    const auto error = co_await tarn::asio::wait(memory_, [&](auto handler) { timer.async_wait(std::move(handler)); });
    co_return error ? -1 : a + b;
  }
  tarn::asio::task<> fail() {
    throw std::runtime_error("failed");
    co_return;
  }

 private:
  net::io_context& io_;
  async_shared<int> number_;
  alignas(std::max_align_t) std::byte bytes_[16 * 1024];
  std::pmr::monotonic_buffer_resource memory_{bytes_, sizeof bytes_, std::pmr::null_memory_resource()};
};

TEST(asio, coroutines_have_memory_of_their_owner_and_deadlines) {
  net::io_context io;
  owner object(io);
  std::vector<std::string> results;
  object.run(results);
  io.run();
  EXPECT_EQ(results, (std::vector<std::string>{"3", "failed", "late", "late"}));
}

#if TARN_CHECKS
struct nested {
  async_shared<int> first{tarn::rank{0, "first"}, 0}, second{tarn::rank{0, "second"}, 0};
  std::pmr::memory_resource& memory() noexcept { return *std::pmr::new_delete_resource(); }
  tarn::asio::task<> take(async_shared<int>& inner) { ++*co_await inner.lock(); }
  tarn::asio::background take_both(async_shared<int>& outer, async_shared<int>& inner) {
    const auto handle = co_await outer.lock();
    co_await take(inner);
  }
};

TEST(asio, orders_of_locks_are_seen_through_tasks_that_await_each_other) {
  nested locks;
  locks.take_both(locks.first, locks.second);
  const auto child_ending = support::in_child([&] { locks.take_both(locks.second, locks.first); });
  EXPECT_EQ(child_ending.signal, SIGABRT);
  EXPECT_EQ(child_ending.error.substr(0, 36), "tarn: lock order: async_shared \"firs");
}
#endif

// A worker whose connections are accepted until it stops, with the one that waits at that moment.
TEST(asio, a_worker_serves_connections_until_it_stops) {
  net::io_context outside;
  net::ip::tcp::acceptor open(outside, {net::ip::make_address("127.0.0.1"), 0});
  const auto address = open.local_endpoint();
  int admitted = 0;
  tarn::application server({.name = "asio"});
  server.on_work([&](tarn::worker& me) {
    net::io_context io;
    tarn::asio::listener door(io, dup(open.native_handle()), *std::pmr::new_delete_resource());
    tarn::asio::worker_stop stop(io, me);
    net::io_context clients;
    net::ip::tcp::socket second(clients);
    const auto admit = [&](tarn::asio::tcp_socket, const net::ip::tcp::endpoint& peer) {
      EXPECT_EQ(peer.address(), address.address());
      ++admitted;
    };
    door.accept([&](tarn::asio::tcp_socket client, const net::ip::tcp::endpoint& peer) {
      admit(std::move(client), peer);
      if (admitted == 1) server.stop();
    });
    stop.async_wait([&](tarn::asio::error_code error) {
      EXPECT_FALSE(error);
      second.connect(address);  // the kernel accepts it, and close() takes it in
      door.close(admit);
    });
    net::ip::tcp::socket first(clients);
    first.connect(address);
    io.run();
  });
  EXPECT_EQ(server.run(), 0);
  EXPECT_EQ(admitted, 2);
}

// Connections wait while the process has no descriptors, at the price of ten attempts a second, and none is lost.
TEST(asio, a_listener_without_descriptors_waits_for_them) {
  const support::ending result = support::in_child([] {
    net::io_context io(1), clients(1);
    net::ip::tcp::acceptor open(clients, {net::ip::make_address("127.0.0.1"), 0});
    const auto address = open.local_endpoint();
    std::vector<net::ip::tcp::socket> sockets;
    for (int number = 0; number < 3; ++number) {
      sockets.emplace_back(clients);
      sockets.back().connect(address);  // the kernel completes it without an accept
    }
    tarn::asio::listener door(io, dup(open.native_handle()), *std::pmr::new_delete_resource());
    net::steady_timer first_relief(io, 350ms), second_relief(io, 700ms);
    auto shortage = std::make_optional<support::few_descriptors>(0);
    std::vector<tarn::asio::tcp_socket> admitted;
    door.accept([&](tarn::asio::tcp_socket client, const net::ip::tcp::endpoint&) {
      admitted.push_back(std::move(client));
      if (admitted.size() == 3) {
        admitted.clear();
        io.stop();
      }
    });
    first_relief.async_wait(
        [&](auto) { shortage->give_back_one(); });  // and then the next shortage, in the same minute
    second_relief.async_wait([&](auto) { shortage.reset(); });
    std::size_t handlers = 0;
    while (io.run_one() != 0) ++handlers;
    if (handlers > 100) return 100;
    std::fprintf(stderr, "port %u\n", unsigned{address.port()});
    return 0;
  });
  const std::string port = result.error.substr(result.error.rfind(' ') + 1);
  EXPECT_EQ(result, (support::ending{.signal = 0,
                                     .status = 0,
                                     .error = "tarn: listener of port " + port.substr(0, port.size() - 1) +
                                              ": connections wait, because accept fails: " +
                                              support::few_descriptors_text + "\nport " + port}));
}

TEST(asio, a_worker_stop_without_a_descriptor_says_so) {
  EXPECT_EQ(
      support::in_child([] {
        tarn::application server({.name = "asio"});
        std::optional<support::few_descriptors> shortage;
        server.on_work([&](tarn::worker& me) {
          net::io_context io;
          shortage.emplace(0);
          const tarn::asio::worker_stop stop(io, me);
        });
        return server.run();
      }),
      (support::ending{.signal = 0,
                       .status = 2,
                       .error = "tarn: application \"asio\": worker 0 threw: tarn::asio::worker_stop: cannot copy a "
                                "descriptor: " +
                                std::string(support::few_descriptors_text) + "\n"}));
}

}  // namespace
