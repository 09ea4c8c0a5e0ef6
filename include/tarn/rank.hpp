// The level of a lock in a declared hierarchy.
#pragma once

namespace tarn {

/// tarn::shared<table> sessions{tarn::rank{10, "sessions"}};
///
/// A thread may take a lock only while each lock that it holds has a lower level; locks of level 0 are outside of the
/// hierarchy. In builds with TARN_CHECKS an inversion is a fault that names both call sites; in other builds a rank
/// costs nothing. The name is for messages and must outlive the lock.
struct rank {
  /// Position in the order of locks; 0: outside of it.
  int level = 0;
  /// Name of the lock in messages.
  const char* name = "";
};

}  // namespace tarn
