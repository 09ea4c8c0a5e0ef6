// Takes locks in different orders, of which `tarn report` must find exactly those that could deadlock. Each
// thread runs alone, so that nothing deadlocks, except with the argument "deadlock". With "late", another lock is taken
// so often before that the recorder samples all further ones.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace {

using std::chrono::milliseconds;

template <class... Bodies>
void one_after_the_other(Bodies... bodies) {
  (std::thread(bodies).join(), ...);
}

// In the function that wants it: no call at its end is to take that one's place on the stack.
template <class First, class Second>
[[gnu::always_inline]] inline void take(First& first, Second& second) {
  const std::lock_guard outer(first);
  const std::lock_guard inner(second);
}

std::mutex left, right;
[[gnu::noinline]] void left_then_right() { take(left, right); }
[[gnu::noinline]] void right_then_left() { take(right, left); }

std::mutex lock_a, lock_b, lock_c;
[[gnu::noinline]] void one_then_two() { take(lock_a, lock_b); }
[[gnu::noinline]] void two_then_three() { take(lock_b, lock_c); }
[[gnu::noinline]] void three_then_one() { take(lock_c, lock_a); }

// Takes two of many locks; all such pairs are one finding.
std::mutex accounts[6];
[[gnu::noinline]] void transfer(int source, int target) { take(accounts[source], accounts[target]); }

std::mutex own_left, own_right;
[[gnu::noinline]] void both_ways_alone() {
  take(own_left, own_right);
  take(own_right, own_left);
}

// Nothing from here on could deadlock.
std::mutex first, second;
[[gnu::noinline]] void always_first_then_second() {
  for (int round = 0; round < 100; ++round) take(first, second);
}

std::mutex tried, held_while_trying;
[[gnu::noinline]] void tries() {
  const std::lock_guard outer(held_while_trying);
  if (tried.try_lock()) tried.unlock();
}
[[gnu::noinline]] void takes_the_other_way() { take(tried, held_while_trying); }

std::timed_mutex timed;
std::mutex held_while_timed;
[[gnu::noinline]] void waits_for_a_time() {
  const std::lock_guard outer(held_while_timed);
  if (timed.try_lock_for(milliseconds(1))) timed.unlock();
}
[[gnu::noinline]] void takes_the_timed_one_first() { take(timed, held_while_timed); }

std::recursive_mutex recursive;
std::mutex inner_mutex;
[[gnu::noinline]] void recursively() {
  const std::lock_guard outer(recursive);
  take(inner_mutex, recursive);
}

std::mutex gate, behind_left, behind_right;
[[gnu::noinline]] void behind_a_gate() {
  const std::lock_guard closed(gate);
  take(behind_left, behind_right);
}
[[gnu::noinline]] void behind_a_gate_the_other_way() {
  const std::lock_guard closed(gate);
  take(behind_right, behind_left);
}

std::mutex scoped_left, scoped_right;
[[gnu::noinline]] void both_at_once() { const std::scoped_lock guard(scoped_left, scoped_right); }
[[gnu::noinline]] void both_at_once_the_other_way() { const std::scoped_lock guard(scoped_right, scoped_left); }

std::shared_mutex read_left, read_right;
[[gnu::noinline]] void reads() { const std::shared_lock outer(read_left), inner(read_right); }
[[gnu::noinline]] void reads_the_other_way() { const std::shared_lock outer(read_right), inner(read_left); }

std::mutex let_go, taken_later;
[[gnu::noinline]] void lets_go_before() {
  { const std::lock_guard lock(let_go); }
  take(taken_later, let_go);
}
[[gnu::noinline]] void takes_what_was_let_go() {
  let_go.lock();
  let_go.unlock();
  const std::lock_guard lock(taken_later);
}

// One waits for the first, whose holder waits for the second.
std::mutex near_lock, far_lock;
std::atomic<bool> far_is_held = false, near_is_held = false;
bool is_waited_for(std::mutex& lock) {
  return __atomic_load_n(&lock.native_handle()->__data.__lock, __ATOMIC_RELAXED) == 2;
}
void await(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}
[[gnu::noinline]] void holds_the_far_one() {
  const std::lock_guard lock(far_lock);
  far_is_held = true;
  while (!is_waited_for(near_lock) || !is_waited_for(far_lock)) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(20));
}
[[gnu::noinline]] void holds_the_near_one_and_waits() {
  await(far_is_held);
  const std::lock_guard lock(near_lock);
  near_is_held = true;
  const std::lock_guard waited_for(far_lock);
}
[[gnu::noinline]] void waits_for_the_near_one() {
  await(near_is_held);
  const std::lock_guard waited_for(near_lock);
}

void wait_in_a_chain() {
  std::thread far(holds_the_far_one), near_holder(holds_the_near_one_and_waits), waits(waits_for_the_near_one);
  far.join();
  near_holder.join();
  waits.join();
}

[[noreturn]] void deadlock() {
  const auto take_slowly = [](std::mutex& outer, std::mutex& inner) {
    const std::lock_guard lock(outer);
    std::this_thread::sleep_for(milliseconds(100));
    const std::lock_guard never(inner);
  };
  std::thread one_way([&] { take_slowly(left, right); });
  take_slowly(right, left);
  std::terminate();
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "deadlock") == 0) deadlock();
  if (count == 2 && std::strcmp(arguments[1], "late") == 0) {
    static std::mutex often;
    for (int round = 0; round < 1'000'000; ++round) const std::lock_guard lock(often);
  }
  one_after_the_other(left_then_right, right_then_left);
  one_after_the_other(one_then_two, two_then_three, three_then_one);
  one_after_the_other(
      [] {
        transfer(0, 1);
        transfer(2, 3);
        transfer(4, 5);
      },
      [] {
        transfer(1, 0);
        transfer(3, 2);
      });
  one_after_the_other(both_ways_alone);
  one_after_the_other(always_first_then_second, always_first_then_second);
  one_after_the_other(tries, takes_the_other_way, waits_for_a_time, takes_the_timed_one_first, recursively,
                      recursively);
  one_after_the_other(behind_a_gate, behind_a_gate_the_other_way, both_at_once, both_at_once_the_other_way);
  one_after_the_other(reads, reads_the_other_way, lets_go_before, takes_what_was_let_go);
  wait_in_a_chain();
}
