// The n-th call of operator new fails, for every n: a cache may be missing, but no object is lost or half made.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include <tarn/recycle.hpp>
#include <tarn/tokens.hpp>

namespace {

thread_local long fail_at = 0;  // 1: the next call
thread_local long live = 0;
thread_local bool has_failed = false;

void* allocate(std::size_t bytes) noexcept {
  if (fail_at > 0 && --fail_at == 0) {
    has_failed = true;
    return nullptr;
  }
  void* const block = std::malloc(bytes);
  live += block != nullptr ? 1 : 0;
  return block;
}
void deallocate(void* block) noexcept {
  live -= block != nullptr ? 1 : 0;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const block = allocate(bytes)) return block;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* block) noexcept { deallocate(block); }
void operator delete(void* block, std::size_t) noexcept { deallocate(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { deallocate(block); }

namespace {

int scene() {
  int refused = 0;
  for (int round = 0; round < 3; ++round) {
    try {
      auto line = tarn::recycle<std::string>();
      auto text = tarn::recycle<std::string>();
      line->append(100, 'x');
      text->append(*line);
      for (const std::string_view word : tarn::split("some words to be split", ' ')) line->append(word);
      EXPECT_EQ(line->size(), 118u);
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  return refused;
}

TEST(recycle_failing, survives_whichever_call_fails) {
  int hits = 0;
  for (long n = 1;; ++n) {
    bool has_hit = false;
    long left = 0;
    std::thread([&] {
      const long before = live;
      fail_at = n;
      scene();
      fail_at = 0;
      has_hit = has_failed;
      EXPECT_EQ(scene(), 0);
      tarn::recycler<std::string>::clear();
      tarn::recycler<std::vector<std::string_view>>::clear();
      left = live - before;
    }).join();
    // The two caches themselves live until the thread ends.
    EXPECT_LE(left, 2) << n;
    if (!has_hit) break;
    ++hits;
  }
  EXPECT_GT(hits, 6);
}

TEST(recycle_failing, a_warm_thread_does_not_allocate) {
  std::thread([] {
    scene();
    const long before = live;
    fail_at = 1;
    EXPECT_EQ(scene(), 0);
    EXPECT_FALSE(has_failed);
    fail_at = 0;
    EXPECT_EQ(live, before);
  }).join();
}

}  // namespace
