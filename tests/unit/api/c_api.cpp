// Plays the scenes of c_api.c, and checks that nothing is left.
#include "c_api.h"

#include <tarn/tarn.h>

#include <cerrno>

#include "front_fixture.hpp"
#include "support/child.hpp"
#include "support/play.hpp"

namespace front_tests {
namespace {

using c_api = front_test;

using support::play;

TEST_F(c_api, gives_blocks) { play(scene_blocks); }
TEST_F(c_api, gives_zeroed_blocks) { play(scene_zeroed); }
TEST_F(c_api, resizes_blocks) { play(scene_reallocation); }
TEST_F(c_api, aligns_blocks) { play(scene_alignment); }
TEST_F(c_api, reports_errors) { play(scene_errors); }
TEST_F(c_api, makes_heaps) { play(scene_heaps); }
TEST_F(c_api, keeps_to_a_limit) { play(scene_limit); }
TEST_F(c_api, changes_the_current_heap) { play(scene_current); }
TEST_F(c_api, tells_statistics) { play(scene_statistics); }

TEST_F(c_api, works_in_a_thread_that_ends) {
  std::thread([] {
    for (const auto scene : {scene_blocks, scene_zeroed, scene_reallocation, scene_alignment, scene_errors, scene_heaps,
                             scene_limit, scene_current, scene_statistics}) {
      play(scene);
    }
  }).join();
}

TEST_F(c_api, frees_a_block_of_another_thread) {
  void* block = nullptr;
  worker maker;
  maker.run([&] { block = scene_make(); });
  ASSERT_NE(block, nullptr);
  const char* const wrong = scene_free_elsewhere(block);
  EXPECT_EQ(wrong, nullptr) << wrong;
  tarn::api::trim();
}

TEST_F(c_api, heaps_are_the_same_as_in_cpp) {
  tarn_heap* const c_heap = tarn_heap_create(nullptr);
  auto& cpp_heap = *reinterpret_cast<tarn::heap*>(c_heap);
  void* const block = cpp_heap.allocate(100);
  EXPECT_EQ(tarn_owner_of(block), c_heap);
  EXPECT_EQ(tarn::owner_of(tarn_heap_malloc(c_heap, 10)), &cpp_heap);
  EXPECT_TRUE(cpp_heap.is_valid());
  tarn_heap_destroy(c_heap);
  EXPECT_EQ(reinterpret_cast<tarn::heap*>(tarn_current_heap()), &tarn::current_heap());
  EXPECT_EQ(reinterpret_cast<tarn::heap*>(tarn_process_heap()), &tarn::process_heap());
}

TEST_F(c_api, a_heap_outlives_the_release_of_the_heap_it_was_made_in) {
  tarn_heap* const outer = tarn_heap_create(nullptr);
  tarn_heap* const before = tarn_set_current_heap(outer);
  tarn_heap* const inner = tarn_heap_create(nullptr);
  tarn_set_current_heap(before);
  tarn_heap_release(outer);
  for (int round = 0; round < 1'000; ++round) {
    std::memset(tarn_heap_malloc(outer, sizeof(tarn::heap)), 0xff, sizeof(tarn::heap));
  }
  EXPECT_NE(tarn_heap_malloc(inner, 100), nullptr);
  tarn_heap_destroy(inner);
  tarn_heap_destroy(outer);
}

TEST_F(c_api, says_null_and_enomem_whichever_request_fails) {
  for (std::uint64_t n = 1;; ++n) {
    fake::fail_request(n);
    errno = 0;
    tarn_heap* const heap = tarn_heap_create(nullptr);
    EXPECT_EQ(heap == nullptr, errno == ENOMEM);
    if (heap != nullptr) {
      errno = 0;
      void* const block = tarn_heap_malloc(heap, 500'000);
      EXPECT_EQ(block == nullptr, errno == ENOMEM);
      tarn_free(block);
    }
    tarn_heap_destroy(heap);
    if (fake::refused_requests() < n) break;
  }
}

TEST_F(c_api, refuses_a_pointer_that_is_none_of_ours) {
  static int foreign = 0;
  const auto line = [](const char* entry) {
    return support::fault(
        std::string("tarn: ") + entry + "(" + support::written(&foreign) +
            "): foreign pointer: not a block of this allocator",
        "free a block with the allocator that it came from; memory of the stack or a static object is never freed");
  };
  EXPECT_EQ(support::in_child([] { tarn_free(&foreign); }), line("free"));
  EXPECT_EQ(support::in_child([] { static_cast<void>(tarn_realloc(&foreign, 10)); }), line("realloc"));
  EXPECT_EQ(support::in_child([] { static_cast<void>(tarn_usable_size(&foreign)); }), line("tarn_usable_size"));
}

}  // namespace
}  // namespace front_tests
