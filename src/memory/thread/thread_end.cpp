#include <tarn/detail/thread_end.hpp>

#include <utility>

namespace tarn::detail {
namespace {

constinit thread_local thread_end_task* due = nullptr;
constinit thread_local bool has_ended = false;

// It is a C++ destructor, because the destructor of a pthread key does not run for the main thread. A task that runs
// may try to register another one; at_thread_end then returns false.
struct last_duty {
  ~last_duty() {
    has_ended = true;
    while (due != nullptr) {
      thread_end_task* const task = std::exchange(due, due->next);
      task->run(task);
    }
  }
  void arm() const noexcept {}
};

}  // namespace

bool at_thread_end(thread_end_task& task) noexcept {
  if (has_ended) return false;
  static thread_local last_duty duty;
  duty.arm();  // the first use in a thread registers the destructor
  task.next = due;
  due = &task;
  return true;
}

}  // namespace tarn::detail
