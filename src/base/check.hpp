// Checks for mistakes in our own code. A mistake of the caller is a fault, not a check: see base/fault.hpp.
#pragma once

#include "base/fault.hpp"

/// States a condition that must hold here whatever the caller did. It is empty in builds without TARN_CHECKS.
#if TARN_CHECKS
#define TARN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::tarn::base::fault_broken_invariant(#condition, __FILE__, __LINE__))
#else
#define TARN_CHECK(condition) static_cast<void>(0)
#endif
