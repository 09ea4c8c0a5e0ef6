// The operations of a batch, step by step, on calls that are submitted many at once.
#pragma once

#include <tarn/io/batch.hpp>

#include <cstddef>
#include <memory>
#include <vector>

#include "platform/many_calls.hpp"

namespace tarn::io {

/// One thread's part of a run. Each operation is a chain of calls, of which one at a time is in flight:
///
///   read_file    open into a slot → read until the end → close
///   write_file   open → write until all is written → close
///   read, write  the same on the caller's descriptor
///   open, status one call
class batch_work {
 public:
  /// With `keeps_text`, a text stays with its result. Otherwise it lives until `report` returns.
  batch_work(const batch_options& options, std::size_t operations, bool keeps_text);
  ~batch_work();
  batch_work(const batch_work&) = delete;
  batch_work& operator=(const batch_work&) = delete;

  bool is_ring() const noexcept { return is_ring_; }

  /// Does the operations that `next()` returns, until that is null, and calls `report(result)` for each.
  template <class Next, class Done>
  void run(Next next, Done report) {
    for (bool are_left = true; are_left || under_way_ > 0;) {
      while (are_left && !free_.empty()) {
        batch_result* const result = next();
        are_left = result != nullptr;
        if (are_left && !begin(*result)) report(*result);
      }
      if (under_way_ == 0) continue;
      if (batch_result* const result = step()) report(*result);
    }
  }

 private:
  struct job;
  using kind = batch_result::kind;

  bool begin(batch_result& result);  // returns false when it is done already
  batch_result* step();              // returns the result whose last call this was, or null

  // Each of these starts the next call of a job, and returns false if there is none because the job is done.
  bool begin(job& now);
  void name(job& now);
  bool follow(job& now);
  bool finish_open(job& now, int descriptor);
  bool read(job& now);
  bool has_read(job& now, std::size_t bytes);
  bool write(job& now);
  bool has_written(job& now, std::size_t bytes);
  bool end(job& now);

  bool fail(job& now, int number, const char* failure);  // fails and ends the job

  std::size_t longest_;
  bool keeps_text_;
  std::unique_ptr<platform::files::many_calls> calls_;
  bool is_ring_ = false;
  std::size_t under_way_ = 0;
  std::unique_ptr<job[]> jobs_;
  std::vector<job*> free_;
  std::string_view folder_;        // the folder of the last file
  int folder_descriptor_ = -1;     // its descriptor; negative: none
  std::vector<int> folders_;       // all folders that were opened: calls in flight may use them
  std::unique_ptr<char[]> pages_;  // receives small files: `page` bytes for each job
};

}  // namespace tarn::io
