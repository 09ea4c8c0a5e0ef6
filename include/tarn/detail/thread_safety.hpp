// Names for Clang's thread-safety attributes; they expand to nothing for other compilers.
#pragma once

#if defined(__clang__)
#define TARN_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TARN_THREAD_SAFETY(attribute)
#endif

#define TARN_CAPABILITY(name) TARN_THREAD_SAFETY(capability(name))
#define TARN_SCOPED_CAPABILITY TARN_THREAD_SAFETY(scoped_lockable)
#define TARN_ACQUIRE(...) TARN_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define TARN_ACQUIRE_SHARED(...) TARN_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define TARN_RELEASE(...) TARN_THREAD_SAFETY(release_generic_capability(__VA_ARGS__))
#define TARN_EXCLUDES(...) TARN_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define TARN_NO_THREAD_SAFETY_ANALYSIS TARN_THREAD_SAFETY(no_thread_safety_analysis)
