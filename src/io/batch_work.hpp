// The operations of a batch, step by step, over calls that are made many at once.
#pragma once

#include <tarn/io/batch.hpp>

#include <cstddef>
#include <memory>
#include <vector>

#include "platform/many_calls.hpp"

namespace tarn::io {

/// One thread's part of a run. Each operation is a chain of calls, of which one at a time is under way:
///
///   read_file    open into a slot → read until the end → close
///   write_file   open → write until all is written → close
///   read, write  of the caller's descriptor, the same
///   open, status a call
class batch_work {
 public:
  /// `keeps`: a text stays with its result. If not, it is there until `done` returns.
  batch_work(const batch_options& options, std::size_t operations, bool keeps);
  ~batch_work();
  batch_work(const batch_work&) = delete;
  batch_work& operator=(const batch_work&) = delete;

  bool is_ring() const noexcept { return is_ring_; }

  /// Does what `next()` gives until that is null, and calls `done(result)` for each.
  template <class Next, class Done>
  void run(Next next, Done done) {
    for (bool are_left = true; are_left || under_way_ > 0;) {
      while (are_left && !free_.empty()) {
        batch_result* const result = next();
        are_left = result != nullptr;
        if (are_left && !begin(*result)) done(*result);
      }
      if (under_way_ == 0) continue;
      if (batch_result* const result = step()) done(*result);
    }
  }

 private:
  struct job;
  using kind = batch_result::kind;

  bool begin(batch_result& of);  // false: it is done
  batch_result* step();          // one call more is done: the result of which it was the last, or null

  // Each starts the next call of a job; false: there is none, the job is done.
  bool first(job& now);
  void name(job& now);
  bool follow(job& now);
  bool opened(job& now, int descriptor);
  bool read(job& now);
  bool has_read(job& now, std::size_t bytes);
  bool write(job& now);
  bool has_written(job& now, std::size_t bytes);
  bool end(job& now);

  bool fail(job& now, int number, const char* words);  // and end

  std::size_t longest_;
  bool keeps_;
  std::unique_ptr<platform::files::many_calls> calls_;
  bool is_ring_ = false;
  std::size_t under_way_ = 0;
  std::unique_ptr<job[]> jobs_;
  std::vector<job*> free_;
  std::string_view folder_;        // in which the last file was
  int folder_descriptor_ = -1;     // of it; negative: none
  std::vector<int> folders_;       // all that were opened: calls that are under way may use them
  std::unique_ptr<char[]> pages_;  // a small file is read here: `page` bytes for each job
};

}  // namespace tarn::io
