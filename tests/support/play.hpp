// Plays a scene in C (scene.h) as a part of a test.
#pragma once

#include <gtest/gtest.h>

namespace support {

inline void play(const char* (*scene)()) {
  const char* const wrong = scene();
  EXPECT_EQ(wrong, nullptr) << wrong;
}

}  // namespace support
