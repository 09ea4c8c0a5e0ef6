// A server's transient objects: a reply that grows, a request that is dropped at once, large buffers.
#pragma once
#include <array>
#include <cstring>

#include "../work.hpp"

namespace bench {

inline constexpr std::size_t reply_bytes = 64 * 1024;
inline constexpr std::size_t piece_bytes = 256;

/// A piece that is appended; its first word is the piece's mark.
struct piece {
  std::array<std::uint64_t, piece_bytes / 8> numbers{};
};

enum class growth { doubling, step };

/// A reply of 64 KiB, appended in pieces of 256 bytes, all written. The buffer grows by realloc: to twice
/// its size from 256 bytes on (doubling), or for every piece by its 256 bytes (step). Unit: one reply.
template <class Front, growth Growth>
std::uint64_t reply(const share& own_share) {
  Front front;
  piece next;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    char* buffer = nullptr;
    std::size_t capacity = 0;
    for (std::size_t length = 0; length < reply_bytes; length += piece_bytes) {
      if (length == capacity) {
        capacity = Growth == growth::step || capacity == 0 ? capacity + piece_bytes : 2 * capacity;
        buffer = static_cast<char*>(front.reallocate(buffer, capacity));
      }
      next.numbers[0] = i + length;
      std::memcpy(buffer + length, &next, piece_bytes);
      keep(buffer);
    }
    sum += marked(buffer) + marked(buffer + reply_bytes - piece_bytes);
    front.deallocate_c(buffer);
  }
  return sum;
}

/// The same reply appended to a string, which chooses its own growth. Unit: one reply.
template <class Front>
std::uint64_t string_reply(const share& own_share) {
  Front front;
  piece next;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    typename Front::string text = front.make_string();
    for (std::size_t length = 0; length < reply_bytes; length += piece_bytes) {
      next.numbers[0] = i + length;
      text.append(reinterpret_cast<const char*>(&next), piece_bytes);
      const char* written = text.data();
      keep(written);
    }
    std::uint64_t first, last;
    std::memcpy(&first, text.data(), 8);
    std::memcpy(&last, text.data() + reply_bytes - piece_bytes, 8);
    sum += first + last;
  }
  return sum;
}

/// realloc alone: 16 bytes, doubled up to 64 KiB; only the first and the last word are written each time. Unit: one
/// such chain of 13 sizes and its free.
template <class Front>
std::uint64_t growth_chain(const share& own_share) {
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    std::uint64_t* numbers = nullptr;
    for (std::size_t bytes = 16; bytes <= reply_bytes; bytes *= 2) {
      numbers = static_cast<std::uint64_t*>(front.reallocate(numbers, bytes));
      if (bytes == 16) numbers[0] = i;
      numbers[bytes / 8 - 1] = bytes;
      keep(numbers);
    }
    sum += numbers[0] + numbers[1] + numbers[reply_bytes / 16 - 1] + numbers[reply_bytes / 8 - 1];
    front.deallocate_c(numbers);
  }
  return sum;
}

/// A request: 200 blocks of 16 to 1,024 bytes, small ones more often, all read, then all freed: one by one in the
/// order of allocation, or by one release() if the form has it. Unit: one block.
template <class Front>
std::uint64_t request(const share& own_share) {
  constexpr unsigned count = 200;
  Front front;
  std::array<void*, count> blocks;
  std::array<std::size_t, count> sizes;
  random_numbers random(1);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    for (unsigned k = 0; k < count; ++k) {
      sizes[k] = skewed_size(random.next());
      blocks[k] = front.allocate(sizes[k]);
      mark(blocks[k], i + k);
    }
    for (void* block : blocks) sum += marked(block);
    if constexpr (requires { front.release(); }) {
      front.release();
    } else {
      for (unsigned k = 0; k < count; ++k) front.deallocate(blocks[k], sizes[k]);
    }
  }
  return sum;
}

/// A large block, one word written in each of its pages, then freed. Unit: one block.
template <class Front, std::size_t Size>
std::uint64_t large(const share& own_share) {
  constexpr std::size_t page = 4096;
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    auto* bytes = static_cast<char*>(front.allocate(Size));
    for (std::size_t offset = 0; offset < Size; offset += page) mark(bytes + offset, i + offset);
    sum += marked(bytes) + marked(bytes + Size - page);
    front.deallocate(bytes, Size);
  }
  return sum;
}

}  // namespace bench
