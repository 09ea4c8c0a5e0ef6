// An arena at its limit, and nobody catches it: the text has the numbers.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr terminate called after throwing an instance of 'tarn::arena_limit_reached'
//@ stderr   what():  tarn: arena "request": limit reached: 62000 bytes wanted, 4096 of 65536 held
#include <tarn/arena.hpp>

int main() {
  tarn::arena request({.name = "request", .first_chunk = 4096, .limit = 65536});
  static_cast<void>(request.allocate(1000));
  if (request.try_allocate(62000) != nullptr) return 1;
  static_cast<void>(request.allocate(62000));
}
