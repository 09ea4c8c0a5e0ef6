#include <tarn/io/batch.hpp>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "io/batch_work.hpp"
#include "io/open_flags.hpp"

namespace tarn::io {

void batch_result::check() const {
  if (!is_done_) throw std::logic_error(path_ + ": a result of a batch is read before its run: call run() first");
  if (number_ != 0) throw *error();
}

std::string_view batch_content::get() const {
  check();
  if (view_.data() == nullptr) {
    throw std::logic_error(path() + ": its text was taken, or shown, and is gone: keep what take() returned");
  }
  return view_;
}

std::string batch_content::take() {
  const std::string_view content = get();
  std::string result = content.data() == text_.data() ? std::move(text_) : std::string(content);
  forget();
  return result;
}

void batch_content::forget() noexcept {
  view_ = {};
  text_ = {};
}

batch::batch(batch_options options) : options_(options) {}

batch::~batch() = default;

template <class Result>
Result& batch::ask(std::deque<Result>& list, kind operation, std::string path) {
  pending_.push_back(nullptr);
  try {
    Result& result = list.emplace_back(operation, std::move(path));
    pending_.back() = &result;
    return result;
  } catch (...) {
    pending_.pop_back();
    throw;
  }
}

batch_content& batch::read_file(std::string path) { return ask(contents_, kind::read_file, std::move(path)); }

batch_content& batch::read(const file& source, std::uint64_t offset, std::size_t bytes) {
  batch_content& result = ask(contents_, kind::read, source.name());
  result.descriptor_ = source.descriptor();
  result.offset_ = offset;
  result.bytes_ = bytes;
  return result;
}

batch_write& batch::write_file(std::string path, std::string text, if_exists existing, unsigned mode) {
  batch_write& result = ask(writes_, kind::write_file, std::move(path));
  result.own_text_ = std::move(text);
  result.text_ = result.own_text_;
  result.flags_ = open_flags(existing);
  result.mode_ = mode;
  return result;
}

batch_write& batch::write(const file& target, std::uint64_t offset, std::string_view text) {
  batch_write& result = ask(writes_, kind::write, target.name());
  result.descriptor_ = target.descriptor();
  result.offset_ = offset;
  result.text_ = text;
  return result;
}

batch_file& batch::open_to_read(std::string path) { return ask(files_, kind::open, std::move(path)); }

batch_file& batch::open_to_write(std::string path, if_exists existing, unsigned mode) {
  batch_file& result = ask(files_, kind::open, std::move(path));
  result.flags_ = open_flags(existing);
  result.mode_ = mode;
  return result;
}

batch_status& batch::status(std::string path, bool follows_links) {
  batch_status& result = ask(statuses_, kind::status, std::move(path));
  result.flags_ = follows_links ? 0 : AT_SYMLINK_NOFOLLOW;
  return result;
}

void batch::clear() noexcept {
  pending_.clear();
  contents_.clear();
  writes_.clear();
  files_.clear();
  statuses_.clear();
}

namespace {

// Runs with fewer operations finish before another thread has started.
constexpr std::size_t min_by_thread = 256;
// The number of operations that a thread takes, and hands over for showing, at a time.
constexpr std::size_t portion = 32;

// The operations of one run, divided among threads. After the constructor nothing needs memory.
class batch_round {
 public:
  using results = std::span<batch_result* const>;

  explicit batch_round(std::vector<batch_result*> outcomes) : results_(std::move(outcomes)) {
    finished_.reserve(results_.size());
  }

  /// Does operations that no thread has taken yet, and calls `report` for each.
  template <class Done>
  void take_part(batch_work& work, Done report) {
    results own_part;
    work.run(
        [&]() -> batch_result* {
          if (own_part.empty()) own_part = take();
          if (own_part.empty()) return nullptr;
          batch_result* const next = own_part.front();
          own_part = own_part.subspan(1);
          return next;
        },
        report);
  }

  /// Runs in a thread that does not show results.
  void hand_over(results finished) {
    const std::lock_guard lock(mutex_);
    finished_.insert(finished_.end(), finished.begin(), finished.end());
  }

  /// Returns the results that were handed over; they stay valid until the end of the round.
  results collect() {
    const std::lock_guard lock(mutex_);
    const results new_results = results(finished_).subspan(collected_);
    collected_ = finished_.size();
    return new_results;
  }

 private:
  results take() {
    const std::lock_guard lock(mutex_);
    const std::size_t count = std::min(portion, results_.size() - taken_count_);
    taken_count_ += count;
    return results(results_).subspan(taken_count_ - count, count);
  }

  std::mutex mutex_;
  const std::vector<batch_result*> results_;
  std::size_t taken_count_ = 0;
  std::vector<batch_result*> finished_;  // handed over; never more than it has room for
  std::size_t collected_ = 0;
};

// Takes part in a round, in another thread. If there is no memory or descriptor for it, the other threads do its work.
void help(batch_round& round, const batch_options& options, std::size_t operations) noexcept {
  std::unique_ptr<batch_work> work;
  try {
    work = std::make_unique<batch_work>(options, operations, true);
  } catch (const std::bad_alloc&) {
    return;
  }
  std::array<batch_result*, portion> finished;
  std::size_t count = 0;
  round.take_part(*work, [&](batch_result& result) {
    finished[count++] = &result;
    if (count == portion) round.hand_over({finished.data(), std::exchange(count, 0)});
  });
  round.hand_over({finished.data(), count});
}

}  // namespace

void batch::run(visitor visit, void* function, bool shows_texts) {
  std::exception_ptr thrown;
  const auto show = [&](batch_result& result) {
    if (visit != nullptr && thrown == nullptr) {
      try {
        visit(result, function);
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    const bool is_text = result.kind_ == kind::read_file || result.kind_ == kind::read;
    if (is_text && shows_texts) static_cast<batch_content&>(result).forget();
  };
  while (!pending_.empty()) {
    const std::size_t operations = pending_.size();
    batch_work work(options_, operations, !shows_texts);
    method_ = work.is_ring() ? batch_method::ring : batch_method::plain;
    std::vector<batch_result*> added;  // a visitor may add operations: they are the next round
    added.swap(pending_);
    batch_round round(std::move(added));

    std::vector<std::jthread> helpers;
    const std::size_t thread_count = std::min<std::size_t>(options_.threads, operations / min_by_thread);
    helpers.reserve(thread_count);
    while (helpers.size() + 1 < thread_count) {
      try {
        helpers.emplace_back([&] { help(round, options_, operations); });
      } catch (const std::system_error&) {
        break;  // no more threads are available
      }
    }
    const auto show_others = [&] {
      for (batch_result* const collected : round.collect()) show(*collected);
    };
    round.take_part(work, [&](batch_result& result) {
      show(result);
      if (!helpers.empty()) show_others();
    });
    helpers.clear();
    show_others();
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace tarn::io
