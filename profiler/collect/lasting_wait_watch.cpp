#include "profiler/collect/lasting_wait_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "profiler/collect/lock_owners.hpp"
#include "profiler/collect/namespaces.hpp"
#include "profiler/collect/thread_names.hpp"
#include "profiler/cpu/waiting_thread.hpp"
#include "profiler/findings/waits/lasting_waits.hpp"
#include "profiler/symbols/names.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::command {
namespace {

using format::awaited;
using format::ownership;
using format::wait_start;

// Returns for which kind of lock the C library's code waits that a stack begins with. A lock that is no mutex may look
// like one in memory, and a program may wait for its own words by syscall(), as std::atomic does.
awaited lock_of_code(analyse::symbols& symbols, const format::site_facts& stack, bool is_held_by_kernel) {
  bool is_first = true;
  for (const std::uint64_t frame : stack.frames) {
    for (const analyse::code_location& location : symbols.resolve(stack.image, frame)) {
      const std::string file = analyse::file_name(location.module);
      if (!file.starts_with("libc.so") && !file.starts_with("libc-") && !file.starts_with("libpthread"))
        return awaited::word;
      if (is_first && location.function.find("syscall") != std::string::npos) return awaited::word;
      // The code for robust mutexes and for FILEs has no names of its own, and their words tell more.
      if (is_held_by_kernel) return awaited::mutex;
      for (const std::string_view part : {"pthread_mutex_", "pthread_cond_", "mtx_lock", "cnd_wait"}) {
        if (location.function.find(part) != std::string::npos) return awaited::mutex;
      }
      if (location.function.find("pthread_rwlock_") != std::string::npos) return awaited::reader_writer;
      is_first = false;
    }
  }
  return awaited::word;
}

}  // namespace

