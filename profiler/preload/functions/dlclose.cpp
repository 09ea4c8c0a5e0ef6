// Wraps dlclose(), after which other code may be at the addresses of recorded stacks. dlopen() is not wrapped: it looks
// at who calls it.
#include <dlfcn.h>

#include "profiler/preload/entry.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/records/modules.hpp"

TARN_NEXT_FUNCTION(dlclose)

using namespace tarn::preload;

extern "C" [[gnu::visibility("default"), gnu::noinline]] int dlclose(void* library) {
  const int result = next_dlclose()(library);
  if (!records_anything()) return result;
  const hidden_thread hidden;
  look_for_gone_modules();
  return result;
}
