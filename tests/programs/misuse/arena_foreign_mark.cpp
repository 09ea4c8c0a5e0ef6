// A mark of one arena is given to another.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: arena "request" at {p}: rewind to mark 1 of another arena, at {q}
#include <tarn/arena.hpp>

#include "../check.h"

int main() {
  tarn::arena request({.name = "request"});
  tarn::arena foreign;
  note_pointer("p", &request);
  note_pointer("q", &foreign);
  request.rewind(foreign.mark());
}
