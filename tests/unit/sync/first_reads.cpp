// Tests that the first read of a thread waits for no slow system call, however many threads begin at once. The kernel
// registers a process for membarrier(2) at once while it has one thread. Later that takes a grace period of RCU, 5 to
// 50 ms, and all readers would wait for it behind one lock.
#include <tarn/reloadable.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdarg>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/c_library.hpp"
#include "support/child.hpp"

namespace {

std::atomic<int> registrations{0};
std::atomic<int> barriers{0};

}  // namespace

// Stands in for the function of the C library, and counts.
extern "C" long syscall(long number, ...) TARN_LIBC_NOEXCEPT {
  std::va_list list;
  va_start(list, number);
  long values[6];
  for (long& value : values) value = va_arg(list, long);
  va_end(list);
  if (number == SYS_membarrier) {
    ++(static_cast<int>(values[0]) == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED ? registrations : barriers);
  }
  // It is not static, because the guard of a static variable may call this function.
  const auto next = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  return next(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

namespace {

TEST(first_reads, make_one_barrier_and_no_registration_for_any_number_of_threads) {
  ASSERT_GE(registrations, 1) << "the process is registered when it is loaded, through the function above";
  for (const int threads : {1, 10, 40, 200}) {
    EXPECT_EQ(support::in_child([&] {
                const tarn::reloadable<int> value(1);
                std::barrier all_run(threads);
                std::atomic<int> sum{0};
                registrations = barriers = 0;
                std::vector<std::thread> readers;
                for (int thread = 0; thread < threads; ++thread) {
                  readers.emplace_back([&] {
                    all_run.arrive_and_wait();
                    const auto snapshot = value.snapshot();
                    sum += *snapshot;
                  });
                }
                for (std::thread& reader : readers) reader.join();
                if (registrations != 0 || barriers != 1 || sum != threads) {
                  std::fprintf(stderr, "%d threads: %d registrations, %d barriers, sum %d\n", threads,
                               registrations.load(), barriers.load(), sum.load());
                }
              }),
              support::ending{});
  }
}

}  // namespace
