// Blocks in use when a heap ends that notes its sites: of every face, with what another thread freed left out.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ stderr tarn: heap "lane" at {q}: ended with 5 blocks, 600464 bytes, in use
//@ stderr tarn:   1 blocks, 600000 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   2 blocks, 288 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   1 blocks, 96 bytes, allocated at {program}+0xADDR by thread {thread}
//@ stderr tarn:   1 blocks, 80 bytes, allocated at {program}+0xADDR by thread {thread}
#include <tarn/tarn.h>

#include <memory_resource>
#include <thread>
#include <vector>

#include <tarn/tarn.hpp>

#include "../guarded.h"

struct order : tarn::pooled<order> {
  char text[90];
};

int main() {
  tarn::heap lane({.name = "lane", .sites = true});
  note_guarded(nullptr);
  note_pointer("q", &lane);
  static_cast<void>(lane.allocate(1000));
  lane.release();  // drops the earlier notes as well
  {
    const tarn::scoped_current use(lane);
    static_cast<void>(hidden(new order));
    delete new order;
    std::pmr::polymorphic_allocator<char> bytes(&lane);
    bytes.deallocate(bytes.allocate(70), 70);
    void* freed = nullptr;
    for (int i = 0; i < 3; ++i) {
      freed = hidden(tarn_malloc(144));
    }
    std::thread([=] { tarn_free(freed); }).join();
    static_cast<void>(hidden(tarn_realloc(tarn_malloc(300), 600000)));
  }
  static_cast<void>(hidden(lane.allocate(80)));
}
