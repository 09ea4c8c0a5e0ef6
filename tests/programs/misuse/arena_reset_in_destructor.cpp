// A destructor that the arena runs resets the arena under its own feet.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: arena "request" at {p}: reset() by a destructor that the arena itself is running
#include <tarn/arena.hpp>

#include "../check.h"

struct hasty {
  tarn::arena& owner;
  ~hasty() { owner.reset(); }
};

int main() {
  tarn::arena request({.name = "request"});
  note_pointer("p", &request);
  request.create<hasty>(request);
}
