// The place of a lock in a declared hierarchy.
#pragma once

namespace tarn {

/// tarn::shared<table> sessions{tarn::rank{10, "sessions"}};
///
/// A thread may take a lock only while each that it holds has a lower level; locks of level 0 stand outside of the
/// hierarchy. In builds with TARN_CHECKS an inversion is a fault, with both call sites; elsewhere a rank costs nothing.
/// The name is for messages and must outlive the lock.
struct rank {
  int level = 0;
  const char* name = "";
};

}  // namespace tarn
