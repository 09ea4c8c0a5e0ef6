// The inline fast path as it is compiled: listing.py reads the object file of this program.
// Each function is one call of the library as a program would make it, for a type of 64 bytes.
#include <cstddef>
#include <tarn/tarn.hpp>

struct pooled_object : tarn::pooled<pooled_object> {
  std::byte bytes[64];
};

struct plain_object {
  std::byte bytes[64];
};

extern "C" {

pooled_object* pooled_new() { return new pooled_object; }
void pooled_delete(pooled_object* p) { delete p; }

plain_object* allocator_allocate() { return tarn::allocator<plain_object>{}.allocate(1); }
void allocator_deallocate(plain_object* p) { tarn::allocator<plain_object>{}.deallocate(p, 1); }

void* heap_allocate(tarn::heap& heap) { return heap.allocate(64); }
void heap_deallocate(tarn::heap& heap, void* p) { heap.deallocate(p, 64); }
}
