// Does what the language promises of operator new and delete, and ends with the number of the first promise that does
// not hold; 0: all do.
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <new>

namespace {

int handler_calls = 0;
void give_up_the_second_time() {
  if (++handler_calls == 2) std::set_new_handler(nullptr);
}

template <class Call>
bool throws_bad_alloc(const Call& call) {
  try {
    call();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

}  // namespace

int main() {
  void* (*volatile make)(std::size_t) = &::operator new;
  void* (*volatile make_array)(std::size_t) = &::operator new[];
  void (*volatile drop)(void*) = &::operator delete;
  void (*volatile drop_array)(void*) = &::operator delete[];
  void (*volatile drop_sized)(void*, std::size_t) = &::operator delete;
  constexpr std::size_t too_many_bytes = ~std::size_t{0} / 2;

  for (int round = 0; round < 100'000; ++round) {  // most of these blocks are not sampled
    void* const block = make(0);
    void* const array = make_array(0);
    if (block == nullptr || array == nullptr || block == array) return 1;
    drop(block);
    drop_array(array);
    drop_sized(make(32), 32);
    drop(nullptr);
    std::free(make(8));  // the C++ library's blocks come from malloc
    drop(std::malloc(8));
  }
  for (auto* const failing : {make, make_array}) {
    handler_calls = 0;
    std::set_new_handler(give_up_the_second_time);
    if (!throws_bad_alloc([&] { drop(failing(too_many_bytes)); })) return 2;
    if (handler_calls != 2) return 3;
  }
  if (::operator new(too_many_bytes, std::nothrow) != nullptr) return 4;
}
