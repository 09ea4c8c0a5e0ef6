// A cache of objects that are reused with the memory they hold: a string keeps its buffer, a vector its capacity.
#pragma once

#include <tarn/detail/language.hpp>

#include <array>
#include <cstddef>
#include <iosfwd>
#include <type_traits>
#include <utility>

namespace tarn {

/// Says how objects of a type are reused. A cache calls these functions in the thread that uses it; reset() must not
/// throw, and create() may. Specialise `recycling` to change them:
///   template <>
///   struct tarn::recycling<parser> : tarn::default_recycling<parser> {
///     static void reset(parser& used) noexcept { used.rewind(); }
///   };
template <class T>
struct default_recycling {
  /// The number of objects that a cache keeps; further ones are destroyed.
  static constexpr std::size_t max_objects = 16;
  /// An object that holds more bytes than this is destroyed instead of kept, so that one huge string does not stay.
  static constexpr std::size_t max_bytes = 64 * 1024;

  /// Creates an object.
  static T create() { return T(); }

  /// Makes the object as good as new, and keeps its memory.
  static void reset(T& object) noexcept {
    // A stream's clear() clears its error flags, not its text.
    constexpr bool can_be_cleared = requires { object.clear(); } && !std::is_base_of_v<std::ios_base, T>;
    static_assert(can_be_cleared, "this type has no clear(): specialise tarn::recycling and say how it is reset");
    if constexpr (can_be_cleared) {
      object.clear();
    }
  }

  /// Returns the bytes that the object holds in addition to its own sizeof. It runs each time that an object returns to
  /// its cache.
  static std::size_t bytes(const T& object) noexcept {
    if constexpr (requires { object.capacity() * sizeof(typename T::value_type); }) {
      return object.capacity() * sizeof(typename T::value_type);
    } else {
      return 0;
    }
  }
};

/// Specialise this for a class of yours whose objects need another policy.
template <class T>
struct recycling : default_recycling<T> {};

namespace detail {

[[noreturn]] void fault_cache_in_use(const void* cache, std::size_t objects) noexcept;

/// Holds the objects of one cache, for one thread at a time. It is a plain aggregate, so that there can be a constant
/// one that is both empty and full: every call of that one takes the slow path.
template <class T, class Policy>
struct warm_objects {
  std::size_t count = 0;
  std::size_t room = 0;  ///< the number of objects that may be kept: 0 or Policy::max_objects
  std::array<T*, Policy::max_objects> objects{};

  bool has_room() const noexcept { return count < room; }
  [[gnu::always_inline]] T* take() noexcept { return count != 0 ? objects[--count] : nullptr; }
  /// Resets `object` and keeps it. Returns false when there is no room; the caller then destroys `object`. An object
  /// that will be destroyed is not reset first. A reset may itself use this cache, and take the room.
  [[gnu::always_inline]] bool keep(T* object) noexcept {
    if (!has_room()) [[unlikely]] {
      return false;
    }
    Policy::reset(*object);
    if (!has_room()) [[unlikely]] {
      return false;
    }
    objects[count++] = object;
    return true;
  }
  /// Takes the objects out one at a time, because a destructor may itself use this cache.
  void clear() noexcept {
    while (T* const object = take()) delete_object(object);
  }

  // This uses the global new even where T has its own, because a current heap may be released before the cache ends.
  [[gnu::noinline]] static T* new_object() { return ::new T(Policy::create()); }
  [[gnu::noinline]] static void delete_object(T* object) noexcept { ::delete object; }
  static bool is_worth_keeping(const T& object) noexcept { return Policy::bytes(object) <= Policy::max_bytes; }
};

}  // namespace detail

/// A bounded set of reusable objects for one owner, such as a connection or a worker.
///   tarn::object_cache<std::string> lines;
///   auto line = lines.take();          // reuses an object if there is one, else creates one
///   line->append("text");              // at the end of scope it returns, cleared, with its buffer
/// tarn::recycle<T>() (tarn/recycle.hpp) does the same with one cache per thread, and no object to pass around.
///
/// Threads: one at a time, for the cache and for the objects that it lent. Errors: take() throws what creating a T
/// throws, and std::bad_alloc. A cache that ends before an object that it lent is a fault. Cost: inline, no look-up;
/// see docs/guide/pools.md.
template <class T, class Policy = recycling<T>>
class object_cache {
  using warm = detail::warm_objects<T, Policy>;

 public:
  /// Holds one object until the handle ends.
  class handle {
   public:
    handle(handle&& source) noexcept : home_(source.home_), object_(std::exchange(source.object_, nullptr)) {}
    handle& operator=(handle&& source) noexcept {
      handle temporary(std::move(source));
      std::swap(home_, temporary.home_);
      std::swap(object_, temporary.object_);
      return *this;
    }
    ~handle() {
      if (object_ != nullptr) home_->give(object_);
    }

    /// Must not be called after a move from this handle.
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }
    /// Returns the object; null after a move.
    T* get() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

   private:
    friend class object_cache;
    handle(object_cache* home, T* object) noexcept : home_(home), object_(object) {}

    object_cache* home_;
    T* object_;
  };

  object_cache() noexcept { objects_.room = Policy::max_objects; }
  ~object_cache() {
    if (objects_in_use_ != 0) detail::fault_cache_in_use(this, objects_in_use_);
    objects_.room = 0;
    objects_.clear();
  }
  object_cache(const object_cache&) = delete;
  object_cache& operator=(const object_cache&) = delete;

  /// Takes a kept object, or makes one.
  [[nodiscard]] handle take() {
    T* object = objects_.take();
    if (object == nullptr) [[unlikely]] {
      object = warm::new_object();
    }
    ++objects_in_use_;
    return handle(this, object);
  }

  /// Returns the number of objects that are kept.
  std::size_t size() const noexcept { return objects_.count; }
  /// Destroys the objects that are kept.
  void clear() noexcept { objects_.clear(); }

 private:
  void give(T* object) noexcept {
    --objects_in_use_;
    if (!warm::is_worth_keeping(*object) || !objects_.keep(object)) [[unlikely]] {
      warm::delete_object(object);
    }
  }

  warm objects_;
  std::size_t objects_in_use_ = 0;
};

}  // namespace tarn
