// The life of a server: initialiser → workers → reloads → stop.
#pragma once

#include <chrono>
#include <memory>

#include <tarn/detail/synchronous.hpp>
#include <tarn/heap.hpp>
#include <tarn/worker.hpp>

namespace tarn {

/// Options of an application; see below for what each stage does with them.
struct application_options {
  const char* name = "application";  ///< for messages and, with a number added, for thread names
  unsigned workers = 1;              ///< number in each process
  unsigned processes = 0;            ///< forked after the initialiser; 0: the workers are threads of this process
  unsigned restarts = 0;             ///< restarts of each worker that throws; after them its process stops
  std::chrono::milliseconds stop_timeout{10'000};  ///< time that workers have to end by themselves after a stop began
  /// extra time with their sockets shut down; then it ends without them
  std::chrono::milliseconds forced_stop_timeout{2'000};
  bool binds_workers = false;  ///< binds each worker to one of the processors that the process may use, by its number
  bool has_own_heaps = false;  ///< makes a separate heap current for each worker, with the options `heap`
  heap_options heap = {};      ///< `initial` is mapped and touched before any worker runs
};

/// The value that run() returns, or the exit status of the process.
enum class application_end : int {
  stopped = 0,         ///< every worker returned
  not_started = 1,     ///< the initialiser threw, a worker or process could not be started, or an option was wrong
  worker_failed = 2,   ///< a worker threw, and the others were stopped; or a process died during the stop
  without_workers = 3  ///< the last deadline passed while workers or a callback still ran; ended by _exit,
                       ///< because the data they use must not be destroyed. Processes are killed
};

/// Runs a server from its initialiser over its workers and reloads to a stop within a deadline.
///
/// tarn::application server({.name = "server", .workers = 4});        // the first thing in main()
/// server.on_initialise([] { settings.build(load()); table.publish(load_routes()); });
/// server.on_work([](tarn::worker& me) { while (!me.is_stopping()) { … } });
/// server.on_reload([] { table.publish(load_routes()); });            // SIGHUP
/// return server.run();                                               // until SIGTERM or SIGINT
///
/// - The constructor blocks these signals in the calling thread, and so in all threads started after it, and ignores
///   SIGPIPE; the destructor restores both. Construct it before any other thread starts: run() names a thread that
///   does not block them, because such a signal then ends the process.
/// - The initialiser runs alone, in the thread that called run(). If it throws, that is reported in one line.
/// - All workers start, with their threads and heaps, or none does. Until they end, building a read_only object is a
///   fault.
/// - A reload runs in the thread of run(), while workers work. An exception is reported; what the callback
///   published before it stays, so publish last. All requests that arrive during a reload cause one more, after it.
///   During a stop they are reported and dropped.
/// - A worker that returns has done its work; when all have returned, run() returns. A worker that throws is reported
///   and started again up to `restarts` times, with growing delays; after that it stops the application.
/// - A stop: on_stop runs, is_stopping() becomes true, stop_descriptor() readable, and sockets of wake::at_stop are
///   shut down. After `stop_timeout`, or at a second signal, those of wake::at_deadline are. After
///   `forced_stop_timeout` more, each remaining worker is reported, with what it is doing, and the process ends without
///   it, and without destructors.
/// - The deadlines apply to the callbacks, too: while one runs, a thread watches it. A stop requested meanwhile
///   begins at once (on_stop runs when the callback has returned). A callback that has not returned at the last
///   deadline is named, and the process ends without it.
///
/// - Under a service manager (NOTIFY_SOCKET; systemd, Type=notify) it sends READY=1 when all workers run, RELOADING=1
///   and READY=1 around a reload, STOPPING=1, and WATCHDOG=1 from the thread of run() at half the manager's interval:
///   while a callback hangs, no WATCHDOG=1 is sent.
///
/// With `processes`, each of them does all of this except for the initialiser:
/// - The thread of run() forks them, so no other thread may have been started. They share what the initialiser built
///   without a copy until somebody writes to it; each process has its own copy of shared and reloadable objects.
/// - They start together or not at all. A process that dies later, for whatever reason, is reported and replaced
///   after 10 ms, then 20 and so on up to 10 s if it dies within 10 s of its start. One whose workers have all
///   returned is not.
/// - A reload runs in the parent first, then in each process; if it fails in the parent, no process reloads.
/// - A stop is passed on; a process that remains a second after its own deadline is killed, which is reported. If the
///   parent dies, the processes stop. SIGTERM to one of them stops that one, which is then replaced.
/// - run() returns in the parent alone. A process ends by _exit, after it has written its buffered stdio output.
class application {
 public:
  /// Blocks and ignores the signals. Throws std::logic_error when the process has an application already, because each
  /// signal would reach only one of the two. When the process has no descriptors left, run() says so and returns
  /// not_started.
  explicit application(const application_options& options = {});
  ~application();
  application(const application&) = delete;
  application& operator=(const application&) = delete;

  /// Sets the initialiser. These setters are for the time before run(). Each accepts what a std::function of that
  /// signature accepts, but no coroutine.
  application& on_initialise(detail::callback<void()> function);
  /// Sets the function of the workers. Without it, run() returns not_started.
  application& on_work(detail::callback<void(worker&)> function);
  /// Sets the function that runs for each reload, in the thread of run(), while workers work.
  application& on_reload(detail::callback<void()> function);
  /// Sets the function that runs at the beginning of a stop, in the thread of run(): close there the queues that
  /// workers wait for. If it throws, that is reported, and the stop goes on.
  application& on_stop(detail::callback<void()> function);
  /// Sets a function that runs in each process, with its number from 0 on, before its workers start: for resources
  /// that the processes must not share. If it throws, the process ends.
  application& on_process(detail::callback<void(unsigned)> function);

  /// Runs the application, once, and returns a value of application_end. Call it in the thread that constructed the
  /// application. Exceptions of callbacks and workers are reported on standard error and do not leave it. Throws
  /// std::logic_error when it is called again.
  [[nodiscard]] int run();

  /// Requests a stop, as the signals do. Any thread may call it and reload() at any time, also in a signal handler.
  void stop() noexcept;
  /// Requests a reload, as SIGHUP does.
  void reload() noexcept;

 private:
  std::unique_ptr<detail::application_inside> state_;
};

}  // namespace tarn
