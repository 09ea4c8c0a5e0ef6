// Readers of shared nodes that write nothing another thread waits for, and writers that free what no reader can
// reach.
//
// The scheme uses epochs. A reader stores the epoch into its own slot and then follows pointers. A writer unlinks a
// node, ends the epoch, and frees the node once no slot has an older epoch. This interleaving must not happen:
//   1 reader: my slot = 7, still invisible to the writer      2 writer: unlinks the node, epoch = 8
//   3 writer: no slot has 7 or less                           4 reader: follows the pointer as it was before 2
//   5 writer: frees the node                                  6 reader: uses it
// Between 2 and 3 the writer runs a memory barrier in all threads (membarrier(2)). Then either 1 is visible to 3, or
// 4 comes after 2. Where the system has no membarrier, 1 is an exchange, and 1 to 4 are all sequentially consistent.
// tests/models/memo.pml searches all interleavings.
#pragma once

#include <atomic>
#include <cstdint>

namespace tarn::detail {

/// A thread's slot. Another thread takes it over when the thread ends.
struct alignas(128) reader_of_nodes {
  std::atomic<std::uint64_t> epoch{0};  ///< 0: the thread reads nothing
  unsigned index = 0;                   ///< unique among living threads
  std::atomic<bool> taken{false};
  reader_of_nodes* next = nullptr;
};

extern std::atomic<std::uint64_t> node_epoch;
extern std::atomic<bool> node_barrier;  ///< true: the system has membarrier
extern constinit thread_local reader_of_nodes* own_reader_of_nodes [[gnu::tls_model("initial-exec")]];

/// Returns the calling thread's slot when it has none yet. Throws std::bad_alloc.
reader_of_nodes& new_reader_of_nodes();

/// Ends the epoch and returns it. Nodes unlinked before may be freed when nobody_reads_before() confirms that epoch.
/// Returns 0 when nothing may be freed, because the kernel refuses the barrier by now.
std::uint64_t end_node_epoch() noexcept;
bool nobody_reads_before(std::uint64_t epoch) noexcept;

/// Returns milliseconds of a monotonic clock.
std::uint64_t memo_now_ms() noexcept;

/// Returns the calling thread's slot if it has one, reads nothing at present, and needs no exchange to announce a
/// read; else null.
inline reader_of_nodes* idle_reader_of_nodes() noexcept {
  reader_of_nodes* const mine = own_reader_of_nodes;
  if (mine == nullptr || mine->epoch.load(std::memory_order_relaxed) != 0) return nullptr;
  return node_barrier.load(std::memory_order_relaxed) ? mine : nullptr;
}

/// Does what read_section does, with fewer instructions, for a thread of idle_reader_of_nodes().
class outer_read_section {
 public:
  explicit outer_read_section(reader_of_nodes& mine) noexcept : mine_(mine) {
    mine_.epoch.store(node_epoch.load(std::memory_order_acquire), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  outer_read_section(const outer_read_section&) = delete;
  outer_read_section& operator=(const outer_read_section&) = delete;
  // release: a thread that sees the slot empty has seen the end of all reads.
  ~outer_read_section() { mine_.epoch.store(0, std::memory_order_release); }

 private:
  reader_of_nodes& mine_;
};

/// While one lives, no node that this thread can reach is freed. Sections may nest. Keep them short, because unlinked
/// nodes wait for their end.
class read_section {
 public:
  read_section() : mine_(own_reader_of_nodes != nullptr ? *own_reader_of_nodes : new_reader_of_nodes()) {
    if (mine_.epoch.load(std::memory_order_relaxed) != 0) {
      is_inner_ = true;
      return;
    }
    const std::uint64_t now = node_epoch.load(std::memory_order_acquire);
    if (node_barrier.load(std::memory_order_relaxed)) [[likely]] {
      mine_.epoch.store(now, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      mine_.epoch.exchange(now, std::memory_order_seq_cst);
    }
  }
  read_section(const read_section&) = delete;
  read_section& operator=(const read_section&) = delete;
  ~read_section() {
    // release: a thread that sees the slot empty has seen the end of all reads.
    if (!is_inner_) mine_.epoch.store(0, std::memory_order_release);
  }
  unsigned index() const noexcept { return mine_.index; }

 private:
  reader_of_nodes& mine_;
  bool is_inner_ = false;
};

}  // namespace tarn::detail
