// Scopes of an arena that end in the wrong order: the inner one is gone with the outer.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: arena "request" at {p}: rewind to mark 2, which has ended: marks end newest first;
//@ more none is left of 2 set
#include <optional>
#include <tarn/arena.hpp>

#include "../check.h"

int main() {
  tarn::arena request({.name = "request"});
  note_pointer("p", &request);
  std::optional<tarn::arena_scope> outer(request);
  std::optional<tarn::arena_scope> inner(request);
  outer.reset();
  inner.reset();
}
