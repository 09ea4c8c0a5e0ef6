// Shows Tarn in twenty lines: objects, containers and a heap for one kind of work.
#include <cstdio>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

#include <tarn/tarn.hpp>

// [example]
struct order : tarn::pooled<order> {  // new and delete from the current heap
  explicit order(long id_) : id(id_) {}
  long id;
  double price = 1.5;
};

void serve(int requests) {
  tarn::heap work_heap({.name = "serve", .initial = 1 << 20, .limit = 64 << 20});
  const tarn::scoped_current_heap use(work_heap);  // allocations of this thread now come from work_heap
  for (int request = 0; request < requests; ++request) {
    {
      std::vector<order*, tarn::allocator<order*>> orders;
      for (long id = 0; id < 100; ++id) {
        orders.push_back(new order(id));
      }
      std::pmr::string reply(&work_heap);  // a heap is a std::pmr::memory_resource
      for (const order* pending : orders) {
        reply += std::to_string(pending->id) + "\n";
      }
    }
    work_heap.release();  // frees the orders, too: no delete is needed
  }
}
// [example]

int main() {
  std::thread worker(serve, 1000);
  serve(1000);
  worker.join();

  order* const handled = new order(7);
  std::thread([handled] { delete handled; }).join();  // any thread may delete
  std::puts("2000 requests served");
}
