// Reacts to a sample on the processor on which the kernel took it: the sampled thread makes room there, and so stands
// still until the reaction has ended.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace tarn::cpu {

// A processor, and the descriptor that becomes readable when a sample was taken there.
struct watched_processor {
  int processor = 0, file = -1;
};

// Has a thread for each processor, with real-time priority where the system allows that. Without it the kernel may let
// the sampled thread go on for a while; records of switches tell.
class processor_watch {
 public:
  // `react` is called by these threads, by several at a time.
  processor_watch(const std::vector<watched_processor>& processors, std::function<void()> react);
  processor_watch(const processor_watch&) = delete;
  processor_watch& operator=(const processor_watch&) = delete;
  // Waits for the reactions that have begun.
  ~processor_watch();

 private:
  void watch(watched_processor watched) const;

  int end_ = -1;  // readable: the threads end
  std::function<void()> react_;
  std::vector<std::thread> threads_;
};

}  // namespace tarn::cpu
