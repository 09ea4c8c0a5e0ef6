// Uses Tarn beside a header of this project whose path is also one inside Tarn.
#include <base/text.hpp>
#include <tarn/heap.hpp>
#include <tarn/io.hpp>

int main() {
  tarn::heap lane({.name = "embedded"});
  void* const block = lane.allocate(100);
  lane.deallocate(block, 100);
  tarn::io::writer out(tarn::io::file::borrow(1, "standard output"));
  out.line(text_of_this_project());
}
