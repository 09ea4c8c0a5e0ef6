#include <tarn/object_cache.hpp>

#include "base/fault.hpp"

namespace tarn::detail {

void fault_cache_in_use(std::size_t objects) noexcept { base::fault_cache_in_use(objects); }

}  // namespace tarn::detail
