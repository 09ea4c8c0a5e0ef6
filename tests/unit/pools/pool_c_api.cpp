// Plays the scenes of pool_c_api.c.
#include "pool_c_api.h"

#include "support/play.hpp"

namespace {

using support::play;

TEST(pool_c_api, gives_blocks) { play(scene_pool_blocks); }
TEST(pool_c_api, reports_errors) { play(scene_pool_errors); }
TEST(pool_c_api, uses_the_upstream) { play(scene_pool_upstream); }
TEST(pool_c_api, gives_blocks_to_many_threads) { play(scene_shared_pool_blocks); }
TEST(pool_c_api, guards_blocks) { play(scene_guarded_pools); }

}  // namespace
