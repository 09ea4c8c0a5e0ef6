#include <tarn/read_only.hpp>

#include <atomic>

#include "sync/faults.hpp"

namespace tarn {
namespace {

constinit std::source_location workers_since;
constinit std::atomic<bool> workers_run{false};

}  // namespace

work_phase::work_phase(std::source_location since) noexcept {
  if (workers_run.load(std::memory_order_relaxed)) sync::fault_already_working(since, workers_since);
  workers_since = since;
  // release: a thread that reads true may read `workers_since`.
  workers_run.store(true, std::memory_order_release);
}

work_phase::~work_phase() { workers_run.store(false, std::memory_order_relaxed); }

bool work_phase::is_running() noexcept { return workers_run.load(std::memory_order_acquire); }

namespace detail {

void built_mark::check_unbuilt(const void* object, const std::source_location& location) const noexcept {
  if (is_built_) sync::fault_built_twice(object, location, location_);
  if (work_phase::is_running()) sync::fault_built_late(object, location, workers_since);
}

void built_mark::fault_not_built(const void* object) noexcept { sync::fault_not_built(object); }

}  // namespace detail
}  // namespace tarn
