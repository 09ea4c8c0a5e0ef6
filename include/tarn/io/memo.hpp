// A cache in front of an expensive function. However many threads ask for a key at once, the function runs once, and
// its result is remembered.
#pragma once

#include <tarn/detail/config.hpp>
#include <tarn/detail/exceptions.hpp>
#include <tarn/detail/memo_parts.hpp>
#include <tarn/detail/versions.hpp>
#include <tarn/spin_mutex.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tarn::io {

/// Options of a memo.
struct memo_options {
  /// The most answers to remember; the least used ones are evicted (clock algorithm). They are divided among the
  /// shards.
  std::size_t entries = 64 * 1024;
  /// The most bytes to remember: entries themselves, and what `weigh` adds. 0: only `entries` limits.
  std::size_t bytes = 0;
  /// The time that an answer is valid, in milliseconds of a coarse clock. 0: forever.
  std::uint64_t ttl_ms = 0;
  /// The time that "there is none" is valid, in milliseconds. 0: the same as ttl_ms.
  std::uint64_t negative_ttl_ms = 0;
  /// In the last milliseconds of an answer's validity, one thread that asks for it loads it anew, once, and the others
  /// get the old answer meanwhile. If that load fails, its caller gets the old answer, too. So a popular answer never
  /// expires. 0: off.
  std::uint64_t refresh_ms = 0;
  /// The time between two looks at the file that an answer follows, in milliseconds. A look is a call of stat(2).
  std::uint64_t check_ms = 100;
  /// The number of shards, a power of two; less if there are fewer entries. Writers of different shards do not contend.
  std::size_t shards = 16;
  /// Replaces the clock, for tests.
  std::uint64_t (*now_ms)() noexcept = tarn::detail::memo_now_ms;
};

/// Counts of what a memo did since its construction.
struct memo_statistics {
  std::uint64_t hits = 0;           ///< calls answered from memory, including negative answers
  std::uint64_t negative_hits = 0;  ///< the part of hits that said "there is none"
  std::uint64_t loads = 0;          ///< calls of the loader
  std::uint64_t failures = 0;       ///< the part of loads that threw
  std::uint64_t shared_loads = 0;   ///< calls that waited for another thread's load
  std::uint64_t evictions = 0;      ///< answers that were evicted
  std::uint64_t expirations = 0;    ///< answers that were too old
  std::uint64_t refreshes = 0;      ///< the part of loads that replaced an answer before it was too old
  std::uint64_t file_changes = 0;   ///< answers whose file had changed, or may have changed
  /// answers that are remembered now
  std::size_t entries = 0;
  /// bytes of these, as `memo_options::bytes` counts them
  std::size_t bytes = 0;
};

