// Tells whether a sanitizer is compiled in, which has its own malloc and makes its own system calls.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TARN_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TARN_HAS_SANITIZER 1
#endif
#endif
#ifndef TARN_HAS_SANITIZER
#define TARN_HAS_SANITIZER 0
#endif
