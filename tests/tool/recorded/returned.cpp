// Grows containers that functions return, and one that a function keeps to itself. The argument is the number of
// rounds.
#include <cstdlib>
#include <vector>

namespace {

using numbers = std::vector<long>;

// Every buffer of the loop is outgrown by the last line, whose buffer the caller frees.
[[gnu::noinline]] numbers returned() {
  numbers values;
  for (long value = 0; value < 4; ++value) values.push_back(value);
  values.push_back(4);  // the last line of returned()
  return values;
}

[[gnu::always_inline]] inline numbers inlined() {
  numbers values;
  for (long value = 0; value < 4; ++value) values.push_back(value);
  values.push_back(4);  // the last line of inlined()
  return values;
}

[[gnu::noinline]] long confined(long round) {
  numbers values;
  for (long value = 0; value < 4; ++value) values.push_back(value);
  values.push_back(round);  // the last line of confined()
  return values.back();
}

[[gnu::noinline]] long caller_of_inlined() { return inlined().back(); }

}  // namespace

int main(int, char** arguments) {
  long sum = 0;
  for (long round = std::atol(arguments[1]); round > 0; --round)
    sum += returned().back() + caller_of_inlined() + confined(round);
  return sum == 0 ? 1 : 0;
}
