// Many files at once: what would be several system calls for each is a few for all of them.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tarn::io {

/// How a batch asks the system. All of them give the same results.
enum class batch_way : std::uint8_t {
  best,   ///< ring where it is allowed, else plain
  ring,   ///< io_uring: a system call for many operations, which wait for the disk side by side. Else plain, too
  plain,  ///< a system call, or three, for each operation
};

struct batch_options {
  /// Operations that the system is asked for at once, by each thread.
  unsigned at_once = 64;
  /// Threads that make the calls, the caller's among them. More than one divides the processor's time that the calls
  /// take; started by run() only where each has work enough, and gone when it returns.
  unsigned threads = 1;
  /// A file longer than this is an error (EMSGSIZE), not a text without a bound.
  std::size_t longest = std::size_t{1} << 30;
  batch_way way = batch_way::best;
};

/// What became of one operation. Made by a batch, and lies where it is until the batch is cleared.
class batch_result {
 public:
  bool is_done() const noexcept { return is_done_; }
  /// The errno value of what failed; 0 when nothing did.
  int failed() const noexcept { return number_; }
  /// Done, and nothing failed.
  explicit operator bool() const noexcept { return is_done_ && number_ == 0; }
  const std::string& path() const noexcept { return path_; }
  /// What the accessors throw: path, what could not be done, offset, the system's words. Requires failed() != 0.
  io::error error() const { return {number_, path_.c_str(), words_, offset_}; }

  batch_result(const batch_result&) = delete;
  batch_result& operator=(const batch_result&) = delete;

 protected:
  enum class kind : std::uint8_t { read_file, read, write_file, write, open, status };

 public:  // for a batch only: nobody else can name a kind
  batch_result(kind of, std::string path) : path_(std::move(path)), kind_(of) {}

 protected:
  ~batch_result() = default;
  /// Throws error() when it failed, std::logic_error when it is not done.
  void check() const;

 private:
  friend class batch;
  friend class batch_work;
  std::string path_;
  const char* words_ = "";
  std::uint64_t offset_ = io::error::nowhere;  // first where to begin, then where it failed
  std::size_t bytes_ = 0;                      // to be read
  int descriptor_ = -1;                        // of the caller's file
  int flags_ = 0;                              // of the system's open and statx
  unsigned mode_ = 0;
  int number_ = 0;
  kind kind_;
  bool is_done_ = false;
};

/// Bytes that were read. The accessors throw io::error when they could not be.
class batch_content : public batch_result {
 public:
  using batch_result::batch_result;
  std::string_view text() const;
  /// Once; then there is no text any more.
  std::string take();

 private:
  friend class batch;
  friend class batch_work;
  void forget() noexcept;

  std::string text_;
  std::string_view view_;  // of text_, or while it is shown of where it was read; null: gone
};

/// A file that was opened.
class batch_opened : public batch_result {
 public:
  using batch_result::batch_result;
  /// Once; what nobody takes is closed with the batch.
  file take() { return check(), std::move(file_); }

 private:
  friend class batch_work;
  file file_;
};

/// All of it was written, or the accessor throws.
class batch_written : public batch_result {
 public:
  using batch_result::batch_result;
  std::size_t bytes() const { return check(), text_.size(); }

 private:
  friend class batch;
  friend class batch_work;
  std::string kept_;       // of write_file
  std::string_view text_;  // what is to be written
};

enum class file_kind : std::uint8_t { regular, folder, link, other };

/// What stat(2) tells, in short.
struct file_status {
  file_kind kind = file_kind::other;
  unsigned permissions = 0;  ///< 0755
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< nanoseconds since 1970
  std::uint64_t device = 0;
  std::uint64_t number = 0;  ///< of the inode
};

class batch_status : public batch_result {
 public:
  using batch_result::batch_result;
  const file_status& get() const { return check(), status_; }

 private:
  friend class batch_work;
  file_status status_;
};

