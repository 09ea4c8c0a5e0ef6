// Makes call stacks and counts of the records in which the kernel copied a thread's registers and stack, and times of
// those that say when a thread began to run, and why it stopped.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cpu/perf_events.hpp"
#include "profiler/cpu/python_process.hpp"
#include "profiler/cpu/run_delays.hpp"
#include "profiler/cpu/waiting_thread.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/unwind/elf_file.hpp"
#include "profiler/unwind/walk.hpp"

namespace tarn::cpu {

class stack_samples {
 public:
  // Takes the modules and the names of the threads of a process that runs already, as /proc has them.
  void add_running(pid_t process);
  // Takes its modules alone.
  void add_mappings(pid_t process);
  // Adds the stack of a thread that waits, of a process whose modules were added. Returns its number; 0 if it is not
  // known.
  std::uint32_t stack_of_waiting(pid_t process, pid_t thread) {
    return stack_of_waiting(process, state_of(process), thread);
  }
  // Leaves out the records of all other processes.
  void keep_only(pid_t process) { kept_process_ = process; }
  // Takes the next record in the order of time. `goes_on` tells whether a thread may have executed something since a
  // record with `is_still`.
  using going_on = std::function<bool(pid_t)>;
  void add(const perf_record& record, const going_on& goes_on = {});
  // Returns whether stacks are read from the memory of programs, which changes.
  bool reads_memory() const { return reads_memory_; }
  // Sets the time up to which all records were added: until then, each thread stays in the state of its last record.
  void set_time(std::uint64_t now_ns) { now_ns_ = now_ns; }
  // Reads how long the threads that live now have been ready to run. Call it after set_time().
  void read_delays();
  void add_delay(pid_t process, pid_t thread, std::uint64_t delay_ns);

  // Copies the samples of a process. Its images are counted from the one that ran at `begun_ns`, which is
  // `first_image`; samples of earlier images are left out.
  void read(pid_t process, std::uint64_t begun_ns, std::uint32_t first_image, format::cpu_recording& target) const;

 private:
  struct mapping {
    std::uint64_t start = 0, end = 0, offset = 0;
    std::string path;
    unwind::elf_file* file = nullptr;  // null until a stack needs it
    std::uint64_t bias = 0;
    bool is_noted = false;         // in `samples.modules`
    std::uint64_t generation = 0;  // of that module (profiler/format/generations.hpp)
  };
  struct thread_state {
    std::uint32_t number = 0;                            // in `samples.threads`
    format::cpu_counter activity = format::runnable_ns;  // the counter of its current state
    std::uint64_t since_ns = 0;
    std::uint32_t wait_stack = 0;  // of the wait that it is in or about to begin; 0: not sampled
  };
  // Waits of a thread that were about as long, by stack.
  using wait_key = std::pair<std::uint32_t, int>;  // the thread's number, and the binary digits of the nanoseconds
  using wait_sums = std::map<std::uint32_t, wait_sum>;
  struct process_state {
    std::map<std::uint64_t, mapping> mappings;  // of code, by start
    std::vector<std::uint64_t> execs;           // their times; the number of the image is how many there were
    std::map<pid_t, std::string> names;         // of threads
    std::map<pid_t, thread_state> threads;      // those that live
    std::map<wait_key, wait_sums> waits;
    std::map<std::uint32_t, thread_delay> delays;  // by the thread's number
    format::cpu_recording samples;
    std::unique_ptr<python_process> python;  // null: no stack had a frame of a CPython that can be read
    std::string last_python;                 // the file in which it was looked for
    std::map<format::site_facts, std::uint32_t> stack_numbers;
    std::map<std::pair<std::uint32_t, pid_t>, std::uint32_t> thread_numbers;  // by image and id
  };

  process_state& state_of(pid_t process);
  mapping* mapping_at(pid_t process, process_state& state, std::uint64_t address);
  unwind::row row_at(pid_t process, process_state& state, std::uint64_t address);
  void open(pid_t process, mapping& opened);
  static void add_mapping(process_state& state, std::uint64_t start, std::uint64_t bytes, std::uint64_t offset,
                          std::string path);
  static void note(process_state& state, mapping& module, std::uint32_t image);
  std::uint32_t stack_number(pid_t process, process_state& state, std::vector<std::uint64_t> frames);
  static std::uint32_t thread_number(process_state& state, pid_t thread);
  static void name(process_state& state, pid_t thread, std::string text);
  static void begin_delay(process_state& state, pid_t thread);
  // Writes the waits of a process, without the time after wake-ups.
  static void read_waits(const process_state& state, std::uint32_t first_image, format::cpu_recording& target);
  static void count(process_state& state, thread_state& thread, format::cpu_counter activity, std::uint64_t ns);
  // Counts the time of a thread up to the record after which it does something else.
  void change(process_state& state, pid_t thread, format::cpu_counter activity, std::uint64_t at_ns);
  // Returns the thread's state and its time since the last record, as far as they are known by now.
  format::cpu_counter activity_of(const thread_state& thread) const {
    return thread.since_ns < lost_until_ns_ ? format::unknown_ns : thread.activity;
  }
  void add_switch(const perf_record& record);
  void add_lost(const perf_record& record);
  struct sampled_stack {
    std::uint32_t number = 0;
    bool is_cut = false;
  };
  // `bytes` are the stack from its stack pointer up.
  // Looks whether one of the frames is in a CPython.
  void look_for_python(pid_t process, process_state& state, const std::vector<std::uint64_t>& frames);
  // Python's frames are read if the stack is of a thread that stands still, and taken if it does so afterwards.
  sampled_stack walk(pid_t process, process_state& state, const unwind::caller& registers,
                     std::span<const std::byte> bytes, bool is_still, const std::function<bool()>& goes_on);
  std::uint32_t stack_of_waiting(pid_t process, process_state& state, pid_t thread);
  std::uint32_t read_waiting(pid_t process, process_state& state, pid_t thread);
  // Reads stacks of other threads until it is known where Python's activations lie. Returns whether it is.
  bool learns_depth(pid_t process, process_state& state, pid_t thread);
  std::uint64_t frame_of_waiting(pid_t process, process_state& state, const waiting_thread& waiting);
  sampled_stack read_stack(pid_t process, process_state& state, const perf_record& record, const going_on& goes_on);
  void add_sample(const perf_record& record, const going_on& goes_on);
  void add_command(const perf_record& record);
  void add_module(const perf_record& record);
  void add_fork(const perf_record& record);
  void add_exit(const perf_record& record);

  bool reads_memory_ = false;
  pid_t kept_process_ = 0;  // 0: all processes
  std::uint64_t lost_ = 0, lost_until_ns_ = 0, now_ns_ = 0;
  std::map<pid_t, process_state> processes_;
  std::map<std::string, std::unique_ptr<unwind::elf_file>> files_;
};

}  // namespace tarn::cpu
