// The switches on which the headers and the library must agree, and the check that they do.
//
// A program gets the switches from the package that it links: the CMake targets and the .pc files of the flavour
// `checks` define TARN_CHECKS as 1. Without a definition the headers are those of the release flavour.
#pragma once

#include <tarn/detail/language.hpp>

/// 1: misuse that is hard to find is a named fault (docs/guide/checks.md).
#ifndef TARN_CHECKS
#define TARN_CHECKS 0
#endif
/// 1: constants are small, so that rare paths become common. For Tarn's own tests.
#ifndef TARN_SMALL
#define TARN_SMALL 0
#endif
/// 1: the library was built for AddressSanitizer, and free blocks are poisoned.
#ifndef TARN_ADDRESS_SANITIZER
#define TARN_ADDRESS_SANITIZER 0
#endif

// Names each combination of the switches. The library defines the name of its own combination, and each file that
// includes a header refers to the name of its combination. Where the two differ, the linker, or dlopen, reports the
// undefined name, which is a sentence.
#define TARN_DETAIL_ABI_TAG(checks, small, asan) \
  tarn_headers_with_TARN_CHECKS_##checks##_TARN_SMALL_##small##_TARN_ADDRESS_SANITIZER_##asan##_need_a_matching_libtarn
#define TARN_DETAIL_EXPAND_ABI_TAG(checks, small, asan) TARN_DETAIL_ABI_TAG(checks, small, asan)
#define TARN_ABI_TAG TARN_DETAIL_EXPAND_ABI_TAG(TARN_CHECKS, TARN_SMALL, TARN_ADDRESS_SANITIZER)

extern "C" const char TARN_ABI_TAG;

namespace tarn::detail {

/// Keeps the reference, also with --gc-sections. Costs a program 8 bytes and no instruction.
[[gnu::used, gnu::retain, gnu::visibility("hidden")]] inline const char* const abi_tag = &TARN_ABI_TAG;

}  // namespace tarn::detail
