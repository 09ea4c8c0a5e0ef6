// Uses the public C++ interface as the README shows it: prints "ok" when each part used the heap it names.
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

#include <tarn/tarn.hpp>

namespace {

struct order : tarn::pooled<order> {
  int number = 7;
};

void expect(bool is_true, const char* expectation) {
  if (!is_true) {
    std::fprintf(stderr, "a check failed: %s\n", expectation);
    std::exit(1);
  }
}

}  // namespace

int main() {
  tarn::heap lane({.name = "lane", .counts_calls = true});
  {
    tarn::scoped_current_heap use(lane);
    const order* const pooled_order = new order;
    expect(tarn::owner_of(pooled_order) == &lane, "a pooled object is in the current heap");

    std::vector<int, tarn::allocator<int>> rows(1000, 1);
    expect(tarn::owner_of(rows.data()) == &lane, "a vector's block is in the current heap");

    std::pmr::string reply(&tarn::current_heap());
    reply.assign(500, 'x');
    expect(tarn::owner_of(reply.data()) == &lane, "a pmr string's block is in the current heap");

    // Any thread may free.
    std::thread([pooled_order] { delete pooled_order; }).join();
  }
  expect(lane.is_valid(), "the heap is valid");
  expect(lane.statistics().allocated_blocks == 3, "the heap counted its three blocks");
  std::puts("ok");
}
