// Computes values for the options `initial`, `increment` and `limit` from the memory that a run has used, so that the
// next run takes its memory at the start and asks the system for nothing later.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/statistics.hpp>

namespace tarn::api {

/// Holds bytes in units that the options accept: whole MiB, or whole KiB below one MiB. 0 means no advice, because no
/// thread had a heap.
struct advice {
  std::uint64_t initial = 0;    ///< three quarters of the threads' heaps never needed more
  std::uint64_t increment = 0;  ///< brings the other heaps from there to their peak in four steps
  std::uint64_t limit = 0;      ///< a quarter more than all heaps ever had together, or will have from the start

  /// The number of threads' heaps that grew beyond the `initial` of this run, and their bytes beyond it.
  std::uint64_t excess_heaps = 0;
  std::uint64_t excess_bytes = 0;
};

/// Gathers the peaks of the threads' heaps, without blocks above 32 MiB (which no eager memory serves). It counts
/// them in steps of a quarter of a power of two, so that it needs no memory for each heap.
class heap_peaks {
 public:
  explicit heap_peaks(std::uint64_t eager_bytes) noexcept : eager_(eager_bytes) {}

  /// Leaves out heaps that never had memory.
  void add(std::uint64_t peak_bytes) noexcept;
  advice result(std::uint64_t process_peak_bytes) const noexcept;

 private:
  static constexpr std::size_t steps = 64 * 4;

  std::uint64_t eager_;
  std::uint64_t heaps_ = 0;
  std::uint64_t maximum_ = 0;
  std::uint64_t excess_heaps_ = 0;
  std::uint64_t excess_bytes_ = 0;
  std::uint32_t counts_[steps] = {};
};

}  // namespace tarn::api
