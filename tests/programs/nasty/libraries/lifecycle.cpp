// Allocates at every point of a library's life: load, first use in a thread, thread end, unload.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

static std::mutex table_lock;
static std::map<int, std::string> table = [] {
  std::map<int, std::string> result;
  for (int i = 0; i < 200; ++i) result[i] = std::string(static_cast<std::size_t>(i), 't');
  return result;
}();

struct per_thread {
  std::string text = std::string(500, 'p');
  ~per_thread() {
    text = std::string(3000, 'q');
    std::free(std::malloc(60000));
  }
};
static thread_local per_thread thread_buffer;
static void* from_constructor = nullptr;

__attribute__((constructor)) static void begin() { from_constructor = std::malloc(12345); }
__attribute__((destructor)) static void end() {
  std::free(from_constructor);
  std::free(std::calloc(100, 100));
}

extern "C" char* make_text(int length) {
  thread_buffer.text += 'x';
  {
    const std::lock_guard<std::mutex> hold(table_lock);
    table[length] = thread_buffer.text;
  }
  char* result = static_cast<char*>(std::malloc(static_cast<std::size_t>(length) + 1));
  std::memset(result, 'z', static_cast<std::size_t>(length));
  result[length] = 0;
  return result;
}
