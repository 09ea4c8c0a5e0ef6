#include <tarn/quiet_region.hpp>

#if TARN_CHECKS

#include <sys/syscall.h>
#include <unwind.h>

#include <cstdlib>

#include "base/futex.hpp"
#include "base/site.hpp"
#include "base/text.hpp"
#include "io/quiet_heap.hpp"
#include "platform/call_watch.hpp"

namespace tarn {
namespace {

constexpr std::size_t max_reported = 8;  // by one region
constinit thread_local quiet_region* innermost = nullptr;
constinit thread_local bool is_watched = false;  // whether the thread's calls are watched

// Walks the stack from the frame that continues at `caller`; the frames above it are ours.
void take_stack(quiet_violation& violation, const void* caller) noexcept {
  struct walk {
    quiet_violation& violation;
    const void* caller;
    bool is_ours = true;
  } now{violation, caller};
  violation.depth = 0;
  ::_Unwind_Backtrace(
      [](_Unwind_Context* context, void* state) {
        walk& target = *static_cast<walk*>(state);
        const auto* const address = reinterpret_cast<const void*>(::_Unwind_GetIP(context));
        target.is_ours = target.is_ours && address != target.caller;
        if (target.is_ours) return _URC_NO_REASON;
        target.violation.frames[target.violation.depth++] = address;
        return target.violation.depth == quiet_violation::max_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &now);
  if (violation.depth == 0) violation.frames[violation.depth++] = caller;  // nothing there can be unwound
}

using line = base::text_buffer<8192>;

void append(base::text& output, const quiet_violation& violation) noexcept {
  static constexpr const char* kinds[] = {"system call", "lock wait", "heap call"};
  output.append(kinds[static_cast<unsigned>(violation.kind)]).append(' ').append(violation.name).append('\n');
  for (const void* const address : violation.stack()) base::append_site(output.append("  at "), address).append('\n');
}

}  // namespace

struct listener {
  // Reports to every region that the thread is in.
  static void note_violation(violation_kind kind, const char* name, const void* caller) noexcept {
    quiet_violation violation;
    violation.kind = kind;
    violation.name = name;
    take_stack(violation, caller);
    bool is_reported = false;
    for (quiet_region* region = innermost; region != nullptr; region = region->outer_) {
      is_reported |= region->note_violation(violation, is_reported);
    }
  }

  static void hear_call(long number, long, long second, const void* caller) noexcept {
    const bool is_lock = number == SYS_futex && base::is_futex_wait(second);
    const char* const name = platform::call_name(number);
    note_violation(is_lock ? violation_kind::lock_wait : violation_kind::system_call,
                   name != nullptr ? name : "unknown", caller);
  }

  static void note_heap_call(const char* name, const void* caller) noexcept {
    note_violation(violation_kind::heap, name, caller);
  }
};

std::string violation_log::text() const {
  std::string output;
  for (const quiet_violation& violation : first_violations()) {
    line violation_line;
    append(violation_line, violation);
    output += violation_line.view();
  }
  if (count() > first_violations().size())
    output += "and " + std::to_string(count() - first_violations().size()) + " more\n";
  return output;
}

quiet_region::quiet_region(const char* name, on_violation policy) noexcept : name_(name), policy_(policy) { enter(); }

quiet_region::quiet_region(const char* name, violation_log& log) noexcept : name_(name), log_(&log) { enter(); }

void quiet_region::enter() noexcept {
  tarn::detail::tell_recorder_of_region(name_);
  quiet_heap::listen(listener::note_heap_call);
  quiet_heap::is_ours();  // under a sanitizer this is what installs its hook
  outer_ = innermost;
  innermost = this;
  quiet_heap::is_heard = true;
  if (outer_ == nullptr) is_watched = platform::watch_calls(listener::hear_call);
}

quiet_region::~quiet_region() {
  tarn::detail::tell_recorder_of_end();
  if (outer_ == nullptr && is_watched) platform::unwatch_calls();
  const platform::unwatched ours;
  quiet_heap::is_heard = outer_ != nullptr;
  innermost = outer_;
  if (reported_ > max_reported) {
    line output;
    output.append("tarn: quiet region ").append(name_).append(": ").decimal(reported_ - max_reported);
    output.append(" more violations\n").write_to(2);
  }
}

// Returns true if it reported. Only the innermost region that reports prints the violation, also for the regions around
// it.
bool quiet_region::note_violation(const quiet_violation& violation, bool is_reported) noexcept {
  if (log_ != nullptr) {
    if (log_->count_ < violation_log::capacity) log_->first_violations_[log_->count_] = violation;
    ++log_->count_;
    return false;
  }
  if (!is_reported && ++reported_ <= max_reported) {
    line output;
    append(output.append("tarn: quiet region ").append(name_).append(": "), violation);
    output.write_to(2);
  }
  if (policy_ == on_violation::abort) std::abort();
  return true;
}

bool quiet_region::observes_calls() noexcept {
  static const bool can_watch = [] {
    if (innermost != nullptr) return is_watched;
    const bool is_possible = platform::watch_calls(listener::hear_call);
    if (is_possible) platform::unwatch_calls();
    return is_possible;
  }();
  return can_watch;
}

bool quiet_region::observes_heap() noexcept { return quiet_heap::is_ours(); }

}  // namespace tarn

#endif
