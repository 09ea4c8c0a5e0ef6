// Plays the scenes of pool_c_api.c.
#include "pool_c_api.h"

#include "support/play.hpp"

namespace {

using support::play;

TEST(pool_c_api, blocks) { play(scene_pool_blocks); }
TEST(pool_c_api, errors) { play(scene_pool_errors); }
TEST(pool_c_api, upstream) { play(scene_pool_upstream); }
TEST(pool_c_api, shared_blocks) { play(scene_shared_pool_blocks); }
TEST(pool_c_api, guarded) { play(scene_guarded_pools); }

}  // namespace
