#include <tarn/detail/read_section.hpp>

#include "platform/platform.hpp"
#include "platform/race_detector.hpp"
#include "platform/threads.hpp"

namespace tarn::detail {
namespace {

std::atomic<reader_of_nodes*> all_readers{nullptr};
std::atomic<unsigned> readers_made{0};

bool has_barrier() noexcept {
#if TARN_SMALL
  return false;  // so that tests cover the other way, too
#else
  return platform::prepare_barriers();
#endif
}

// Returns the slot when the thread ends.
struct owner {
  reader_of_nodes* place = nullptr;
  ~owner() {
    if (place == nullptr) return;
    own_reader_of_nodes = nullptr;  // later destructors take a slot again
    // release: the next owner finds the counters as this one left them.
    platform::note_release(&place->taken);
    place->taken.store(false, std::memory_order_release);
  }
};
thread_local owner this_thread;

}  // namespace

std::atomic<std::uint64_t> node_epoch{1};
std::atomic<bool> node_barrier{has_barrier()};
constinit thread_local reader_of_nodes* own_reader_of_nodes = nullptr;

reader_of_nodes& new_reader_of_nodes() {
  reader_of_nodes* place = all_readers.load(std::memory_order_acquire);
  while (place != nullptr &&
         (place->taken.load(std::memory_order_relaxed) || place->taken.exchange(true, std::memory_order_acquire))) {
    place = place->next;
  }
  if (place == nullptr) {
    place = new reader_of_nodes;  // never freed: a writer may read it at any time
    place->taken.store(true, std::memory_order_relaxed);
    place->index = readers_made.fetch_add(1, std::memory_order_relaxed);
    place->next = all_readers.load(std::memory_order_relaxed);
    while (
        !all_readers.compare_exchange_weak(place->next, place, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    }
  }
  platform::note_acquire(&place->taken);
  this_thread.place = place;
  own_reader_of_nodes = place;
  return *place;
}

std::uint64_t end_node_epoch() noexcept {
  platform::note_release(&node_epoch);
  const std::uint64_t ended = node_epoch.fetch_add(1, std::memory_order_seq_cst) + 1;
  // A filter of system calls that the program sets later can refuse the barrier; it cannot be removed. A reader may
  // have chosen to do without a fence just before, so no slot can be trusted from then on.
  return node_barrier.load(std::memory_order_relaxed) && !platform::barrier_in_all_threads() ? 0 : ended;
}

bool nobody_reads_before(std::uint64_t epoch) noexcept {
  for (reader_of_nodes* reader = all_readers.load(std::memory_order_seq_cst); reader != nullptr;
       reader = reader->next) {
    const std::uint64_t reads = reader->epoch.load(std::memory_order_seq_cst);
    platform::note_acquire(&reader->epoch);
    if (reads != 0 && reads < epoch) return false;
  }
  return true;
}

std::uint64_t memo_now_ms() noexcept { return platform::now_ms(); }

}  // namespace tarn::detail