lasting_wait_watch::lasting_wait_watch(pid_t process, std::uint32_t image)
    : process_(process),
      image_(image),
      program_name_(thread_name(static_cast<std::uint64_t>(process), static_cast<std::uint32_t>(process))) {
  constexpr int max_looks = 50;
  std::vector<std::uint32_t> running = running_threads(static_cast<std::uint64_t>(process));
  for (int looks = 0; !running.empty() && looks < max_looks; ++looks) {
    if (looks != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::erase_if(running, [&](std::uint32_t thread) { return add_if_waiting(thread); });
  }
}

// Returns false for a thread that runs.
bool lasting_wait_watch::add_if_waiting(std::uint32_t thread) {
  const auto id = static_cast<pid_t>(thread);
  std::string schedules = cpu::schedules_of(process_, id);
  std::string call = cpu::call_line_of(process_, id);
  if (call == "running") return false;
  if (!schedules.empty() && futex_call_of(call))
    threads_.push_back({thread, own_number_of(process_, thread), std::move(call), std::move(schedules)});
  return true;
}

bool lasting_wait_watch::is_waiting_still(const waiting_thread& thread) const {
  const auto id = static_cast<pid_t>(thread.id);
  return cpu::call_line_of(process_, id) == thread.call && cpu::schedules_of(process_, id) == thread.schedules;
}

std::uint32_t lasting_wait_watch::stack_of(const waiting_thread& thread) {
  if (!std::exchange(has_mappings_, true)) stacks_.add_mappings(process_);
  const auto [entry, is_new] = thread_stacks_.try_emplace(fmt::format("{} {}", thread.id, thread.call), 0);
  if (is_new) entry->second = stacks_.stack_of_waiting(process_, static_cast<pid_t>(thread.id));
  return entry->second;
}

std::string lasting_wait_watch::name_of(std::uint32_t thread) const {
  std::string name = thread_name(static_cast<std::uint64_t>(process_), thread);
  return name == program_name_ ? std::string() : name;
}

lasting_wait_watch::thread_wait lasting_wait_watch::wait_of(const waiting_thread& thread, wait_start start) {
  thread_wait result{thread, {}, false};
  result.wait.thread = thread.own_number;
  result.wait.start = start;
  result.wait.name = name_of(thread.id);
  const auto call = futex_call_of(thread.call);
  if (!call) return result;
  const awaited_object object = awaited_object_of(process_, *call);
  result.wait.kind = object.kind;
  result.wait.address = call->address - object.offset;
  result.wait.holder = object.holder;
  if (object.is_shared) result.wait.owner = ownership::shared;
  result.is_held_by_kernel = object.is_held_by_kernel;
  if (object.kind != awaited::word) result.wait.stack = stack_of(thread);
  return result;
}

lasting_wait_watch::thread_wait lasting_wait_watch::wait_of_holder(std::uint32_t holder, std::uint32_t own_number) {
  const auto id = static_cast<pid_t>(holder);
  std::string schedules = cpu::schedules_of(process_, id);
  const waiting_thread thread{holder, own_number, cpu::call_line_of(process_, id), std::move(schedules)};
  return wait_of(thread, wait_start::later);
}

ownership lasting_wait_watch::owner_of(const thread_wait& waiting, std::uint32_t holder) const {
  // The process has the number of its first thread as long as it lives.
  if (waiting.is_held_by_kernel || holder == static_cast<std::uint32_t>(process_)) return ownership::thread;
  const auto is_newer = is_newer_than_wait(process_, static_cast<pid_t>(holder), static_cast<pid_t>(waiting.thread.id));
  if (!is_newer) return ownership::possible;
  return *is_newer ? ownership::no_thread : ownership::thread;
}

// Adds the threads that have what others wait for, and what those wait for in turn.
void lasting_wait_watch::add_holders(std::vector<thread_wait>& waits) {
  const auto has_holder = [](const thread_wait& waiting) { return waiting.wait.holder != 0; };
  if (std::none_of(waits.begin(), waits.end(), has_holder)) return;
  std::map<std::uint32_t, std::uint32_t> threads;  // those that live, by their own number
  for (const std::uint32_t thread : running_threads(static_cast<std::uint64_t>(process_)))
    threads[own_number_of(process_, thread)] = thread;
  threads.erase(0);
  const pid_t parent = parent_of(process_);
  const std::vector<std::uint32_t> threads_of_parent = running_threads(static_cast<std::uint64_t>(parent));
  const auto is_of_parent = [&](std::uint32_t holder) {
    return std::any_of(threads_of_parent.begin(), threads_of_parent.end(),
                       [&](std::uint32_t thread) { return own_number_of(parent, thread) == holder; });
  };
  std::map<std::uint32_t, std::size_t> places;
  for (std::size_t index = 0; index < waits.size(); ++index) places[waits[index].wait.thread] = index;
  std::map<std::pair<std::uint32_t, std::uint64_t>, ownership> owners;  // by holder and address
  for (std::size_t index = 0; index < waits.size(); ++index) {
    format::lasting_wait& wait = waits[index].wait;
    if (wait.holder == 0 || wait.owner == ownership::shared) continue;
    const std::uint32_t own_number = wait.holder;
    const auto holder = threads.find(own_number);
    if (holder == threads.end()) {
      wait.owner = is_of_parent(own_number) ? ownership::parent : ownership::no_thread;
      continue;
    }
    const auto [owner, is_new] = owners.try_emplace({own_number, wait.address});
    if (is_new) owner->second = owner_of(waits[index], holder->second);
    wait.owner = owner->second;
    if (wait.owner == ownership::no_thread) continue;
    const auto [entry, has_none] = places.try_emplace(own_number, waits.size());
    if (has_none) waits.push_back(wait_of_holder(holder->second, own_number));
    thread_wait& wait_of_owner = waits[entry->second];
    if (wait_of_owner.wait.stack == 0) wait_of_owner.wait.stack = stack_of(wait_of_owner.thread);
  }
}

void lasting_wait_watch::check_code(std::vector<thread_wait>& waits, const format::lasting_waits& read) {
  format::recording named;  // the modules with the paths by which they are read from here
  std::optional<analyse::symbols> symbols;
  for (thread_wait& waiting : waits) {
    format::lasting_wait& wait = waiting.wait;
    if (!analyse::is_for_lock(wait.kind)) continue;
    const auto [code, is_new] = code_.try_emplace(wait.stack, awaited::word);
    if (is_new) {
      if (!symbols) {
        named.modules = read.modules;
        for (format::module_facts& module : named.modules)
          module.path = fmt::format("/proc/{}/root{}", process_, module.path);
        symbols.emplace(named);
      }
      code->second = lock_of_code(*symbols, read.stacks[wait.stack], waiting.is_held_by_kernel);
    }
    const bool is_code_of_kind = (code->second == awaited::reader_writer) == (wait.kind == awaited::reader_writer);
    if (code->second != awaited::word && is_code_of_kind) continue;
    wait.kind = awaited::word;
    wait.holder = 0;
    wait.owner = ownership::thread;
  }
}

void lasting_wait_watch::look(format::recording& recording, bool is_last) {
  std::vector<waiting_thread> threads = threads_, interrupted = interrupted_;
  for (const auto& [key, since] : recording.open_uses) {
    if (!key.is_wait) continue;
    std::erase_if(threads, [&, &key = key](const waiting_thread& thread) {
      return thread.own_number == recording.threads[key.thread].id;
    });
  }
  std::vector<thread_wait> waits;
  waits.reserve(threads.size());
  for (const waiting_thread& thread : threads) waits.push_back(wait_of(thread, wait_start::before));
  for (const waiting_thread& thread : interrupted) {
    thread_wait repeated_wait = wait_of_holder(thread.id, thread.own_number);
    if (repeated_wait.thread.call != thread.call) continue;
    repeated_wait.wait.start = wait_start::interrupted;
    waits.push_back(std::move(repeated_wait));
  }
  add_holders(waits);
  // What was read of a thread that has not run since, and of the mutex that it has, did not change meanwhile.
  std::vector<std::uint32_t> runners;
  for (const thread_wait& waiting : waits) {
    if (waiting.wait.kind != awaited::nothing && !is_waiting_still(waiting.thread))
      runners.push_back(waiting.wait.thread);
  }
  const auto has_run = [&](std::uint32_t thread) {
    return std::find(runners.begin(), runners.end(), thread) != runners.end();
  };
  const auto first_runner = std::stable_partition(
      threads.begin(), threads.end(), [&](const waiting_thread& thread) { return !has_run(thread.own_number); });
  is_in_doubt_ = !is_in_doubt_ && !is_last && first_runner != threads.end();
  if (is_in_doubt_) return;
  std::vector<waiting_thread> new_runners(std::make_move_iterator(first_runner),
                                          std::make_move_iterator(threads.end()));
  threads.erase(first_runner, threads.end());
  threads_ = std::move(threads);
  interrupted_.insert(interrupted_.end(), new_runners.begin(), new_runners.end());
  std::erase_if(waits, [&](const thread_wait& waiting) { return has_run(waiting.wait.thread); });
  if (is_last && !new_runners.empty()) return look(recording, true);  // they may wait in the same call again
  format::cpu_recording read_stacks;
  stacks_.read(process_, 0, image_, read_stacks);
  read_stacks.stacks.resize(std::max<std::size_t>(read_stacks.stacks.size(), 1));
  recording.lasting = {
      std::move(read_stacks.modules), std::move(read_stacks.python_codes), std::move(read_stacks.stacks), {}};
  check_code(waits, recording.lasting);
  for (thread_wait& waiting : waits) recording.lasting.waits.push_back(std::move(waiting.wait));
}

}  // namespace tarn::command
