// Plays the scenes of arena_c_api.c.
#include "arena_c_api.h"

#include "support/play.hpp"

namespace {

using support::play;

TEST(arena_c_api, gives_blocks) { play(scene_arena_blocks); }
TEST(arena_c_api, rewinds_to_marks) { play(scene_arena_marks); }
TEST(arena_c_api, reports_errors) { play(scene_arena_errors); }
TEST(arena_c_api, uses_the_upstream) { play(scene_arena_upstream); }

}  // namespace
