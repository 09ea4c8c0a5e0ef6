// Remote frees: blocks of one slab that other threads have freed and that its owner has not taken back yet.
//
// One bit stands for each block, in words of 64, outside of the blocks. Nothing is written into a block, so its page
// may go back to the system while it waits, and any number of blocks waits in the same few bytes. A bit that is
// already set is a double free.
//
//   sender                                  collector, which holds the slab
//   1 sets bits in a word                   4 reads the link of the slab
//   2 if the word was 0: sets its bit       5 takes all of `waiting_`
//     in `waiting_`                           6 takes each word that has its bit there
//   3 if `waiting_` was 0: posts the slab
//
// Each change from 0 is a read-modify-write, so exactly one thread makes it, and that thread must do the next step. A
// sender that does not find 0 leaves: the thread that found 0 will go on, and the collector will find the new bits
// too. Steps 5 and 6 come in the reverse order of 1 and 2, so bits that are set after 6 find the word 0, and are
// announced again.
//
// A slab with a set bit is not empty, so its owner keeps it. The last step of a sender is the one that lets another
// thread collect its bits; after it the sender does not touch the slab, which may be gone.
//
// tests/models/remote_frees.pml searches all interleavings, and tests/models/idle_weak.cpp those that C++'s memory
// model allows.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/race_detector.hpp"

namespace tarn::pages {

/// Travels through an inbox: a slab with remote frees, or a batch of blocks (memory/heap/remote_batch.hpp).
struct inbox_node {
  inbox_node* next_sent = nullptr;  ///< the next node in an inbox
  std::uint32_t batch_blocks = 0;   ///< blocks in a batch; 0: the node is a slab
  std::uint32_t batch_bytes = 0;    ///< their bytes
};

/// The structure is aligned, because other threads write it while the owner works on the rest of its slab.
struct alignas(64) remote_frees : inbox_node {
  /// The result of free_remotely: the bits that it found, and the next step of the caller.
  struct sent {
    std::uint64_t before;  ///< the bits that were already set
    bool must_post;        ///< the caller must put the slab into its owner's inbox
  };

  /// Frees the blocks `freed` (not 0) of word `number`. Any thread that holds those blocks may call it. Unless it
  /// returns `must_post`, the caller must not touch the slab afterwards.
  sent free_remotely(std::size_t number, std::uint64_t freed) noexcept {
    // acq_rel: release, so that a thread that takes a bit sees what was written to the block; acquire, so that a
    // sender that finds 0 comes after the collector's step 5, and the bit that it adds to `waiting_` is not mistaken
    // for one that step 5 has removed.
    platform::note_release(&remote_words[number]);
    const std::uint64_t before = remote_words[number].fetch_or(freed, std::memory_order_acq_rel);
    if (before != 0) {
      return {before, false};
    }
    // acq_rel: release, so that a thread that takes the bit of the word finds the word set; acquire, so that a sender
    // that finds 0 comes after step 4 and may write the link.
    return {0, waiting_.fetch_or(std::uint64_t{1} << number, std::memory_order_acq_rel) == 0};
  }

  /// Calls `visit(number, freed)` for the words in which blocks wait, and clears them. The caller took the slab out of
  /// an inbox and has read `next_sent`.
  template <class Visit>
  void take_remote(Visit visit) noexcept {
    // acq_rel: free_remotely gives the reasons.
    for (std::uint64_t left = waiting_.exchange(0, std::memory_order_acq_rel); left != 0; left &= left - 1) {
      const auto number = static_cast<std::size_t>(std::countr_zero(left));
      const std::uint64_t freed = remote_words[number].exchange(0, std::memory_order_acq_rel);
      platform::note_acquire(&remote_words[number]);
      visit(number, freed);
    }
  }

  /// Forgets all frees, also one that a thread was in the middle of when a fork left it behind. No other thread uses
  /// the slab. Cost: it reads all words.
  void forget_remote(std::size_t word_count) noexcept {
    // relaxed: the thread is alone, or the owner of blocks that have all ended.
    waiting_.exchange(0, std::memory_order_relaxed);
    for (std::size_t number = 0; number < word_count; ++number) {
      // Without the look, the words' pages, most of which are untouched, would come into use.
      if (remote_words[number].load(std::memory_order_relaxed) != 0) {
        remote_words[number].exchange(0, std::memory_order_relaxed);
      }
    }
  }

  /// Returns whether all `blocks` blocks wait, and nobody else uses the slab. The caller took it out of an inbox.
  bool all_wait(std::size_t word_count, std::size_t blocks) const noexcept {
    // Two threads may still use the slab. Each of them leaves the bit of a word in `waiting_` unset meanwhile:
    //   a sender between steps 1 and 2     it found the word empty, and nobody takes a word before its bit is set
    //   a collector between steps 5 and 6  it took the bit, and no sender finds the word empty until it takes the word
    // So if all bits are set, there is neither, and the count is exact, because no word is taken from then on.
    // acquire: the senders' accesses to the slab are complete.
    const std::uint64_t every_word = ~std::uint64_t{0} >> (64 - word_count);
    return waiting_.load(std::memory_order_acquire) == every_word && remote_count(word_count) == blocks;
  }

  /// Returns the number of waiting blocks. It is exact only while nobody takes words.
  std::size_t remote_count(std::size_t word_count) const noexcept {
    std::size_t set = 0;
    for (std::size_t number = 0; number < word_count; ++number) {
      set += static_cast<std::size_t>(std::popcount(remote_words[number].load(std::memory_order_acquire)));
    }
    return set;
  }

  std::atomic<std::uint64_t>* remote_words = nullptr;  ///< one word for each 64 blocks

 private:
  std::atomic<std::uint64_t> waiting_{0};
};

}  // namespace tarn::pages
