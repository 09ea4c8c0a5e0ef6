// Replaces operator new: blocks up to 64 bytes begin 16 bytes apart, larger ones are the C library's.
// operator new[] stays the C++ library's, which calls this one.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
alignas(64) char memory[1 << 20];
std::size_t used_bytes = 0;  // used by one thread
bool is_ours(const void* block) {
  const char* const address = static_cast<const char*>(block);
  return address >= memory && address < memory + sizeof memory;
}
}  // namespace

void* operator new(std::size_t bytes) {
  const std::size_t rounded_bytes = (bytes + 15) / 16 * 16;
  void* const block =
      rounded_bytes > 64 || used_bytes + rounded_bytes > sizeof memory ? std::malloc(bytes) : memory + used_bytes;
  if (block == nullptr) throw std::bad_alloc();
  if (is_ours(block)) used_bytes += rounded_bytes;
  return block;
}
void operator delete(void* block) noexcept {
  if (!is_ours(block)) std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
