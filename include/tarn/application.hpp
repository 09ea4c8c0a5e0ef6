// The life of a server: initialiser → workers → reloads → stop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <tarn/heap.hpp>
#include <tarn/worker.hpp>

namespace tarn {

struct application_options {
  const char* name = "application";  ///< for messages and, with a number, for threads
  unsigned workers = 1;              ///< of each process
  unsigned processes = 0;            ///< forked when the initialiser is through; 0: workers are threads of this one
  unsigned restarts = 0;             ///< of each worker that throws; then its process stops
  std::chrono::milliseconds stop_after{10'000};  ///< a stop began: until then workers end by themselves
  std::chrono::milliseconds end_after{2'000};    ///< later: their sockets are shut down, and then it ends without them
  bool own_heaps = false;                        ///< each worker's own heap is current for it, with the options `heap`
  heap_options heap = {};                        ///< `initial` is there, and touched, before any worker runs
};

/// What run() returns, or the process ends with.
enum class application_end : int {
  stopped = 0,         ///< every worker returned
  not_started = 1,     ///< the initialiser threw, or a worker or process could not be started
  worker_failed = 2,   ///< a worker threw, and the others were stopped; or a process died during the stop
  without_workers = 3  ///< at the last deadline; by _exit, as what they use must not be destroyed. Processes: killed
};

/// tarn::application server({.name = "server", .workers = 4});        // the first thing in main()
/// server.on_initialise([] { settings.build(load()); table.publish(load_routes()); });
/// server.on_work([](tarn::worker& me) { while (!me.stopping()) { … } });
/// server.on_reload([] { table.publish(load_routes()); });            // SIGHUP
/// return server.run();                                               // until SIGTERM or SIGINT
///
/// - The constructor blocks these signals in the calling thread, for all threads that come after it, and ignores
///   SIGPIPE; the destructor has it as before. Make it before any other thread.
/// - The initialiser runs in the thread that called run(), alone. If it throws, that is reported in one line, and all.
/// - Workers start together or not at all: threads, heaps and all. Until they end, building what is read-only is a
///   fault.
/// - A reload runs in the thread of run(), while workers work. What it throws is reported, and changes nothing else.
///   Requests that come while one runs are one more, after it. During a stop they are reported and dropped.
/// - A worker that returns has done its work; when all have, run() returns. One that throws is reported, is started
///   again as often as `restarts` says, later each time, and then stops the application.
/// - A stop: on_stop runs, stopping() is true, stop_descriptor() readable, sockets of wake::at_stop are shut down.
///   After `stop_after`, or at a second signal, those of wake::at_deadline are. After `end_after` more, each worker
///   that is left is reported, with what it is doing, and the process ends without it, and without destructors.
///
/// With `processes`, all of that but the initialiser happens in each of them:
/// - They are forked by the thread of run(), so no other thread may have been started. What the initialiser built is
///   there without a copy until somebody writes to it; what is shared or reloadable is each process's own.
/// - They start together or not at all. One that dies later, whoever kills it, is reported and replaced, after 10 ms,
///   then 20 and so on up to 10 s if it dies within 10 s of its birth. One whose workers have all returned is not.
/// - A reload runs in the parent first, then in each process; one that fails in the parent is asked of nobody.
/// - A stop is passed on; a process that is left a second after its own deadline is killed, and said so. If the parent
///   dies, the processes stop. SIGTERM to one of them stops that one, which is then replaced.
/// - run() returns in the parent alone. A process ends by _exit, after its output to stdio is written.
class application {
 public:
  /// Throws std::system_error when the system has no descriptors left.
  explicit application(const application_options& options = {});
  ~application();
  application(const application&) = delete;
  application& operator=(const application&) = delete;

  /// Before run().
  application& on_initialise(std::function<void()> what);
  application& on_work(std::function<void(worker&)> what);
  application& on_reload(std::function<void()> what);
  application& on_stop(std::function<void()> what);
  /// In each process, with its number from 0 on, before its workers start: for what they are not to share. What it
  /// throws ends the process.
  application& on_process(std::function<void(unsigned)> what);

  /// Once. A value of application_end.
  [[nodiscard]] int run();

  /// As the signals do; by any thread, at any time, in a signal handler, too.
  void stop() noexcept;
  void reload() noexcept;

 private:
  std::unique_ptr<detail::application_inside> inside_;
};

}  // namespace tarn
