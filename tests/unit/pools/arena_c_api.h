/* Scenes of arena_c_api.c, played by arena_c_api.cpp: each returns NULL, or what was not as it should be. */
#ifndef TARN_TESTS_ARENA_C_API_H
#define TARN_TESTS_ARENA_C_API_H

#ifdef __cplusplus
extern "C" {
#endif

const char* scene_arena_blocks(void);
const char* scene_arena_marks(void);
const char* scene_arena_errors(void);
const char* scene_arena_upstream(void);

#ifdef __cplusplus
}
#endif

#endif
