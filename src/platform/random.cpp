#include "platform/random.hpp"

#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <ctime>

#include "base/errno_kept.hpp"

namespace tarn::platform {
namespace {

// Four words of state, as in the paper.
struct sip_state {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) noexcept {
    for (; count != 0; --count) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void absorb(std::uint64_t word) noexcept {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t keyed_hash(const std::uint64_t (&key)[2], const void* data, std::size_t bytes) noexcept {
  static_assert(std::endian::native == std::endian::little);
  sip_state state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                  key[1] ^ 0x7465646279746573};
  const char* source = static_cast<const char*>(data);
  std::size_t left = bytes;
  for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, source, sizeof word);
    state.absorb(word);
    source += sizeof word;
  }
  std::uint64_t last = std::uint64_t{bytes} << 56;
  std::memcpy(&last, source, left);  // fewer than 8, so that the length in the top byte stays
  state.absorb(last);
  state.v2 ^= 0xff;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

std::uint64_t random_number_without_getrandom() noexcept {
  static constinit std::atomic<std::uint64_t> calls{0};
  std::uint64_t key[2] = {0x243f6a8885a308d3, 0x13198a2e03707344};
  if (const auto* const seed = reinterpret_cast<const void*>(getauxval(AT_RANDOM))) std::memcpy(key, seed, sizeof key);
  // The numbers of the call and of the process make the results differ. The times and the address of the stack add some
  // entropy.
  const std::uint64_t message[] = {calls.fetch_add(1, std::memory_order_relaxed), static_cast<std::uint64_t>(getpid()),
                                   nanoseconds(CLOCK_MONOTONIC), nanoseconds(CLOCK_REALTIME),
                                   reinterpret_cast<std::uintptr_t>(&key)};
  return keyed_hash(key, message, sizeof message);
}

std::uint64_t random_number() noexcept {
  const base::errno_kept keep;
  std::uint64_t drawn;
  // The system call avoids getrandom(), which is a cancellation point and which old C libraries lack.
  const long drawn_bytes = syscall(SYS_getrandom, &drawn, sizeof drawn, GRND_NONBLOCK);
  return drawn_bytes == static_cast<long>(sizeof drawn) ? drawn : random_number_without_getrandom();
}

}  // namespace tarn::platform
