#include "profiler/collect/reachability.hpp"

#include <algorithm>
#include <vector>

namespace tarn::command {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

enum class mark : std::uint8_t { lost, reached, behind_lost };

class heap_search {
 public:
  heap_search(std::vector<heap_block> blocks, const memory_reader& read) : blocks_(std::move(blocks)), read_(read) {
    std::sort(blocks_.begin(), blocks_.end(),
              [](const heap_block& a, const heap_block& b) { return a.address < b.address; });
    marks_.resize(blocks_.size(), mark::lost);
  }

  void reach_from(const pointer_roots& roots) {
    next_mark_ = mark::reached;
    for (const std::uint64_t word : roots.register_values) take_word(word);
    for (const address_range& range : roots.ranges) {
      std::uint64_t start = range.start;
      for (std::size_t index = first_after(range.start); index < blocks_.size() && start < range.end; ++index) {
        if (blocks_[index].address >= range.end) break;
        scan(start, blocks_[index].address);
        start = std::max(start, end_of(blocks_[index]));
      }
      scan(start, range.end);
    }
    follow();
  }

  // Tells the lost blocks that others of them point to from the first ones. Of a circle, one block is a first one.
  void find_first_ones() {
    next_mark_ = mark::behind_lost;
    for (origin_ = 0; origin_ < blocks_.size(); ++origin_) {
      if (marks_[origin_] != mark::lost) continue;
      scan(blocks_[origin_].address, end_of(blocks_[origin_]));
      follow();
    }
  }

  std::map<std::uint32_t, format::leak_facts> lost() const {
    std::map<std::uint32_t, format::leak_facts> sites;
    for (std::size_t index = 0; index < blocks_.size(); ++index) {
      if (marks_[index] == mark::reached) continue;
      format::leak_facts& facts = sites[blocks_[index].site];
      ++facts.blocks;
      facts.bytes += blocks_[index].bytes;
      if (marks_[index] == mark::lost) ++facts.first_blocks;
    }
    return sites;
  }

 private:
  static std::uint64_t end_of(const heap_block& block) {
    return block.address + std::max<std::uint64_t>(block.bytes, 1);
  }
  std::size_t first_after(std::uint64_t address) const {
    return static_cast<std::size_t>(
        std::partition_point(blocks_.begin(), blocks_.end(),
                             [&](const heap_block& block) { return end_of(block) <= address; }) -
        blocks_.begin());
  }

  void take_word(std::uint64_t word) {
    if (blocks_.empty() || word < blocks_.front().address || word >= end_of(blocks_.back())) return;
    const std::size_t index = first_after(word);
    if (index == blocks_.size() || word < blocks_[index].address) return;
    if (marks_[index] != mark::lost || (next_mark_ == mark::behind_lost && index == origin_)) return;
    marks_[index] = next_mark_;
    pending_.push_back(index);
  }

  void follow() {
    while (!pending_.empty()) {
      const heap_block& block = blocks_[pending_.back()];
      pending_.pop_back();
      scan(block.address, end_of(block));
    }
  }

  // Takes each aligned word that lies wholly in [start, end).
  void scan(std::uint64_t start, std::uint64_t end) {
    start = (start + word_bytes - 1) / word_bytes * word_bytes;
    while (start + word_bytes <= end) {
      const std::uint64_t page_end = (start / piece_bytes + 1) * piece_bytes;
      const std::size_t word_count = static_cast<std::size_t>((std::min(end, page_end) - start) / word_bytes);
      if (read_(start, piece_words_.data(), word_count * word_bytes)) {
        for (std::size_t index = 0; index < word_count; ++index) take_word(piece_words_[index]);
      }
      start += word_count * word_bytes;
    }
  }

  static constexpr std::uint64_t piece_bytes = 65536;
  std::vector<heap_block> blocks_;  // by address
  std::vector<mark> marks_;
  std::vector<std::size_t> pending_;  // reached, and not yet scanned
  std::size_t origin_ = 0;
  mark next_mark_ = mark::reached;
  const memory_reader& read_;
  std::vector<std::uint64_t> piece_words_ = std::vector<std::uint64_t>(piece_bytes / word_bytes);
};

}  // namespace

std::map<std::uint32_t, format::leak_facts> find_lost(std::vector<heap_block> blocks, const pointer_roots& roots,
                                                      const memory_reader& read) {
  heap_search search(std::move(blocks), read);
  search.reach_from(roots);
  search.find_first_ones();
  return search.lost();
}

}  // namespace tarn::command
