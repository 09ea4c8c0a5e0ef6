// Coroutines of Asio and of Tarn share a number; it prints "ok". The code is quoted in docs/guide/sync.md.
#include <cstdio>

#include <tarn/asio/async_lock.hpp>
#include <tarn/asio/coroutine.hpp>
#include <tarn/asio/listener.hpp>

namespace {

namespace net = tarn::asio::net;

struct session {
  std::pmr::memory_resource& memory() noexcept { return *std::pmr::new_delete_resource(); }
  tarn::asio::task<int> add(tarn::async_shared<int>& number) { co_return ++*co_await number.lock(); }
  tarn::asio::background run(tarn::async_shared<int>& number) { co_await add(number); }
};

net::awaitable<void> add(tarn::async_shared<int>& number) {
  ++*co_await tarn::asio::async_lock(number, std::chrono::hours(1), net::use_awaitable);
}

}  // namespace

int main() {
  net::io_context io;
  tarn::async_shared<int> number(0);
  session visitor;
  visitor.run(number);
  net::co_spawn(io, add(number), net::detached);
  io.run();
  if (*number.try_lock() == 2) {
    std::puts("ok");
  }
}
