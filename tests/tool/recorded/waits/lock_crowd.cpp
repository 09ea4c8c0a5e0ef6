// THREADS threads, which live one after the other, take 2,000 mutexes that are first used at one place. Then they take
// all but the first one again, with another mutex inside. At the end the first thread takes the first one inside that
// other mutex. No order of two locks is reversed.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int locks = 2000;
pthread_mutex_t crowd[locks];
pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

[[gnu::noinline]] void take_each() {
  for (pthread_mutex_t& lock : crowd) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
}
[[gnu::noinline]] void take_each_around_inner() {
  for (int number = 1; number < locks; ++number) {
    pthread_mutex_lock(&crowd[number]);
    pthread_mutex_lock(&inner);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&crowd[number]);
  }
}
[[gnu::noinline]] void take_first_inside() {
  pthread_mutex_lock(&inner);
  pthread_mutex_lock(&crowd[0]);
  pthread_mutex_unlock(&crowd[0]);
  pthread_mutex_unlock(&inner);
}

void* work(void*) {
  take_each();
  take_each_around_inner();
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const int threads = std::atoi(arguments[1]);
  for (pthread_mutex_t& lock : crowd) pthread_mutex_init(&lock, nullptr);
  for (int started = 0; started < threads; ++started) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, nullptr) != 0 || pthread_join(thread, nullptr) != 0) return 3;
  }
  take_first_inside();
  std::puts("done");
}
