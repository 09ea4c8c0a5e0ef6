// Readers of shared nodes that write nothing another thread waits for, and writers that free what no reader has.
//
// Epochs. A reader notes the epoch in a place of its own, then follows pointers; a writer unlinks a node, ends the
// epoch, and frees the node once no place has an older one. The interleaving that must not be:
//   1 reader: my place = 7, still invisible to the writer     2 writer: unlinks the node, epoch = 8
//   3 writer: no place has 7 or less                          4 reader: follows the pointer as it was before 2
//   5 writer: frees the node                                  6 reader: uses it
// Between 2 and 3 the writer passes a memory barrier in all threads (membarrier(2)): then either 1 is visible to 3, or
// 4 comes after 2. Where the system has no membarrier, 1 is an exchange, and all of 1 to 4 are sequentially consistent.
// tests/models/memo.pml goes through all of them.
#pragma once

#include <atomic>
#include <cstdint>

namespace tarn::detail {

/// A thread's place. Taken over by another thread when its own ends.
struct alignas(128) reader_of_nodes {
  std::atomic<std::uint64_t> epoch{0};  ///< 0: reads nothing
  unsigned index = 0;                   ///< no two living threads have the same
  std::atomic<bool> taken{false};
  reader_of_nodes* next = nullptr;
};

extern std::atomic<std::uint64_t> node_epoch;
extern std::atomic<bool> node_barrier;  ///< the system has membarrier
extern constinit thread_local reader_of_nodes* own_reader_of_nodes [[gnu::tls_model("initial-exec")]];

/// The calling thread's place, for its first time. Throws std::bad_alloc.
reader_of_nodes& new_reader_of_nodes();

/// Ends the epoch; what was unlinked before may be freed when nobody_reads_before() says so of the epoch that it
/// returns. 0: nothing may be, this time.
std::uint64_t end_node_epoch() noexcept;
bool nobody_reads_before(std::uint64_t epoch) noexcept;

/// Milliseconds of a clock that only grows.
std::uint64_t memo_now_ms() noexcept;

/// The calling thread's place where it has one, reads nothing now, and need not exchange to say that it does; else
/// null.
inline reader_of_nodes* idle_reader_of_nodes() noexcept {
  reader_of_nodes* const mine = own_reader_of_nodes;
  if (mine == nullptr || mine->epoch.load(std::memory_order_relaxed) != 0) return nullptr;
  return node_barrier.load(std::memory_order_relaxed) ? mine : nullptr;
}

/// What read_section does for a thread of idle_reader_of_nodes(), in less.
class outer_read_section {
 public:
  explicit outer_read_section(reader_of_nodes& mine) noexcept : mine_(mine) {
    mine_.epoch.store(node_epoch.load(std::memory_order_acquire), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  outer_read_section(const outer_read_section&) = delete;
  outer_read_section& operator=(const outer_read_section&) = delete;
  // release: who sees the place empty has seen the end of all that was read.
  ~outer_read_section() { mine_.epoch.store(0, std::memory_order_release); }

 private:
  reader_of_nodes& mine_;
};

/// While one lives, no node that this thread can reach is freed. May be nested. Short: what is unlinked meanwhile
/// waits.
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
    // release: who sees the place empty has seen the end of all that was read.
    if (!is_inner_) mine_.epoch.store(0, std::memory_order_release);
  }
  unsigned index() const noexcept { return mine_.index; }

 private:
  reader_of_nodes& mine_;
  bool is_inner_ = false;
};

}  // namespace tarn::detail
