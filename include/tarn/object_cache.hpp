// Objects that are used again as they are, warm: a string keeps its buffer, a vector its capacity.
#pragma once

#include <array>
#include <cstddef>
#include <iosfwd>
#include <type_traits>
#include <utility>

namespace tarn {

/// How objects of a type are used again. To change something, specialise `recycling`:
///   template <>
///   struct tarn::recycling<parser> : tarn::default_recycling<parser> {
///     static void reset(parser& used) noexcept { used.rewind(); }
///   };
template <class T>
struct default_recycling {
  /// Objects that one cache keeps; more are destroyed.
  static constexpr std::size_t most_objects = 16;
  /// An object that holds more memory than this is destroyed instead of kept, so that one huge text is not for ever.
  static constexpr std::size_t most_bytes = 64 * 1024;

  /// A new object; `T()` unless there is a reason.
  static T create() { return T(); }

  /// As good as new, its memory kept.
  static void reset(T& used) noexcept {
    // A stream's clear() clears its error flags, not its text.
    constexpr bool can_be_cleared = requires { used.clear(); } && !std::is_base_of_v<std::ios_base, T>;
    static_assert(can_be_cleared, "this type has no clear(): specialise tarn::recycling and say how it is reset");
    if constexpr (can_be_cleared) {
      used.clear();
    }
  }

  /// Memory that the object holds beside its own sizeof, in bytes.
  static std::size_t bytes(const T& used) noexcept {
    if constexpr (requires { used.capacity() * sizeof(typename T::value_type); }) {
      return used.capacity() * sizeof(typename T::value_type);
    } else {
      return 0;
    }
  }
};

template <class T>
struct recycling : default_recycling<T> {};

namespace detail {

[[noreturn]] void fault_cache_in_use(std::size_t objects) noexcept;

/// The objects of one cache. One thread at a time. A plain aggregate, so that there can be a constant one that is
/// both empty and full: it takes the slow path whatever is asked of it.
template <class T, class Policy>
struct warm_objects {
  std::size_t count = 0;
  std::size_t room = 0;  ///< objects that may be kept: 0 or Policy::most_objects
  std::array<T*, Policy::most_objects> objects{};

  bool has_room() const noexcept { return count < room; }
  [[gnu::always_inline]] T* take() noexcept { return count != 0 ? objects[--count] : nullptr; }
  /// Resets `used` and keeps it. False, with `used` still to be destroyed: there is no room for it. What is destroyed
  /// anyway is not reset before; and what a reset does may come back to this cache and take the room.
  [[gnu::always_inline]] bool keep(T* used) noexcept {
    if (!has_room()) [[unlikely]] {
      return false;
    }
    Policy::reset(*used);
    if (!has_room()) [[unlikely]] {
      return false;
    }
    objects[count++] = used;
    return true;
  }
  /// One at a time: what a destructor does may come back to this cache.
  void clear() noexcept {
    while (T* const used = take()) {
      delete_object(used);
    }
  }

  // The global new even where T has its own: what a class takes from the current heap may be released under the cache.
  [[gnu::noinline]] static T* new_object() { return ::new T(Policy::create()); }
  [[gnu::noinline]] static void delete_object(T* used) noexcept { ::delete used; }
  static bool is_worth_keeping(const T& used) noexcept { return Policy::bytes(used) <= Policy::most_bytes; }
};

}  // namespace detail

/// A bounded set of warm objects for one owner, such as a connection or a worker.
///   tarn::object_cache<std::string> lines;
///   auto line = lines.take();          // warm if there is one, else new
///   line->append("text");              // at the end of scope it goes back, cleared, its buffer kept
/// For the same without an object to pass around, one cache a thread: tarn::recycle<T>() (tarn/recycle.hpp).
///
/// Threads: one at a time, for the cache and for what it gave. Errors: take() throws what creating a T throws, only
/// when it creates one. A cache that ends before what it gave is a fault. Cost: inline, no look-up; see
/// docs/object-cache.md.
template <class T, class Policy = recycling<T>>
class object_cache {
  using warm = detail::warm_objects<T, Policy>;

 public:
  /// One object, the holder's until it ends.
  class handle {
   public:
    handle(handle&& other) noexcept : home_(other.home_), used_(std::exchange(other.used_, nullptr)) {}
    handle& operator=(handle&& other) noexcept {
      handle taken(std::move(other));
      std::swap(home_, taken.home_);
      std::swap(used_, taken.used_);
      return *this;
    }
    ~handle() {
      if (used_ != nullptr) {
        home_->give(used_);
      }
    }

    /// Not after a move from this handle.
    T& operator*() const noexcept { return *used_; }
    T* operator->() const noexcept { return used_; }
    T* get() const noexcept { return used_; }
    explicit operator bool() const noexcept { return used_ != nullptr; }

   private:
    friend class object_cache;
    handle(object_cache* home, T* used) noexcept : home_(home), used_(used) {}

    object_cache* home_;
    T* used_;
  };

  object_cache() noexcept { objects_.room = Policy::most_objects; }
  ~object_cache() {
    if (given_ != 0) {
      detail::fault_cache_in_use(given_);
    }
    objects_.room = 0;
    objects_.clear();
  }
  object_cache(const object_cache&) = delete;
  object_cache& operator=(const object_cache&) = delete;

  [[nodiscard]] handle take() {
    T* used = objects_.take();
    if (used == nullptr) [[unlikely]] {
      used = warm::new_object();
    }
    ++given_;
    return handle(this, used);
  }

  /// Objects kept now.
  std::size_t size() const noexcept { return objects_.count; }
  /// Destroys what is kept.
  void clear() noexcept { objects_.clear(); }

 private:
  void give(T* used) noexcept {
    --given_;
    if (!warm::is_worth_keeping(*used) || !objects_.keep(used)) [[unlikely]] {
      warm::delete_object(used);
    }
  }

  warm objects_;
  std::size_t given_ = 0;
};

}  // namespace tarn
