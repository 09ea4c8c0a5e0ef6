// Hands memory and data between threads in all of Tarn's ways and prints "ok". A check that fails prints the values
// and ends the process with 1. Under ThreadSanitizer this program must print nothing else, although the installed
// library is not compiled for it.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <tarn/io/log.hpp>
#include <tarn/io/memo.hpp>
#include <tarn/lock_free_pool.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/shared.hpp>
#include <tarn/shared_pool.hpp>
#include <tarn/spin_mutex.hpp>
#include <tarn/tarn.hpp>

namespace {

constexpr int threads = 4;
constexpr int rounds = 200;

struct order : tarn::pooled<order> {
  long id = 0;
  char text[40] = {};
};

/// Ends the process with 1 unless the values are equal. Other threads may run, so no destructors do.
void expect_equal(long value, long expected, const char* value_name) {
  if (value != expected) {
    std::fprintf(stderr, "%s is %ld, not %ld\n", value_name, value, expected);
    std::_Exit(1);
  }
}

/// Runs the function in some threads at once.
template <class Function>
void in_threads(Function work) {
  std::vector<std::thread> running;
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&work, number] { work(number); });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
}

/// One thread makes blocks and another frees them: they return to their owner, which writes into them again.
void free_blocks_of_others() {
  std::mutex mutex;
  std::deque<order*> queue;
  in_threads([&](int number) {
    for (int round = 0; round < rounds; ++round) {
      for (int count = 0; count < 50; ++count) {
        auto* const created = new order;
        created->id = round;
        std::memset(created->text, number, sizeof created->text);
        const std::lock_guard guard(mutex);
        queue.push_back(created);
      }
      for (int count = 0; count < 50; ++count) {
        order* oldest = nullptr;
        {
          const std::lock_guard guard(mutex);
          if (queue.empty()) break;
          oldest = queue.front();
          queue.pop_front();
        }
        oldest->id += oldest->text[0];
        delete oldest;
      }
    }
  });
  for (order* const left : queue) {
    delete left;
  }
}

/// Threads that end leave their heaps, and the blocks in them, to later threads.
void leave_heaps_to_later_threads() {
  for (int round = 0; round < 20; ++round) {
    in_threads([](int number) {
      std::vector<int, tarn::allocator<int>> numbers;
      std::vector<std::unique_ptr<order>> orders;
      for (int id = 0; id < 500; ++id) {
        numbers.push_back(number + id);
        orders.push_back(std::make_unique<order>());
        orders.back()->id = id;
      }
      auto recycled = tarn::recycle<std::string>();
      recycled->assign(300, 'x');
    });
  }
}

/// Threads that wait for each other change data under a lock.
void share_under_locks() {
  tarn::shared<std::vector<int>> numbers;
  tarn::spin_mutex spin;
  long sum = 0;
  in_threads([&](int number) {
    for (int round = 0; round < rounds * 20; ++round) {
      numbers.with([&](std::vector<int>& values) {
        values.push_back(number);
        if (values.size() > 1000) values.clear();
      });
      const std::lock_guard guard(spin);
      sum += number;
    }
  });
  expect_equal(sum, static_cast<long>(rounds) * 20 * (threads * (threads - 1) / 2), "the sum under a spin_mutex");
}

/// Readers without a lock run beside a writer that replaces their data.
void replace_what_others_read() {
  tarn::reloadable<std::vector<int>> versions(std::vector<int>(100, 0));
  in_threads([&](int number) {
    for (int round = 1; round <= rounds; ++round) {
      if (number == 0) {
        versions.publish(std::vector<int>(100, round));
      } else {
        const auto now = versions.snapshot();
        expect_equal(now->back(), now->front(), "the last element of a version, all of whose elements are equal");
      }
    }
  });
}

/// Threads use pools together.
void share_pools() {
  struct item {
    long values[6];
  };
  tarn::shared_pool<item> pool;
  tarn::lock_free_pool<item> lock_free;
  std::mutex mutex;
  std::deque<item*> queue;
  in_threads([&](int number) {
    for (int round = 0; round < rounds * 5; ++round) {
      item* const shared_item = pool.create();
      item* const lock_free_item = lock_free.create();
      shared_item->values[0] = lock_free_item->values[5] = number;
      lock_free.destroy(lock_free_item);
      item* oldest = nullptr;
      {
        const std::lock_guard guard(mutex);
        queue.push_back(shared_item);
        if (queue.size() > 10) {
          oldest = queue.front();
          queue.pop_front();
        }
      }
      if (oldest != nullptr) pool.destroy(oldest);
    }
  });
  for (item* const left : queue) {
    pool.destroy(left);
  }
}

/// Threads that need the first block of a pool at the same time make its memory together.
void grow_pools_together() {
  struct item {
    long values[6];
  };
  for (int round = 0; round < rounds; ++round) {
    tarn::lock_free_pool<item> pool;
    std::atomic<int> waiting{threads};
    in_threads([&](int number) {
      --waiting;
      while (waiting != 0) {
      }
      item* const created = pool.create();
      created->values[5] = number;
      pool.destroy(created);
    });
  }
}

/// One thread evicts entries of a cache while others read them.
void share_a_cache() {
  tarn::io::memo<int, std::string> texts(
      [](const int& key) { return std::optional(std::string(100, static_cast<char>('a' + key % 26))); },
      {.entries = 50});
  in_threads([&](int number) {
    for (int round = 0; round < rounds * 5; ++round) {
      const int key = (round * (number + 1)) % 200;
      expect_equal(texts.get(key)->front(), 'a' + key % 26, "the first letter of a cached text");
    }
  });
}

/// One thread makes heap objects and another one uses, ends and reads them.
void hand_heaps_over() {
  for (int round = 0; round < 20; ++round) {
    auto lane = std::make_unique<tarn::heap>(tarn::heap_options{.name = "lane"});
    std::thread([&] {
      const tarn::scoped_current_heap use(*lane);
      for (int id = 0; id < 100; ++id) {
        (new order)->id = id;
      }
      lane->release();
    }).join();
    std::thread([&] {
      std::memset(lane->allocate(1000), 1, 1000);
      lane.reset();
    }).join();
  }
}

/// Threads write into the same parts of a journal one after the other: of a lane's chunk, and of the file, which wraps.
void write_a_journal_around() {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tarn-threads-" + std::to_string(::getpid()) + ".journal");
  {
    tarn::io::journal journal(path, {.bytes = 64 * 1024, .chunk_bytes = 4096, .lanes = 2});
    tarn::io::logger log(journal, "threads");
    in_threads([&](int number) {
      for (int round = 0; round < rounds * 5; ++round) {
        log.info("line {} of thread {}", round, number);
        journal.append("a line that is ready");
      }
    });
  }
  std::filesystem::remove(path);
}

/// A race of the program itself, on a block of Tarn: the sanitizer must still report it.
void race() {
  const auto shared_by_mistake = std::make_unique<order>();
  in_threads([&](int number) { shared_by_mistake->id += number; });
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "race") == 0) race();
  free_blocks_of_others();
  leave_heaps_to_later_threads();
  share_under_locks();
  for (int round = 0; round < 2; ++round) {  // the second round reuses the memory of the first round's threads
    replace_what_others_read();
    share_pools();
    grow_pools_together();
    share_a_cache();
  }
  hand_heaps_over();
  write_a_journal_around();
  std::puts("ok");
}
