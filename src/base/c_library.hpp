// C libraries differ in how they declare the functions that Tarn defines in their place.
#pragma once

#include <cstdlib>  // says which C library this is

/// Says that a function of the C library throws nothing, as a definition must if the header does: glibc's does, musl's
/// does not.
#ifdef __GLIBC__
#define TARN_LIBC_NOEXCEPT noexcept
#else
#define TARN_LIBC_NOEXCEPT
#endif
