#include "base/leaks.hpp"

#include "base/site.hpp"
#include "base/text.hpp"

namespace tarn::base {

void leak_report::add(std::size_t bytes, const void* site, std::uint32_t thread) noexcept {
  place* counted = places_;
  while (counted != places_ + count_ && (counted->site != site || counted->thread != thread)) {
    ++counted;
  }
  if (counted == places_ + count_) {
    if (count_ == max_places) {
      counted = &others_;
    } else {
      *counted = {.site = site, .thread = thread, .blocks = 0, .bytes = 0};
      ++count_;
    }
  }
  for (place* counts : {counted, &total_}) {
    ++counts->blocks;
    counts->bytes += bytes;
  }
}

void leak_report::print(const char* kind, const char* name, const void* address) noexcept {
  if (total_.blocks == 0) {
    return;
  }
  // There are few places, so this is an insertion sort; it needs neither exceptions nor the C++ runtime.
  for (std::size_t index = 1; index < count_; ++index) {
    const place moved = places_[index];
    std::size_t target = index;
    for (; target != 0 && places_[target - 1].bytes < moved.bytes; --target) {
      places_[target] = places_[target - 1];
    }
    places_[target] = moved;
  }
  const auto count = [](text& line, const place& counts) -> text& {
    return line.decimal(counts.blocks).append(" blocks, ").decimal(counts.bytes).append(" bytes");
  };
  text_buffer<8192> message;
  message.append("tarn: ").append(kind).append(" \"").escaped(name).append("\" at ").pointer(address);
  count(message.append(": ended with "), total_).append(", in use\n");
  for (std::size_t index = 0; index < count_; ++index) {
    count(message.append("tarn:   "), places_[index]).append(", allocated at ");
    append_site(message, places_[index].site).append(" by thread ").decimal(places_[index].thread).append('\n');
  }
  if (others_.blocks != 0) {
    count(message.append("tarn:   "), others_).append(", allocated elsewhere\n");
  }
  message.write_to(2);
}

}  // namespace tarn::base
