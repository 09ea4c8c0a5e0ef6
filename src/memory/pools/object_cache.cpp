#include <tarn/object_cache.hpp>

#include "base/fault.hpp"

namespace tarn::detail {

void fault_cache_in_use(const void* cache, std::size_t objects) noexcept { base::fault_cache_in_use(cache, objects); }

}  // namespace tarn::detail
