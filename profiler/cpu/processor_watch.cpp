#include "profiler/cpu/processor_watch.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace tarn::cpu {

processor_watch::processor_watch(const std::vector<watched_processor>& processors, std::function<void()> react)
    : end_(::eventfd(0, EFD_CLOEXEC)), react_(std::move(react)) {
  if (end_ < 0) return;
  sigset_t every_signal, earlier_mask;
  ::sigfillset(&every_signal);
  ::pthread_sigmask(SIG_SETMASK, &every_signal,
                    &earlier_mask);  // signals are for the thread that waits for the program
  for (const watched_processor watched : processors) threads_.emplace_back([this, watched] { watch(watched); });
  ::pthread_sigmask(SIG_SETMASK, &earlier_mask, nullptr);
}

processor_watch::~processor_watch() {
  if (end_ < 0) return;
  const std::uint64_t count = 1;
  static_cast<void>(::write(end_, &count, sizeof count));
  for (std::thread& thread : threads_) thread.join();
  ::close(end_);
}

void processor_watch::watch(watched_processor watched) const {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(static_cast<std::size_t>(watched.processor), &processors);
  if (::pthread_setaffinity_np(::pthread_self(), sizeof processors, &processors) != 0) return;
  const sched_param priority{.sched_priority = 1};
  ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &priority);
  for (;;) {
    pollfd descriptors[] = {{watched.file, POLLIN, 0}, {end_, POLLIN, 0}};
    ::poll(descriptors, 2, -1);
    if (descriptors[1].revents != 0 || (descriptors[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return;
    if ((descriptors[0].revents & POLLIN) != 0) react_();
  }
}

}  // namespace tarn::cpu
