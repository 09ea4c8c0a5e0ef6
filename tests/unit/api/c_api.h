/* Scenes of c_api.c, played by c_api.cpp: each returns NULL, or what was not as it should be. */
#ifndef TARN_TESTS_C_API_H
#define TARN_TESTS_C_API_H

#ifdef __cplusplus
extern "C" {
#endif

const char* scene_blocks(void);
const char* scene_zeroed(void);
const char* scene_reallocation(void);
const char* scene_alignment(void);
const char* scene_errors(void);
const char* scene_heaps(void);
const char* scene_limit(void);
const char* scene_current(void);
const char* scene_statistics(void);
/* Run by another thread than the one that made `block` in a heap of its own. */
const char* scene_free_elsewhere(void* block);
void* scene_make(void);

#ifdef __cplusplus
}
#endif

#endif
