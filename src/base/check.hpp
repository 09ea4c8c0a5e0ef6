// Checks of our own reasoning. What a caller can get wrong is a fault, not a
// check: see base/fault.hpp.
#pragma once

#include "base/fault.hpp"

/// States what must hold here whatever the caller did. Compiled in where
/// TARN_CHECKS is on, nothing elsewhere.
#if TARN_CHECKS
#define TARN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::tarn::base::fault_broken_invariant(#condition, __FILE__, __LINE__))
#else
#define TARN_CHECK(condition) static_cast<void>(0)
#endif