/// First ask, then run(), then look. One thread at a time. The operations of a run are done in any order, each whether
/// or not others fail; asking and running throw std::bad_alloc only.
///
/// Cost: on one thread what the system does for each file remains, so where everything is in page cache the gain is
/// that of the calls alone; where the disk is waited for, it is waited for side by side. docs/io.md has figures.
class batch {
 public:
  explicit batch(batch_options options = {});
  /// Must not be called by a visitor.
  ~batch();
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;

  /// All of a file, as cat(1) has it: also of pipes, and of files of /proc.
  batch_content& read_file(std::string path);
  /// `bytes` bytes at `offset`, fewer only at the end. The file must stay open until run() returns; where it is a pipe,
  /// a socket or a terminal, which has no places, what comes next.
  batch_content& read(const file& from, std::uint64_t offset, std::size_t bytes);
  batch_written& write_file(std::string path, std::string text, creation how = creation::replace, unsigned mode = 0666);
  /// `text` is not copied: both must be there until run() returns. The end of a file that is appended to, or of a pipe,
  /// is written to whatever `offset` says.
  batch_written& write(const file& to, std::uint64_t offset, std::string_view text);
  batch_opened& open_to_read(std::string path);
  batch_opened& open_to_write(std::string path, creation how = creation::replace, unsigned mode = 0666);
  /// Of what a link names, or of the link itself.
  batch_status& status(std::string path, bool follow = true);

  /// Does everything that was asked for since the last run.
  void run() { run(nullptr, nullptr, false); }

  /// The same, and calls `visit` with each result as it comes, in the calling thread; those of types that it does not
  /// take are not shown. A text that is shown is not kept after that, so that ten thousand of them need the memory of a
  /// few: take() it to keep it. `visit` may ask for more, which is done in the same run, and not run. What it throws
  /// comes out of run(), after everything was done.
  template <class Visit>
    requires(!std::is_null_pointer_v<std::decay_t<Visit>>)
  void run(Visit&& visit) {
    using type = std::remove_reference_t<Visit>;
    run([](batch_result& result, void* to) { show(result, *static_cast<type*>(to)); },
        const_cast<std::remove_const_t<type>*>(std::addressof(visit)), std::is_invocable_v<type&, batch_content&>);
  }

  /// Results in the order in which they were asked for.
  std::deque<batch_content>& contents() noexcept { return contents_; }
  std::deque<batch_written>& written() noexcept { return written_; }
  std::deque<batch_opened>& opened() noexcept { return opened_; }
  std::deque<batch_status>& statuses() noexcept { return statuses_; }

  /// Forgets all results, and what was asked for and not run.
  void clear() noexcept;

  /// How the last run asked the system: ring or plain.
  batch_way way() const noexcept { return used_; }

 private:
  using visitor = void (*)(batch_result&, void*);
  using kind = batch_result::kind;

  template <class Result, class Visit>
  static void show_as(batch_result& result, Visit& visit) {
    if constexpr (std::is_invocable_v<Visit&, Result&>) visit(static_cast<Result&>(result));
  }
  template <class Visit>
  static void show(batch_result& result, Visit& visit) {
    switch (result.kind_) {
      case kind::read_file:
      case kind::read: return show_as<batch_content>(result, visit);
      case kind::write_file:
      case kind::write: return show_as<batch_written>(result, visit);
      case kind::open: return show_as<batch_opened>(result, visit);
      case kind::status: return show_as<batch_status>(result, visit);
    }
  }

  void run(visitor visit, void* to, bool shows_texts);
  template <class Result>
  Result& ask(std::deque<Result>& in, kind of, std::string path);

  batch_options options_;
  batch_way used_ = batch_way::best;
  std::deque<batch_content> contents_;
  std::deque<batch_written> written_;
  std::deque<batch_opened> opened_;
  std::deque<batch_status> statuses_;
  std::vector<batch_result*> asked_;  // and not yet run
};

}  // namespace tarn::io
