#include "memory/heap/spaces.hpp"

#include <new>

#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"

namespace tarn::heaps {
namespace {

struct record : pages::space, base::list_links<record> {};

constinit platform::mutex mutex{platform::lock_rank::spaces};
constinit base::list<record> active;
constinit base::list<record> spare;
using hold = platform::locked<platform::mutex>;

template <class Visit>
void for_used(Visit visit) noexcept {
  for (record* entry = active.front(); entry != nullptr; entry = entry->next) visit(*entry);
}

}  // namespace

pages::space* spaces::create(const pages::space_options& options) noexcept {
  const hold guard(mutex);
  record* created = spare.front();
  if (created != nullptr) {
    spare.remove(created);
  } else {
    void* const memory = pages::metadata::allocate(sizeof(record), alignof(record));
    if (memory == nullptr) return nullptr;
    created = static_cast<record*>(memory);
  }
  ::new (created) record{};
  created->configure(options);
  active.push_front(created);
  return created;
}

void spaces::destroy(pages::space* space) noexcept {
  space->release_all(0);
  const hold guard(mutex);
  auto* const entry = static_cast<record*>(space);
  active.remove(entry);
  spare.push_front(entry);
}

void spaces::for_each(void* context, void (*visit)(void* context, pages::space&) noexcept) noexcept {
  const hold guard(mutex);
  visit(context, central());
  for (record* entry = active.front(); entry != nullptr; entry = entry->next) visit(context, *entry);
}

void spaces::lock_all() noexcept {
  mutex.lock_for_fork();
  for_used([](pages::space& space) { space.lock().lock_for_fork(); });
}
void spaces::unlock_all() noexcept {
  for_used([](pages::space& space) { space.lock().unlock_after_fork(); });
  mutex.unlock_after_fork();
}
void spaces::reset_all() noexcept {
  for_used([](pages::space& space) { space.reset_after_fork(); });
  mutex.reset();
}
void spaces::open_all() noexcept {
  for_used([](pages::space& space) { space.lock().reset(); });
  mutex.reset();
}

}  // namespace tarn::heaps
