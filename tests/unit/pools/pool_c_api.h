/* Scenes of pool_c_api.c, played by pool_c_api.cpp: each returns NULL, or what was not as it should be. */
#ifndef TARN_TESTS_POOL_C_API_H
#define TARN_TESTS_POOL_C_API_H

#ifdef __cplusplus
extern "C" {
#endif

const char* scene_pool_blocks(void);
const char* scene_pool_errors(void);
const char* scene_pool_upstream(void);
const char* scene_shared_pool_blocks(void);
const char* scene_guarded_pools(void);

#ifdef __cplusplus
}
#endif

#endif
