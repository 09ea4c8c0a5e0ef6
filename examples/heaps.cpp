// Bounds the memory of one kind of work: a heap with a limit, what it gives back and what it counts.
// docs/guide/heaps.md quotes it.
#include <cstddef>
#include <cstdio>
#include <new>
#include <vector>

#include <tarn/tarn.hpp>

namespace {

bool fits(tarn::heap& imports, std::size_t rows) {
  const tarn::scoped_current_heap use(imports);
  try {
    const std::vector<double, tarn::allocator<double>> column(rows);
    return column.size() == rows;
  } catch (const std::bad_alloc&) {
    return false;  // the limit of the heap: this import fails, and the process goes on
  }
}

}  // namespace

int main() {
  tarn::heap imports({.name = "imports", .limit = 8 << 20});
  const bool has_small_import = fits(imports, 1'000);
  const bool has_large_import = fits(imports, 10'000'000);
  imports.trim();  // gives all free memory of this heap back to the system now
  const tarn::heap_statistics figures = imports.statistics();
  std::printf("%d %d %d\n", has_small_import, has_large_import, figures.peak_footprint_bytes <= 8 << 20);
}
