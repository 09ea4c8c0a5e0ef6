// A coroutine returns before its body has run, so functions that call one under a lock refuse it.
#include <tarn/application.hpp>
#include <tarn/async_shared.hpp>
#include <tarn/io/batch.hpp>
#include <tarn/pool.hpp>
#include <tarn/read_only.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/reloadable_map.hpp>
#include <tarn/with.hpp>

#include <chrono>
#include <coroutine>
#include <deque>
#include <mutex>
#include <span>
#include <string>

struct task {
  struct promise_type {
    task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};
// A foreign type, which is a coroutine's only because of its arguments.
struct flag {};
template <class... Arguments>
struct std::coroutine_traits<flag, Arguments...> {
  struct promise_type : task::promise_type {
    flag get_return_object() { return {}; }
  };
};
inline tarn::shared<int> number(1), second_number(2);
inline tarn::reloadable<int> current(1);
inline tarn::read_only<std::string> text;
inline tarn::shared<int, std::timed_mutex> timed(1), second_timed(2);
inline std::deque<tarn::shared<int, std::timed_mutex>> numbers(2);
inline tarn::reloadable_map<int, int> limits;
inline tarn::pool<int> objects;
inline bool is_positive(const int& n) { return n > 0; }

//- good
int plain() {
  return number.with([](int& n) { return n; }) + current.with([](const int& n) { return n; });
}
//- bad: is a coroutine
void lambda() {
  number.with([](int&) -> task { co_return; });
}
//- bad: is a coroutine
task add(int& n) {
  ++n;
  co_return;
}
void function() { number.with(add); }
//- bad: is a coroutine
void made_one_by_its_arguments() {
  number.with([](int&) -> flag { co_return; });
}
//- bad: is a coroutine
void mutable_lambda() {
  number.with([last_number = 0](int& n) mutable -> task {
    last_number = n;
    co_return;
  });
}
//- bad: is a coroutine
void reading() {
  number.read([](const int&) -> task { co_return; });
}
//- bad: is a coroutine
void conditional() {
  number.with_when([](const int& n) { return n > 0; }, [](int&) -> task { co_return; });
}
//- bad: is a coroutine
void two() {
  tarn::with(number, second_number, [](int&, int&) -> task { co_return; });
}
//- bad: is a coroutine
void version() {
  current.with([](const int&) -> task { co_return; });
}

//- good
void waiting() {
  number.with_if(is_positive, [](int& n) { ++n; });
  number.read_when(is_positive, [](const int&) {});
  static_cast<void>(number.with_when_for(std::chrono::seconds(1), is_positive, [](int&) {}));
  static_cast<void>(number.read_when_for(std::chrono::seconds(1), is_positive, [](const int&) {}));
  static_cast<void>(tarn::with_for(std::chrono::seconds(1), timed, second_timed, [](int&, int&) {}));
}
//- bad: is a coroutine
void rare_change() {
  number.with_if(is_positive, [](int&) -> task { co_return; });
}
//- bad: is a coroutine
void conditional_reading() {
  number.read_when(is_positive, [](const int&) -> task { co_return; });
}
//- bad: is a coroutine
void conditional_in_time() {
  static_cast<void>(number.with_when_for(std::chrono::seconds(1), is_positive, [](int&) -> task { co_return; }));
}
//- bad: is a coroutine
void conditional_reading_in_time() {
  static_cast<void>(number.read_when_for(std::chrono::seconds(1), is_positive, [](const int&) -> task { co_return; }));
}
//- bad: is a coroutine
void two_in_time() {
  static_cast<void>(
      tarn::with_for(std::chrono::seconds(1), timed, second_timed, [](int&, int&) -> task { co_return; }));
}

//- good
void range() {
  tarn::with_range(numbers, [](std::span<int* const>) {});
  static_cast<void>(tarn::with_range_for(std::chrono::seconds(1), numbers, [](std::span<int* const>) {}));
}
//- bad: is a coroutine
void range() {
  tarn::with_range(numbers, [](std::span<int* const>) -> task { co_return; });
}
//- bad: is a coroutine
void range_in_time() {
  static_cast<void>(
      tarn::with_range_for(std::chrono::seconds(1), numbers, [](std::span<int* const>) -> task { co_return; }));
}

//- good
void versions() {
  current.update([](int& n) { ++n; });
  const auto listener = current.on_change([](const tarn::snapshot<int>&) {});
}
//- bad: is a coroutine
void update() {
  current.update([](int&) -> task { co_return; });
}
//- bad: is a coroutine
void listen() {
  const auto listener = current.on_change([](const tarn::snapshot<int>&) -> task { co_return; });
}

//- good
void values_by_key() {
  limits.with(1, [](const int&) {});
  limits.update(1, [](int& n) { ++n; });
  limits.for_each([](const int&, const int&) {});
}
//- bad: is a coroutine
void value_of_a_key() {
  limits.with(1, [](const int&) -> task { co_return; });
}
//- bad: is a coroutine
void update_of_a_key() {
  limits.update(1, [](int&) -> task { co_return; });
}
//- bad: is a coroutine
void each_key() {
  limits.for_each([](const int&, const int&) -> task { co_return; });
}

//- good
void live_objects() {
  objects.for_each_live([](int& n) { ++n; });
}
//- bad: is a coroutine
void live_objects() {
  objects.for_each_live([](int&) -> task { co_return; });
}

//- good
void build() {
  text.build_with([](std::string& value) { value = "built"; });
}
//- bad: is a coroutine
void build() {
  text.build_with([](std::string&) -> task { co_return; });
}

//- good
void run(tarn::io::batch& files) {
  files.run([](const tarn::io::batch_content&) {});
}
//- good
void look(tarn::io::batch_content&) {}
void run_a_function(tarn::io::batch& files) { files.run(look); }
//- bad: is a coroutine
void run(tarn::io::batch& files) {
  files.run([](const tarn::io::batch_content&) -> task { co_return; });
}

//- good
void begin(tarn::application& app) {
  const std::function<void()> handler = [] {};
  app.on_initialise(handler).on_stop([] {}).on_reload({}).on_work([](tarn::worker&) {}).on_process([](unsigned) {});
}
//- bad: is a coroutine
void begin(tarn::application& app) {
  app.on_work([](tarn::worker&) -> task { co_return; });
}
//- bad: is a coroutine
void begin(tarn::application& app) {
  app.on_reload([]() -> task { co_return; });
}

//- good
task suspends(tarn::async_shared<int>& shared) {
  auto lock = co_await shared.lock();
  ++*lock;
  co_await shared.with([](int& n) { ++n; });
}
//- bad: is a coroutine
task suspends(tarn::async_shared<int>& shared) {
  co_await shared.with([](int& n) -> task {
    ++n;
    co_return;
  });
}
//- bad: would outlive the lock
task suspends(tarn::async_shared<int>& shared) {
  co_await shared.with([](int& n) { return &n; });
}
