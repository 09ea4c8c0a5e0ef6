#include "base/leaks.hpp"

#include "base/site.hpp"
#include "base/text.hpp"

namespace tarn::base {

void leak_report::add(std::size_t bytes, const void* site, std::uint32_t thread) noexcept {
  source* entry = sources_;
  while (entry != sources_ + count_ && (entry->site != site || entry->thread != thread)) ++entry;
  if (entry == sources_ + count_) {
    if (count_ == max_places) {
      entry = &others_;
    } else {
      *entry = {.site = site, .thread = thread, .blocks = 0, .bytes = 0};
      ++count_;
    }
  }
  for (source* counts : {entry, &total_}) {
    ++counts->blocks;
    counts->bytes += bytes;
  }
}

void leak_report::print(const char* kind, const char* name, const void* address) noexcept {
  if (total_.blocks == 0) return;
  // The places are few, so an insertion sort suffices. It needs neither exceptions nor the C++ runtime.
  for (std::size_t index = 1; index < count_; ++index) {
    const source moved = sources_[index];
    std::size_t target = index;
    for (; target != 0 && sources_[target - 1].bytes < moved.bytes; --target) sources_[target] = sources_[target - 1];
    sources_[target] = moved;
  }
  const auto count = [](text& line, const source& counts) -> text& {
    return line.decimal(counts.blocks).append(" blocks, ").decimal(counts.bytes).append(" bytes");
  };
  text_buffer<8192> message;
  message.append("tarn: ").append(kind).append(" \"").append_escaped(name).append("\" at ").pointer(address);
  count(message.append(": ended with "), total_).append(", in use\n");
  for (std::size_t index = 0; index < count_; ++index) {
    count(message.append("tarn:   "), sources_[index]).append(", allocated at ");
    append_site(message, sources_[index].site).append(" by thread ").decimal(sources_[index].thread).append('\n');
  }
  if (others_.blocks != 0) count(message.append("tarn:   "), others_).append(", allocated elsewhere\n");
  message.write_to(2);
}

}  // namespace tarn::base
