// Objects and handles of one thread: the report names another thread that uses them.
#include <tarn/transient.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>
#include <memory>
#include <string>
#include <thread>

#include <tarn/thread_checked.hpp>

#include "support/child.hpp"

namespace {

using tarn::thread_checked;
using tarn::transient;

TEST(transient, is_the_object) {
  transient<std::string> reply(3, 'x');
  reply->append("y");
  *reply += "z";
  EXPECT_EQ(*reply, "xxxyz");
  EXPECT_EQ(std::as_const(reply)->size(), 5u);
}

TEST(thread_checked, is_the_pointer) {
  std::string text = "x";
  const thread_checked<std::string*> plain(&text);
  plain->append("y");
  const auto copy = plain;
  *copy += "z";
  EXPECT_EQ(text, "xyz");
  EXPECT_EQ(copy.get(), &text);
  thread_checked owner(std::make_unique<std::string>("own"));
  const auto moved = std::move(owner);
  EXPECT_EQ(*moved, "own");
}

#if TARN_CHECKS

/// Both threads are in the message; the one after `is used by` is the child's. The address in it is left out.
void expect_foreign(const support::ending& child_ending, const std::string& object) {
  support::ending reported = support::without_thread_numbers(child_ending);
  if (const std::size_t address = reported.error.find("0x"); address != std::string::npos) {
    reported.error.erase(address, reported.error.find(' ', address) + 1 - address);
  }
  EXPECT_EQ(reported, support::fault("tarn: " + object +
                                     " at of thread N \"owner\" is used by thread N \"other\": use it in its own "
                                     "thread only, or make the object tarn::shared"));
}

template <class Use>
support::ending used_elsewhere(Use use) {
  return support::in_child([use] {
    pthread_setname_np(pthread_self(), "owner");
    use([](auto& object) {
      std::thread([&] {
        pthread_setname_np(pthread_self(), "other");
        static_cast<void>(*object);
      }).join();
    });
  });
}

TEST(transient, in_another_thread_is_a_fault) {
  expect_foreign(used_elsewhere([](auto use) {
                   transient<int> number(1);
                   use(number);
                 }),
                 "transient object");
}

TEST(thread_checked, in_another_thread_is_a_fault) {
  static int number = 1;
  const support::ending child_ending = used_elsewhere([](auto use) {
    const thread_checked<int*> handle(&number);
    const auto copy = handle;
    use(copy);
  });
  expect_foreign(child_ending, "handle");
  EXPECT_NE(child_ending.error.find(" at " + support::written(&number) + " of "), std::string::npos) << child_ending;
}

#else

TEST(transient, costs_nothing) {
  static_assert(sizeof(transient<int>) == sizeof(int));
  static_assert(sizeof(thread_checked<int*>) == sizeof(int*));
}

#endif

}  // namespace