/// Remembers answers by key. Threads: any number; construction and destruction belong to one thread. Errors: get()
/// throws what the loader throws; functions that store an answer throw std::bad_alloc. Cost: a hit takes no lock and
/// writes nothing that another thread reads; it takes a hash, a look-up and a copy of the value, so make a large Value
/// a std::shared_ptr<const …>. A miss, put() and forget() lock one shard, never while the loader runs. The child of a
/// fork may use the memo: it loads anew the keys that other threads of the parent were loading.
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class memo : tarn::detail::memo_in_child {
 public:
  /// Finds the answer to a key. An empty optional is an answer, too, and is remembered. When it throws, every waiting
  /// thread gets the exception, and nothing is remembered. It may use the memo for any key except its own and those
  /// whose loaders wait for it: these throw std::logic_error, because the wait would not end.
  using loader = std::function<std::optional<Value>(const Key&)>;
  /// Returns the bytes that a key and an answer hold in addition to their own sizeof.
  using weigher = std::function<std::size_t(const Key&, const std::optional<Value>&)>;

  /// Returns the time that this answer is valid, in milliseconds; 0: forever. It replaces ttl_ms and
  /// negative_ttl_ms.
  using lifetime = std::function<std::uint64_t(const Key&, const std::optional<Value>&)>;

  /// Returns the path of the file that the answer to this key is made from; empty: none. When the file is changed,
  /// replaced, created or removed, the answer is loaded anew, `memo_options::check_ms` later at most.
  using followed_file = std::function<std::string(const Key&)>;

  /// Remembers answers of `load`. `weigh` is for a limit in bytes; without it an entry counts as its own size.
  /// Allocates the table for all entries.
  explicit memo(loader load, memo_options options = {}, weigher weigh = {}, lifetime lives = {},
                followed_file follows = {})
      : memo_in_child([](memo_in_child& self) noexcept { static_cast<memo&>(self).forget_other_threads(); }),
        load_(std::move(load)),
        weigh_(std::move(weigh)),
        lives_(std::move(lives)),
        follows_(std::move(follows)),
        options_(options),
        shards_(std::min(std::bit_ceil(std::clamp<std::size_t>(options.shards, 1, 1024)),
                         std::bit_floor(std::max<std::size_t>(options.entries, 1)))) {
    const std::size_t entries_each = options.entries / shards_.size(), left_over = options.entries % shards_.size();
    const std::size_t buckets_each = std::bit_ceil(entries_each + (left_over != 0 ? 1 : 0));
    table_.buckets = std::vector<std::atomic<node*>>(buckets_each * shards_.size());
    table_.mask = table_.buckets.size() - 1;
    shift_ = static_cast<unsigned>(std::countr_zero(buckets_each));
    for (std::size_t number = 0; number < shards_.size(); ++number) {
      const std::size_t limit = std::max<std::size_t>(1, entries_each + (number < left_over ? 1 : 0));
      shards_[number].start(table_, limit, options.bytes / shards_.size());
    }
    enrol();
  }
  /// No thread may use the memo any more when it is destroyed.
  ~memo() { leave(); }

  /// Returns the answer, from memory or by asking. Throws what the loader throws.
  std::optional<Value> get(const Key& key) {
    const std::uint64_t hash = hash_of(key);
    if (tarn::detail::reader_slots* const thread_slots = tarn::detail::idle_slots()) [[likely]] {
      const tarn::detail::read_section reading(*thread_slots, generations_.current());
      node* const entry = reading.is_pinned() ? table_.find(hash, key) : nullptr;
      if (entry != nullptr && !is_due(*entry)) [[likely]] {
        count_hit(thread_slots->index, *entry);
        return entry->value;
      }
    }
    return get_slowly(hash, key);
  }

  /// Returns the answer if it is remembered; the outer optional is empty if not. Asks nothing and counts nothing.
  std::optional<std::optional<Value>> peek(const Key& key) {
    const std::uint64_t hash = hash_of(key);
    const tarn::detail::read_section reading(generations_.current());
    node* const entry = table_.find(hash, key);
    if (entry == nullptr || is_old(*entry)) return std::nullopt;
    return std::optional<std::optional<Value>>(std::in_place, entry->value);
  }

  /// Remembers an answer that did not come from the loader. If a load of this key is running, its answer goes to the
  /// threads that wait for it, and is not remembered.
  void put(const Key& key, std::optional<Value> answer) {
    const std::uint64_t hash = hash_of(key);
    remember(shard_of(hash), make_node(hash, key, std::move(answer)));
  }
  /// Does the same for an answer that is valid for `ttl_ms` milliseconds; 0: forever.
  void put(const Key& key, std::optional<Value> answer, std::uint64_t ttl_ms) {
    const std::uint64_t hash = hash_of(key);
    auto entry = make_node(hash, key, std::move(answer));
    set_lifetime(*entry, ttl_ms);
    remember(shard_of(hash), std::move(entry));
  }

  /// Forgets an answer, and returns whether there was one. If a load of this key is running, its answer goes to the
  /// threads that wait for it already, and is not remembered; a get() after this call loads anew. So a program that
  /// changes the source and then calls forget() never gets the old answer again.
  bool forget(const Key& key) {
    const std::uint64_t hash = hash_of(key);
    shard& part = shard_of(hash);
    std::unique_lock lock(part.mutex);
    part.supersede_load(key);
    node* const entry = table_.find(hash, key);
    if (entry != nullptr) part.remove(*entry);
    free_unread(part, lock);
    return entry != nullptr;
  }

  /// Forgets all answers, and those that are being loaded, as forget() does.
  void clear() {
    for (shard& part : shards_) {
      std::unique_lock lock(part.mutex);
      part.flights.clear();
      while (!part.clock.empty()) part.remove(*part.clock.back());
      free_unread(part, lock);
    }
  }

  /// Returns the counts. Any thread may call it; it takes the lock of each shard in turn.
  memo_statistics statistics() const {
    memo_statistics sum;
    for (const stripe& counted_stripe : hits_) {
      sum.hits += counted_stripe.hits.load(std::memory_order_relaxed);
      sum.negative_hits += counted_stripe.negative_hits.load(std::memory_order_relaxed);
    }
    for (const shard& part : shards_) {
      const std::lock_guard lock(part.mutex);
      sum.loads += part.counts.loads;
      sum.failures += part.counts.failures;
      sum.shared_loads += part.counts.shared_loads;
      sum.evictions += part.counts.evictions;
      sum.expirations += part.counts.expirations;
      sum.refreshes += part.counts.refreshes;
      sum.file_changes += part.counts.file_changes;
      sum.entries += part.clock.size();
      sum.bytes += part.bytes;
    }
    return sum;
  }

 private:
  struct followed {
    std::string path;
    tarn::detail::file_stamp stamp;  // taken before the load
    bool is_settled;
  };

  struct node {
    // The fields that a hit reads stand together.
    std::atomic<node*> next{nullptr};
    std::uint64_t hash;
    Key key;
    std::optional<Value> value;
    std::atomic<std::uint64_t> due_ms{0};  // from this time on a hit checks the lifetime and the file; 0: never
    std::atomic<bool> was_hit{false};      // set by a hit since the clock's hand passed
    std::size_t clock_index = 0;           // index in the clock
    std::size_t bytes;
    std::uint64_t good_until_ms = 0;            // 0: forever
    std::atomic<bool> is_being_checked{false};  // a thread refreshes it, or checks its file
    std::atomic<bool> is_outdated{false};       // its file has changed
    std::unique_ptr<const followed> source;     // null: it follows no file

    node(std::uint64_t hash_, const Key& key_, std::optional<Value> value_)
        : hash(hash_), key(key_), value(std::move(value_)) {}
  };

  // A period in the memo's life. Readers pin the one in which they begin, and nodes that are unlinked in it end with
  // it.
  struct generation : tarn::detail::version_base {
    generation() noexcept {
      number = 1;
      destroy = [](version_base* old_version) noexcept { delete static_cast<generation*>(old_version); };
    }
    ~generation() {
      for (node* entry : retired_entries) delete entry;
    }
    static void give(version_base& next, version_base& previous) noexcept {
      static_cast<generation&>(previous).retired_entries.swap(static_cast<generation&>(next).retired_entries);
    }
    std::vector<node*> retired_entries;
  };

  // A load that is running. Its answer is remembered if the shard's list still has the flight at its end.
  struct flight : tarn::detail::memo_load {
    explicit flight(const Key& requested_key) : key(requested_key) {}

    const Key& key;  // belongs to the asking thread, as long as this is in the shard's list
    std::optional<std::optional<Value>> answer;
    std::exception_ptr failure;
  };

  // All entries by their hash. The table has a fixed size, because the number of entries is bounded.
  struct table {
    std::vector<std::atomic<node*>> buckets;
    std::size_t mask = 0;

    std::atomic<node*>& bucket(std::uint64_t hash) noexcept { return buckets.data()[hash & mask]; }

    node* find(std::uint64_t hash, const Key& key) noexcept {
      // acquire: the node's content is visible.
      node* entry = bucket(hash).load(std::memory_order_acquire);
      while (entry != nullptr && !(entry->hash == hash && Equal()(entry->key, key)))
        entry = entry->next.load(std::memory_order_acquire);
      return entry;
    }
  };

  // A shard's mutex protects its part of the buckets, which are adjacent.
  struct alignas(128) shard {
    mutable spin_mutex mutex;
    table* owner = nullptr;
    std::vector<node*> clock;  // all entries; the hand goes around
    std::size_t hand = 0, limit = 0, max_bytes = 0, bytes = 0;
    std::vector<node*> unlinked;
    std::vector<std::shared_ptr<flight>> flights;
    memo_statistics counts;

    void start(table& of_all, std::size_t entries, std::size_t bytes_) {
      owner = &of_all, limit = entries, max_bytes = bytes_;
    }
    ~shard() {
      for (node* entry : clock) delete entry;
      for (node* entry : unlinked) delete entry;
    }

    void remove(node& entry) {
      unlinked.reserve(unlinked.size() + 1);
      std::atomic<node*>* link = &owner->bucket(entry.hash);
      while (link->load(std::memory_order_relaxed) != &entry) link = &link->load(std::memory_order_relaxed)->next;
      // The node keeps its own link, so that a reader on it can continue. release: the content of the next node goes
      // with its address. A reader that pins the generation after this one sees the store, because the exchange of the
      // generations comes after it.
      link->store(entry.next.load(std::memory_order_relaxed), std::memory_order_release);
      clock[entry.clock_index] = clock.back();
      clock[entry.clock_index]->clock_index = entry.clock_index;
      clock.pop_back();
      bytes -= entry.bytes;
      unlinked.push_back(&entry);
    }

    // Removes the running load of this key, so that no caller joins it, and its answer, which may be older than what
    // the caller knows, is not stored.
    void supersede_load(const Key& key) noexcept {
      std::erase_if(flights, [&](const std::shared_ptr<flight>& running) { return Equal()(running->key, key); });
    }

    // Moves the hand to the first entry that was not used since the hand passed.
    void evict() {
      for (;; ++hand) {
        if (hand >= clock.size()) hand = 0;
        if (!clock[hand]->was_hit.exchange(false, std::memory_order_relaxed)) break;
      }
      remove(*clock[hand]);
      ++counts.evictions;
    }
  };

  // Counters by thread index, modulo the number of stripes. The last one is shared by all other threads.
  struct alignas(64) stripe {
    std::atomic<std::uint64_t> hits{0}, negative_hits{0};
  };
  static constexpr std::size_t stripes = 64;
#if TARN_SMALL
  static constexpr std::size_t unlinked_at_once = 2;
#else
  static constexpr std::size_t unlinked_at_once = 32;  // a barrier in all threads costs microseconds
#endif

  std::uint64_t hash_of(const Key& key) const {
    // std::hash of a number is the number itself; this spreads its bits.
    __extension__ using wide = unsigned __int128;
    const wide product =
        static_cast<wide>(static_cast<std::uint64_t>(Hash()(key)) ^ 0x2545f4914f6cdd1du) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }
  shard& shard_of(std::uint64_t hash) noexcept { return shards_[(hash & table_.mask) >> shift_]; }

  bool is_due(const node& entry) const noexcept {
    const std::uint64_t due_ms = entry.due_ms.load(std::memory_order_relaxed);
    return due_ms != 0 && options_.now_ms() >= due_ms;
  }
  bool is_old(const node& entry) const noexcept {
    return (entry.good_until_ms != 0 && options_.now_ms() >= entry.good_until_ms) ||
           entry.is_outdated.load(std::memory_order_relaxed);
  }

  // Returns a later time. One beyond the clock's range is its last one.
  static std::uint64_t after(std::uint64_t now_ms, std::uint64_t ms) noexcept {
    return now_ms + std::min(ms, std::numeric_limits<std::uint64_t>::max() - now_ms);
  }

  // Checks an entry that is due and not old. The caller is in a read section, so that the entry stays. Returns true if
  // the caller must refresh it.
  bool needs_refresh(node& entry) const noexcept {
    if (!is_due(entry) || entry.is_being_checked.exchange(true, std::memory_order_relaxed)) return false;
    if (entry.source != nullptr) {
      if (!entry.source->is_settled || tarn::detail::stamp_of(entry.source->path.c_str()) != entry.source->stamp) {
        entry.is_outdated.store(true, std::memory_order_relaxed);
        return false;
      }
    }
    const std::uint64_t now_ms = options_.now_ms();
    if (entry.good_until_ms != 0 && after(now_ms, options_.refresh_ms) >= entry.good_until_ms) {
      return true;  // it stays marked: one attempt is enough
    }
    set_due(entry, now_ms);
    entry.is_being_checked.store(false, std::memory_order_relaxed);
    return false;
  }

  // Sets the time of the next check: of the file, for a refresh, or at the end of the lifetime.
  void set_due(node& entry, std::uint64_t now_ms) const noexcept {
    std::uint64_t due_ms = 0;
    if (entry.good_until_ms != 0) {
      due_ms = entry.good_until_ms > options_.refresh_ms ? entry.good_until_ms - options_.refresh_ms : 1;
    }
    if (entry.source != nullptr && (due_ms == 0 || after(now_ms, options_.check_ms) < due_ms)) {
      due_ms = after(now_ms, std::max<std::uint64_t>(options_.check_ms, 1));
    }
    entry.due_ms.store(due_ms, std::memory_order_relaxed);
  }

  void count_hit(std::uint32_t index, node& hit) noexcept {
    // Written once per turn of the clock, so that hits do not contend for the cache line.
    if (!hit.was_hit.load(std::memory_order_relaxed)) hit.was_hit.store(true, std::memory_order_relaxed);
    if (index >= stripes - 1 || !hit.value) [[unlikely]]
      return count_rare_hit(index, hit.value);
    std::atomic<std::uint64_t>& hits = hits_[index].hits;  // only this thread writes it
    hits.store(hits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  [[gnu::noinline]] void count_rare_hit(std::uint32_t index, const std::optional<Value>& answer) noexcept {
    stripe& counters = hits_[std::min<std::size_t>(index, stripes - 1)];
    counters.hits.fetch_add(1, std::memory_order_relaxed);
    if (!answer) counters.negative_hits.fetch_add(1, std::memory_order_relaxed);
  }

  // The slow path of get(): a miss, an entry that is due, and threads without an idle slot or without membarrier.
  [[gnu::noinline]] std::optional<Value> get_slowly(std::uint64_t hash, const Key& key) {
    std::optional<std::optional<Value>> old_answer;
    {
      const tarn::detail::read_section reading(generations_.current());
      if (node* const entry = table_.find(hash, key); entry != nullptr && !is_old(*entry)) {
        const bool is_refreshed = needs_refresh(*entry);
        if (!is_old(*entry)) {
          count_hit(tarn::detail::own_slots->index, *entry);
          if (!is_refreshed) return entry->value;
          old_answer.emplace(entry->value);
        }
      }
    }
    return old_answer ? refresh(shard_of(hash), hash, key, std::move(*old_answer)) : ask(shard_of(hash), hash, key);
  }

  void set_lifetime(node& entry, std::uint64_t ttl_ms) const noexcept {
    const std::uint64_t now_ms = options_.now_ms();
    entry.good_until_ms = ttl_ms == 0 ? 0 : after(now_ms, ttl_ms);
    set_due(entry, now_ms);
  }

  std::unique_ptr<const followed> source_of(const Key& key) const {
    std::string path = follows_ ? follows_(key) : std::string();
    if (path.empty()) return nullptr;
    const tarn::detail::file_stamp stamp = tarn::detail::stamp_of(path.c_str());
    return std::make_unique<const followed>(followed{std::move(path), stamp, tarn::detail::is_settled(stamp)});
  }

  std::unique_ptr<node> make_node(std::uint64_t hash, const Key& key, std::optional<Value> answer,
                                  std::unique_ptr<const followed> source = nullptr) const {
    auto entry = std::make_unique<node>(hash, key, std::move(answer));
    entry->source = std::move(source);
    const std::uint64_t live =
        entry->value || options_.negative_ttl_ms == 0 ? options_.ttl_ms : options_.negative_ttl_ms;
    set_lifetime(*entry, lives_ ? lives_(entry->key, entry->value) : live);
    entry->bytes = sizeof(node) + (weigh_ ? weigh_(entry->key, entry->value) : 0);
    return entry;
  }

  void remember(shard& part, std::unique_ptr<node> entry) {
    std::unique_lock lock(part.mutex);
    part.supersede_load(entry->key);
    remember(part, std::move(entry), lock);
  }

  void remember(shard& part, std::unique_ptr<node> entry, std::unique_lock<spin_mutex>& lock) {
    if (node* const old = table_.find(entry->hash, entry->key)) part.remove(*old);
    // Unlinked nodes that cannot be freed count like answers, so that the memory stays bounded.
    const bool is_full = part.unlinked.size() >= part.limit + 4 * unlinked_at_once;
    if (!is_full && (part.max_bytes == 0 || entry->bytes <= part.max_bytes)) {
      while (part.clock.size() >= part.limit || (part.max_bytes != 0 && part.bytes + entry->bytes > part.max_bytes))
        part.evict();
      part.clock.push_back(entry.get());
      entry->clock_index = part.clock.size() - 1;
      part.bytes += entry->bytes;
      std::atomic<node*>& bucket = table_.bucket(entry->hash);
      entry->next.store(bucket.load(std::memory_order_relaxed), std::memory_order_relaxed);
      bucket.store(entry.release(), std::memory_order_release);
    }
    free_unread(part, lock);
  }

  // Frees the nodes that no reader can reach. Destructors of keys and values run without the lock.
  void free_unread(shard& part, std::unique_lock<spin_mutex>& lock) {
    if (part.unlinked.size() < unlinked_at_once) return;
    std::unique_ptr<generation> next(new (std::nothrow) generation);
    if (next == nullptr) return;  // the nodes are freed by a later call
    next->retired_entries.swap(part.unlinked);
    lock.unlock();
    const bool is_over = generations_.publish(next.get()) == tarn::detail::versions::outcome::published;
    lock.lock();
    if (is_over) {
      static_cast<void>(next.release());
    } else {  // a reader keeps too many generations, or the kernel refuses the barrier that would show it
      part.unlinked.swap(next->retired_entries);
      part.unlinked.insert(part.unlinked.end(), next->retired_entries.begin(), next->retired_entries.end());
      next->retired_entries.clear();
    }
  }

  std::optional<Value> ask(shard& part, std::uint64_t hash, const Key& key) {
    std::unique_lock lock(part.mutex);
    if (node* const entry = table_.find(hash, key)) {
      if (!is_old(*entry)) {                                               // another thread was faster
        const tarn::detail::read_section reading(generations_.current());  // the entry stays without the lock
        lock.unlock();
        std::optional<Value> answer = entry->value;
        count_rare_hit(stripes, answer);
        return answer;
      }
      ++(entry->is_outdated.load(std::memory_order_relaxed) ? part.counts.file_changes : part.counts.expirations);
      part.remove(*entry);
    }
    for (const std::shared_ptr<flight>& running : part.flights) {
      if (Equal()(running->key, key)) {
        const std::shared_ptr<flight> earlier = running;
        ++part.counts.shared_loads;
        lock.unlock();
        return wait_for(*earlier);
      }
    }
    return load(part, lock, hash, key);
  }

  // Loads an answer anew that is still valid, unless a thread already does.
  std::optional<Value> refresh(shard& part, std::uint64_t hash, const Key& key, std::optional<Value> old_answer) {
    std::unique_lock lock(part.mutex);
    for (const std::shared_ptr<flight>& running : part.flights) {
      if (Equal()(running->key, key)) return old_answer;
    }
    ++part.counts.refreshes;
    std::optional<std::optional<Value>> answer;
    tarn::detail::call_or([&] { answer.emplace(load(part, lock, hash, key)); }, [] {});  // a failure is counted
    return answer ? *answer : old_answer;
  }

  // Calls the loader. The caller holds the lock, and has found neither an answer nor a running load.
  std::optional<Value> load(shard& part, std::unique_lock<spin_mutex>& lock, std::uint64_t hash, const Key& key) {
    const auto own_flight = std::make_shared<flight>(key);
    part.flights.push_back(own_flight);
    ++part.counts.loads;
    lock.unlock();

    std::unique_ptr<node> new_entry;
    tarn::detail::call_or(
        [&] {
          auto source = source_of(key);  // before the load, so that a change during the load is seen
          own_flight->answer.emplace(load_(key));
          new_entry = make_node(hash, key, *own_flight->answer, std::move(source));
        },
        [&] { own_flight->failure = std::current_exception(); });
    lock.lock();
    const bool is_newest = std::erase(part.flights, own_flight) != 0;
    if (new_entry == nullptr) {
      ++part.counts.failures;
    } else if (is_newest) {
      remember(part, std::move(new_entry), lock);
    }
    lock.unlock();
    own_flight->finish();
    if (own_flight->failure) std::rethrow_exception(own_flight->failure);
    return *own_flight->answer;
  }

  static std::optional<Value> wait_for(flight& running) {
    running.wait();
    if (running.failure) std::rethrow_exception(running.failure);
    return *running.answer;
  }

  // A shard whose mutex another thread held at the fork may be in the middle of a change. The child cannot tell, so it
  // replaces the shard by an empty one without reading it. The old answers and their memory are lost.
  void forget_other_threads() noexcept {
    for (std::size_t number = 0; number < shards_.size(); ++number) {
      shard& part = shards_[number];
      if (part.mutex.try_lock()) {
        std::erase_if(part.flights, [](const auto& running) { return !running->is_asked_by_caller(); });
        part.mutex.unlock();
        continue;
      }
      for (std::size_t bucket = number << shift_; bucket < (number + 1) << shift_; ++bucket) {
        table_.buckets[bucket].store(nullptr, std::memory_order_relaxed);
      }
      const std::size_t limit = part.limit, max_bytes = part.max_bytes;
      const memo_statistics counts = part.counts;
      std::construct_at(&part)->start(table_, limit, max_bytes);
      part.counts = counts;
    }
  }

  table table_;
  loader load_;
  weigher weigh_;
  lifetime lives_;
  followed_file follows_;
  memo_options options_;
  std::vector<shard> shards_;
  unsigned shift_ = 0;  // the shift from a bucket to its shard
  std::array<stripe, stripes> hits_{};
  // It is the last member, so that a reader at destruction is named before a node is freed.
  tarn::detail::versions generations_{"memo", nullptr, 16, new generation, generation::give};
};

}  // namespace tarn::io
