// Misuse of arenas.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
#include <tarn/arena.hpp>

#include <optional>

#include "../cases.h"

// A mark of one arena is given to another.
//@ stderr tarn: arena "request" at {p}: rewind to mark 1 of another arena, at {q}
//@ stderr tarn: rewind an arena to a mark that its own mark() returned
CASE(arena_foreign_mark) {
  tarn::arena request({.name = "request"});
  tarn::arena foreign;
  note_pointer("p", &request);
  note_pointer("q", &foreign);
  request.rewind(foreign.mark());
}

// An arena at its limit, and nobody catches it: the text has the numbers.
//@ stderr terminate called after throwing an instance of 'tarn::arena_limit_reached'
//@ stderr   what():  tarn: arena "request": limit reached: 62000 bytes requested, 4096 of 65536 in
//@ more chunks; raise arena_options::limit
CASE(arena_limit) {
  tarn::arena request({.name = "request", .first_chunk = 4096, .limit = 65536});
  static_cast<void>(request.allocate(1000));
  if (request.try_allocate(62000) != nullptr) exit(1);
  static_cast<void>(request.allocate(62000));
}

// Scopes of an arena that end in the wrong order: the inner one is gone with the outer.
//@ stderr tarn: arena "request" at {p}: rewind to mark 2, which has ended: marks end newest first;
//@ more none is left of 2 set
//@ stderr tarn: rewind to a mark before any older mark, and before reset() and release()
CASE(arena_marks_out_of_order) {
  tarn::arena request({.name = "request"});
  note_pointer("p", &request);
  std::optional<tarn::arena_scope> outer(request);
  std::optional<tarn::arena_scope> inner(request);
  outer.reset();
  inner.reset();
}

struct hasty {
  tarn::arena& owner;
  ~hasty() { owner.reset(); }
};

// A destructor that the arena runs resets the arena under its own feet.
//@ stderr tarn: arena "request" at {p}: reset() by a destructor that the arena itself is running
//@ stderr tarn: do not reset, release or rewind an arena in the destructor of an object in it
CASE(arena_reset_in_destructor) {
  tarn::arena request({.name = "request"});
  note_pointer("p", &request);
  request.create<hasty>(request);
}
