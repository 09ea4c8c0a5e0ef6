// The flags of open(2) for each way to create a file.
#pragma once

#include <fcntl.h>
#include <tarn/io/file.hpp>

namespace tarn::io {

constexpr int open_flags(if_exists existing) noexcept {
  return O_WRONLY | O_CREAT |
         (existing == if_exists::replace  ? O_TRUNC
          : existing == if_exists::append ? O_APPEND
                                          : O_EXCL);
}

}  // namespace tarn::io
