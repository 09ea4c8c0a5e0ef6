// Says that the compiler or its language is too old, before anything else in a header does.
#pragma once

#if defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12
#error "Tarn needs Clang 16 or GCC 12, or newer: on Debian 12 install clang-16 or g++; the package clang is version 14"
#elif __cplusplus < 202002L
#error "Tarn needs C++20: compile with -std=c++20 or newer"
#endif
