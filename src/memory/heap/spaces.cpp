#include "memory/heap/spaces.hpp"

#include <new>

#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"

namespace tarn::heaps {
namespace {

struct record : pages::space, base::list_links<record> {};

constinit platform::mutex mutex{platform::lock_rank::spaces};
constinit base::list<record> used;
constinit base::list<record> spare;
using hold = platform::locked<platform::mutex>;

template <class Each>
void for_used(Each each) noexcept {
  for (record* at = used.front(); at != nullptr; at = at->next) {
    each(*at);
  }
}

}  // namespace

pages::space* spaces::create(const pages::space_options& options) noexcept {
  const hold guard(mutex);
  record* made = spare.front();
  if (made != nullptr) {
    spare.remove(made);
  } else {
    void* const memory = pages::metadata::allocate(sizeof(record), alignof(record));
    if (memory == nullptr) {
      return nullptr;
    }
    made = static_cast<record*>(memory);
  }
  ::new (made) record{};
  made->configure(options);
  used.push_front(made);
  return made;
}

void spaces::destroy(pages::space* gone) noexcept {
  gone->release_all(0);
  const hold guard(mutex);
  auto* const ended = static_cast<record*>(gone);
  used.remove(ended);
  spare.push_front(ended);
}

void spaces::for_each(void* with, void (*visit)(void* with, pages::space&) noexcept) noexcept {
  const hold guard(mutex);
  visit(with, central());
  for (record* at = used.front(); at != nullptr; at = at->next) {
    visit(with, *at);
  }
}

void spaces::lock_all() noexcept {
  mutex.lock_for_fork();
  for_used([](pages::space& each) { each.lock().lock_for_fork(); });
}
void spaces::unlock_all() noexcept {
  for_used([](pages::space& each) { each.lock().unlock_after_fork(); });
  mutex.unlock_after_fork();
}
void spaces::reset_all() noexcept {
  for_used([](pages::space& each) { each.reset_after_fork(); });
  mutex.reset();
}

}  // namespace tarn::heaps
