// At the limit operator new throws bad_alloc, nothrow gives null, and the program can go on.
//@ tarn-only
//@ env TARN_LIMIT=32M
#include <new>
#include <string>
#include <vector>

#include "../check.h"

int main() {
  for (int round = 0; round < 5; ++round) {
    std::vector<std::string> lines;
    try {
      while (lines.size() < 20000) lines.emplace_back(3000, 'l');
    } catch (const std::bad_alloc&) {
    }
    CHECK(lines.size() > 5000 && lines.size() < 11000);
    CHECK(::operator new(40000000, std::nothrow) == nullptr);
  }
}
