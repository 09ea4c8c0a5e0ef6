# g++ compiles a template-heavy file: the object files are the same.
#@ needs g++
#@ broken-by realloc_drops
cat >source.cpp <<'END'
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>
template <int N> struct chain { static constexpr int value = chain<N - 1>::value + N; };
template <> struct chain<0> { static constexpr int value = 0; };
template <class... T> auto sum(T... t) { return (t + ...); }
std::map<std::string, std::vector<std::tuple<int, double, std::string>>> table;
int f(int n) {
  for (auto& [key, rows] : table) std::sort(rows.begin(), rows.end());
  return chain<200>::value + sum(n, 1L, 2.0f, 'c');
}
END
g++ -std=c++17 -O1 -g0 -c source.cpp -o out.o && sha256sum <out.o && stat -c %s out.o
g++ -std=c++17 -fsyntax-only -DN=1 -include string -x c++ - <<<'int main() { return std::string(1); }' 2>&1 | grep -c error
