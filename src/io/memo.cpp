#include <tarn/io/memo.hpp>

#include "platform/platform.hpp"

namespace tarn::detail {

std::uint64_t memo_now_ms() noexcept { return platform::now_ms(); }

}  // namespace tarn::detail
