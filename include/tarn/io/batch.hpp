// Operates on many files at once: a few system calls for all files replace several for each.
#pragma once

#include <tarn/detail/language.hpp>

#include <tarn/detail/synchronous.hpp>
#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tarn::io {

/// The way in which a batch calls the system. The results do not depend on it.
enum class batch_method : std::uint8_t {
  best,   ///< ring where it is allowed, else plain
  ring,   ///< io_uring: one system call for many operations, which wait for the disk in parallel; else plain
  plain,  ///< one to three system calls for each operation
};

/// Options of a batch, for all of its runs.
struct batch_options {
  /// Operations that each thread has in progress at one time.
  unsigned max_in_progress = 64;
  /// Threads that make the calls, including the caller's. More than one divides the CPU time of the calls.
  /// run() starts them only when each has enough work, and ends them before it returns.
  unsigned threads = 1;
  /// A file longer than this is an error (EMSGSIZE), so that memory use is bounded.
  std::size_t max_file_bytes = std::size_t{1} << 30;
  /// The way in which the system is called.
  batch_method method = batch_method::best;
};

/// The result of one operation: get() returns it, and take() moves it out. Both throw error() when the operation
/// failed, and std::logic_error when it was not run. A batch makes the object, and its address stays the same until
/// the batch is cleared. Threads: the one that uses the batch. Cost: none beyond that of run(), which stores the
/// result.
class batch_result {
 public:
  /// Returns true after the run that did the operation, whether or not it failed.
  bool is_done() const noexcept { return is_done_; }
  /// Returns true when the operation is done and nothing failed.
  explicit operator bool() const noexcept { return is_done_ && number_ == 0; }
  /// Returns the path of the file, or the name of the open file.
  const std::string& path() const noexcept { return path_; }
  /// Returns the error that get() and take() throw: path, failed action, offset, the system's message. Empty when
  /// nothing failed, and before the run.
  std::optional<io::error> error() const {
    if (number_ == 0) return std::nullopt;
    return io::error(number_, path_.c_str(), failure_, offset_);
  }

  batch_result(const batch_result&) = delete;
  batch_result& operator=(const batch_result&) = delete;

 protected:
  enum class kind : std::uint8_t { read_file, read, write_file, write, open, status };

 public:
  /// Only a batch can call it, because no other class can name a kind.
  batch_result(kind operation, std::string path) : path_(std::move(path)), kind_(operation) {}

 protected:
  ~batch_result() = default;
  /// Throws error() when the operation failed, and std::logic_error when it is not done.
  void check() const;

 private:
  friend class batch;
  friend class batch_work;
  std::string path_;
  const char* failure_ = "";
  std::uint64_t offset_ = io::error::nowhere;  // first the offset to begin at, then the offset of the failure
  std::size_t bytes_ = 0;                      // number to be read
  int descriptor_ = -1;                        // the caller's file
  int flags_ = 0;                              // flags for the system's open and statx
  unsigned mode_ = 0;
  int number_ = 0;
  kind kind_;
  bool is_done_ = false;
};

/// The bytes that were read. Threads and errors are those of batch_result.
class batch_content : public batch_result {
 public:
  using batch_result::batch_result;
  /// Returns the bytes. They stay valid until take(), clear() or the end of the batch; in a visit until it returns.
  /// Throws std::logic_error when the text was taken, or was not kept after a visit.
  std::string_view get() const;
  /// Moves the text out. Call it once: get() and take() throw std::logic_error afterwards. Copies the text in a visit.
  std::string take();

 private:
  friend class batch;
  friend class batch_work;
  void forget() noexcept;

  std::string text_;
  std::string_view view_;  // points into text_, or during a visit into the read buffer; null: gone
};

/// A file that was opened. Threads and errors are those of batch_result.
class batch_file : public batch_result {
 public:
  using batch_result::batch_result;
  /// Returns the file, which stays with the batch.
  const file& get() const { return check(), file_; }
  /// Moves the file out. Call it once; a file that is not taken is closed with the batch.
  file take() { return check(), std::move(file_); }

 private:
  friend class batch_work;
  file file_;
};

/// The result of a write, which succeeds only if all bytes were written. Threads and errors are those of batch_result.
class batch_write : public batch_result {
 public:
  using batch_result::batch_result;
  /// Returns the number of bytes written: all of them.
  std::size_t get() const { return check(), text_.size(); }

 private:
  friend class batch;
  friend class batch_work;
  std::string own_text_;   // the text of write_file
  std::string_view text_;  // the text to write
};

/// Kinds of files, as file_status names them.
enum class file_kind : std::uint8_t {
  regular,  ///< has bytes of its own
  folder,   ///< a directory
  link,     ///< a symbolic link that was not followed
  special,  ///< a pipe, a socket or a device
};

