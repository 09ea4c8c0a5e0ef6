// thread_local objects that allocate and free in their destructors, made before and after others.
//@ broken-by tls_dead
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "../check.h"

static int destroyed = 0;

struct busy {
  explicit busy(std::size_t size) : text(size, 'b') {}
  ~busy() {
    CHECK(text[0] == 'b');
    for (int i = 0; i < 20; ++i) text += std::string(100, 'c');
    std::vector<std::string> texts(50, text);
    char* p = static_cast<char*>(malloc(text.size() * 100));
    CHECK(p != nullptr && texts[49].size() == text.size());
    p[0] = 1;
    free(p);
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
  }
  std::string text;
};

static thread_local busy first(300);
static thread_local std::list<std::string> list;
static thread_local busy second(70000);

static void work(int seed) {
  second.text[1] = 'x';  // made in the opposite order in every other thread
  if (seed % 2) first.text[1] = 'y';
  for (int i = 0; i < 50; ++i) list.emplace_back(static_cast<std::size_t>(i * 9), 'l');
  first.text[1] = 'z';
}

int main() {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(work, i);
    for (auto& thread : threads) thread.join();
  }
  CHECK(destroyed == 320);
  work(1);  // and those of the main thread, at exit
}
