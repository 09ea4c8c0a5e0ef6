// Random numbers for secrets: marks and canaries that an attacker must not guess.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::platform {

/// A number that nobody outside of the process can guess, another one at each call. It reveals no other secret of the
/// process: not AT_RANDOM, from which the C library makes the stack protector's canary and the key of its pointers.
/// One system call that never waits; errno is unchanged.
std::uint64_t random_number() noexcept;

/// What random_number() returns where getrandom(2) is refused, or the kernel has no entropy yet: a keyed hash of the
/// time under AT_RANDOM. Whoever knows the result cannot compute the key.
std::uint64_t random_number_without_getrandom() noexcept;

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a pseudorandom function of `bytes` under a secret key.
std::uint64_t keyed_hash(const std::uint64_t (&key)[2], const void* data, std::size_t bytes) noexcept;

}  // namespace tarn::platform
