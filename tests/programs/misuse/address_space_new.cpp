// The address space runs out under operator new: bad_alloc, and all is well after the catch.
//@ limit as=300M
//@ broken-by new_returns_null
#include <deque>
#include <new>
#include <string>

#include "../check.h"

int main() {
  for (int round = 0; round < 2; ++round) {
    std::deque<std::string> lines;
    try {
      for (;;) lines.emplace_back(20000, 'l');
    } catch (const std::bad_alloc&) {
    }
    CHECK(lines.size() > 8000);
    for (const std::string& each : lines) CHECK(each.back() == 'l');
  }
}