/// A short form of the results of stat(2).
struct file_status {
  /// Kind of the file.
  file_kind kind = file_kind::special;
  unsigned permissions = 0;  ///< mode bits, such as 0755
  /// Size of the file in bytes.
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< nanoseconds since 1970
  /// Number of the device that has the file; with `number` it identifies the file.
  std::uint64_t device = 0;
  std::uint64_t number = 0;  ///< inode number
};

/// The status of a file. Threads and errors are those of batch_result.
class batch_status : public batch_result {
 public:
  using batch_result::batch_result;
  /// Returns the status. Throws io::error when the operation failed.
  const file_status& get() const { return check(), status_; }

 private:
  friend class batch_work;
  file_status status_;
};

/// Operates on many files in one run: add operations, then call run(), then read the results. Threads: one at a time.
/// The operations of a run are done in any order, and each is done even if others fail. Errors: adding and running
/// throw only std::bad_alloc; the error of an operation is in its result.
///
/// Cost: on one thread, the system's work for each file remains. When everything is in the page cache, the gain is
/// only that of the saved calls; otherwise the waits for the disk overlap. docs/guide/io.md has figures.
class batch {
 public:
  /// Makes no system call.
  explicit batch(batch_options options = {});
  /// A visitor must not call it.
  ~batch();
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;

  /// Reads a whole file, as cat(1) does: also pipes, and files of /proc.
  batch_content& read_file(std::string path);
  /// Reads `bytes` bytes at `offset`, fewer only at the end. The file must stay open until run() returns. From a
  /// pipe, a socket or a terminal, which have no offsets, it reads the next bytes.
  batch_content& read(const file& source, std::uint64_t offset, std::size_t bytes);
  /// Writes a whole file, which is created with permissions `mode`, less the umask.
  batch_write& write_file(std::string path, std::string text, if_exists existing = if_exists::replace,
                          unsigned mode = 0666);
  /// Writes `text`, which is not copied: text and file must exist until run() returns. For a pipe and for a file
  /// opened to append, it writes to the end, whatever `offset` is.
  batch_write& write(const file& target, std::uint64_t offset, std::string_view text);
  /// Opens a file for reading; take() of the result gives it.
  batch_file& open_to_read(std::string path);
  /// Opens a file for writing, which is created with permissions `mode`, less the umask.
  batch_file& open_to_write(std::string path, if_exists existing = if_exists::replace, unsigned mode = 0666);
  /// Gets the status of a link's target, or of the link itself.
  batch_status& status(std::string path, bool follows_links = true);

  /// Does all operations that were added since the last run.
  void run() { run(nullptr, nullptr, false); }

  /// Does the same, and calls `visit` with each result when it is ready, in the calling thread. Results of types that
  /// `visit` does not accept are not passed. A visited text is not kept afterwards, so that ten thousand texts need the
  /// memory of a few: call take() to keep one. `visit` may add operations, which are done in the same run, but must
  /// not call run(). An exception of `visit` leaves run() after all operations were done.
  template <class Visit>
    requires(!std::is_null_pointer_v<std::decay_t<Visit>>)
  void run(Visit&& visit) {
    tarn::detail::runs_before_it_returns<Visit&, batch_content&>();
    tarn::detail::runs_before_it_returns<Visit&, batch_write&>();
    tarn::detail::runs_before_it_returns<Visit&, batch_file&>();
    tarn::detail::runs_before_it_returns<Visit&, batch_status&>();
    auto* address = std::addressof(visit);  // of an object or of a function, which no void* can hold
    run([](batch_result& result, void* context) { show(result, **static_cast<decltype(address)*>(context)); }, &address,
        std::is_invocable_v<Visit&, batch_content&>);
  }

  /// Returns the results of read_file() and read(), in the order in which the operations were added.
  std::deque<batch_content>& contents() noexcept { return contents_; }
  /// Returns the results of write_file() and write(), in the same order.
  std::deque<batch_write>& writes() noexcept { return writes_; }
  /// Returns the results of open_to_read() and open_to_write(), in the same order.
  std::deque<batch_file>& files() noexcept { return files_; }
  /// Returns the results of status(), in the same order.
  std::deque<batch_status>& statuses() noexcept { return statuses_; }

  /// Drops all results, and the operations that were added and not run.
  void clear() noexcept;

  /// Returns the way that the last run used: ring or plain.
  batch_method method() const noexcept { return method_; }

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
      case kind::write: return show_as<batch_write>(result, visit);
      case kind::open: return show_as<batch_file>(result, visit);
      case kind::status: return show_as<batch_status>(result, visit);
    }
  }

  void run(visitor visit, void* context, bool shows_texts);
  template <class Result>
  Result& ask(std::deque<Result>& results, kind operation, std::string path);

  batch_options options_;
  batch_method method_ = batch_method::best;
  std::deque<batch_content> contents_;
  std::deque<batch_write> writes_;
  std::deque<batch_file> files_;
  std::deque<batch_status> statuses_;
  std::vector<batch_result*> pending_;  // added and not yet run
};

}  // namespace tarn::io
