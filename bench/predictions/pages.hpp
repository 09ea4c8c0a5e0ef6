// A server's pages: a string that grows by appends. Remedy: reserve.
#pragma once
#include <string>

#include "predictions/work.hpp"

namespace predictions::pages {

// Both forms share this code: GCC would no longer inline the appends if the reserve were a constant here.
[[gnu::noinline]] inline std::string make_page(numbers& random, std::size_t reserved) {
  std::string page;
  page.reserve(reserved);
  page += "<html><body><table>\n";
  for (std::uint32_t rows = 20 + random.next_below(20); rows > 0; --rows) {
    page += "<tr><td class=\"name\">customer ";
    page += static_cast<char>('a' + random.next_below(26));
    page += "</td><td class=\"value\">";
    for (std::uint32_t digits = 3; digits > 0; --digits) page += static_cast<char>('0' + random.next_below(10));
    page += "</td></tr>\n";
  }
  page += "</table></body></html>\n";
  return page;
}

template <bool Reserved>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 10; ++round) {
    const std::string page = make_page(random, Reserved ? 4096 : 0);
    sum = sum * 31 + page.size() + static_cast<unsigned char>(page[page.size() / 2]);
  }
  return sum;
}

}  // namespace predictions::pages
