// Reads the system's data about the calling process, without allocating.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace bench {

inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline std::int64_t ns_of(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Returns the CPU time of all threads so far: the wall time on an otherwise idle machine.
inline std::int64_t processor_ns() noexcept { return ns_of(CLOCK_PROCESS_CPUTIME_ID); }

/// Returns the CPU time of the calling thread so far.
inline std::int64_t thread_ns() noexcept { return ns_of(CLOCK_THREAD_CPUTIME_ID); }

/// Reads a small file of /proc whole.
template <std::size_t Size>
void read_small_file(const char* path, char (&text)[Size]) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? 0 : read(fd, text, Size - 1);
  text[length > 0 ? length : 0] = '\0';
  if (fd >= 0) close(fd);
}

/// Returns the peak of resident memory. It does not use ru_maxrss, which keeps the parent's memory over exec.
inline long peak_kib() noexcept {
  char text[4096];
  read_small_file("/proc/self/status", text);
  const char* line = std::strstr(text, "VmHWM:");
  return line != nullptr ? std::strtol(line + 6, nullptr, 10) : -1;
}

inline long resident_kib() noexcept {
  char text[256];
  read_small_file("/proc/self/statm", text);
  const char* second = std::strchr(text, ' ');
  return second != nullptr ? std::strtol(second, nullptr, 10) * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

/// Returns the page faults of all threads so far, including those that read from disk.
inline long page_faults() noexcept {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/// Returns the file whose malloc this process uses, which shows when a preload did not take effect.
inline const char* malloc_provider() noexcept {
  Dl_info info;
  void* const address = dlsym(RTLD_DEFAULT, "malloc");
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fname : "";
}

}  // namespace bench
