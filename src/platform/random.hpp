// Random numbers for secrets: marks and canaries that an attacker must not guess.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::platform {

/// Returns a number that no other process can guess, a new one at each call. It reveals no other secret of the process,
/// such as AT_RANDOM, from which the C library makes the stack protector's canary and the key of its pointers. It makes
/// one system call that never waits; errno is unchanged.
std::uint64_t random_number() noexcept;

/// Returns the result of random_number() for a system that refuses getrandom(2) or has no entropy yet: a hash of the
/// time, keyed by AT_RANDOM. The key cannot be computed from the result.
std::uint64_t random_number_without_getrandom() noexcept;

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a pseudorandom function of `bytes` under a secret key.
std::uint64_t keyed_hash(const std::uint64_t (&key)[2], const void* data, std::size_t bytes) noexcept;

}  // namespace tarn::platform
