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
  if (!is_done_) throw std::logic_error(path_ + ": a result of a batch before its run");
  if (number_ != 0) throw *error();
}

std::string_view batch_content::get() const {
  check();
  if (view_.data() == nullptr) throw std::logic_error(path() + ": its text was taken, or shown, and is gone");
  return view_;
}

std::string batch_content::take() {
  const std::string_view all = get();
  std::string taken = all.data() == text_.data() ? std::move(text_) : std::string(all);
  forget();
  return taken;
}

void batch_content::forget() noexcept {
  view_ = {};
  text_ = {};
}

batch::batch(batch_options options) : options_(options) {}

batch::~batch() = default;

template <class Result>
Result& batch::ask(std::deque<Result>& in, kind of, std::string path) {
  asked_.push_back(nullptr);
  try {
    Result& made = in.emplace_back(of, std::move(path));
    asked_.back() = &made;
    return made;
  } catch (...) {
    asked_.pop_back();
    throw;
  }
}

batch_content& batch::read_file(std::string path) { return ask(contents_, kind::read_file, std::move(path)); }

batch_content& batch::read(const file& from, std::uint64_t offset, std::size_t bytes) {
  batch_content& made = ask(contents_, kind::read, from.name());
  made.descriptor_ = from.descriptor();
  made.offset_ = offset;
  made.bytes_ = bytes;
  return made;
}

batch_written& batch::write_file(std::string path, std::string text, creation how, unsigned mode) {
  batch_written& made = ask(written_, kind::write_file, std::move(path));
  made.kept_ = std::move(text);
  made.text_ = made.kept_;
  made.flags_ = open_flags(how);
  made.mode_ = mode;
  return made;
}

batch_written& batch::write(const file& to, std::uint64_t offset, std::string_view text) {
  batch_written& made = ask(written_, kind::write, to.name());
  made.descriptor_ = to.descriptor();
  made.offset_ = offset;
  made.text_ = text;
  return made;
}

batch_opened& batch::open_to_read(std::string path) { return ask(opened_, kind::open, std::move(path)); }

batch_opened& batch::open_to_write(std::string path, creation how, unsigned mode) {
  batch_opened& made = ask(opened_, kind::open, std::move(path));
  made.flags_ = open_flags(how);
  made.mode_ = mode;
  return made;
}

batch_status& batch::status(std::string path, bool follow) {
  batch_status& made = ask(statuses_, kind::status, std::move(path));
  made.flags_ = follow ? 0 : AT_SYMLINK_NOFOLLOW;
  return made;
}

void batch::clear() noexcept {
  asked_.clear();
  contents_.clear();
  written_.clear();
  opened_.clear();
  statuses_.clear();
}

namespace {

// Runs with fewer operations finish before another thread has started.
constexpr std::size_t least_by_thread = 256;
// The number of operations that a thread takes, and hands over for showing, at a time.
constexpr std::size_t portion = 32;

// The operations of one run, divided among threads. After the constructor nothing needs memory.
class batch_round {
 public:
  using results = std::span<batch_result* const>;

  explicit batch_round(std::vector<batch_result*> all) : all_(std::move(all)) { done_.reserve(all_.size()); }

  /// Does operations that no thread has taken yet, and calls `done` for each.
  template <class Done>
  void take_part(batch_work& work, Done done) {
    results mine;
    work.run(
        [&]() -> batch_result* {
          if (mine.empty()) mine = take();
          if (mine.empty()) return nullptr;
          batch_result* const next = mine.front();
          mine = mine.subspan(1);
          return next;
        },
        done);
  }

  /// Runs in a thread that does not show results.
  void hand_over(results some) {
    const std::lock_guard lock(mutex_);
    done_.insert(done_.end(), some.begin(), some.end());
  }

  /// Returns the results that were handed over; they stay valid until the end of the round.
  results collect() {
    const std::lock_guard lock(mutex_);
    const results fresh = results(done_).subspan(collected_);
    collected_ = done_.size();
    return fresh;
  }

 private:
  results take() {
    const std::lock_guard lock(mutex_);
    const std::size_t count = std::min(portion, all_.size() - taken_);
    taken_ += count;
    return results(all_).subspan(taken_ - count, count);
  }

  std::mutex mutex_;
  const std::vector<batch_result*> all_;
  std::size_t taken_ = 0;
  std::vector<batch_result*> done_;  // handed over; never more than it has room for
  std::size_t collected_ = 0;
};

// Does another thread's part. Without memory or descriptors for it, the other threads do everything.
void help(batch_round& round, const batch_options& options, std::size_t operations) noexcept {
  std::unique_ptr<batch_work> work;
  try {
    work = std::make_unique<batch_work>(options, operations, true);
  } catch (const std::bad_alloc&) {
    return;
  }
  std::array<batch_result*, portion> done;
  std::size_t count = 0;
  round.take_part(*work, [&](batch_result& result) {
    done[count++] = &result;
    if (count == portion) round.hand_over({done.data(), std::exchange(count, 0)});
  });
  round.hand_over({done.data(), count});
}

}  // namespace

void batch::run(visitor visit, void* to, bool shows_texts) {
  std::exception_ptr thrown;
  const auto show = [&](batch_result& result) {
    if (visit != nullptr && thrown == nullptr) {
      try {
        visit(result, to);
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    const bool is_text = result.kind_ == kind::read_file || result.kind_ == kind::read;
    if (is_text && shows_texts) static_cast<batch_content&>(result).forget();
  };
  while (!asked_.empty()) {
    const std::size_t operations = asked_.size();
    batch_work work(options_, operations, !shows_texts);
    used_ = work.is_ring() ? batch_way::ring : batch_way::plain;
    std::vector<batch_result*> more;  // a visitor may add operations: they are the next round
    more.swap(asked_);
    batch_round round(std::move(more));

    std::vector<std::jthread> helpers;
    const std::size_t wanted = std::min<std::size_t>(options_.threads, operations / least_by_thread);
    helpers.reserve(wanted);
    while (helpers.size() + 1 < wanted) {
      try {
        helpers.emplace_back([&] { help(round, options_, operations); });
      } catch (const std::system_error&) {
        break;  // no more threads are available
      }
    }
    const auto show_others = [&] {
      for (batch_result* const each : round.collect()) show(*each);
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
