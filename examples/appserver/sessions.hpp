// The session manager: all workers share it, so its lock is the only one that a request may take.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <tarn/tarn.hpp>

namespace appserver {

/// 128 random bits, so that nobody can guess it. Its text is 32 hexadecimal digits.
struct session_id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const session_id&) const = default;
  /// Reads the system's random source. Throws std::system_error.
  static session_id random();
  static std::optional<session_id> parse(std::string_view text) noexcept;
  std::array<char, 32> text() const noexcept;
};

/// A name of 1 to 32 letters, digits, - and _. It needs no memory of its own, so it can be copied out of a lock.
class user_name {
 public:
  static std::optional<user_name> parse(std::string_view text) noexcept;
  std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_{};
  std::size_t size_ = 0;
};

/// The content of /counter.
struct visit {
  user_name user;
  std::uint64_t number = 0;
};

/// Any thread may call it; each call takes one lock.
class session_manager {
 public:
  using clock = std::chrono::steady_clock;

  /// Opens a session; returns none when `max_sessions` are open already.
  std::optional<session_id> open(const user_name& user, std::chrono::seconds lasts, std::size_t max_sessions);
  /// Counts a visit; returns none when the session does not exist or has ended.
  std::optional<visit> count(const session_id& id);
  std::size_t size() const;

 private:
  struct session {
    user_name user;
    std::uint64_t visits = 0;
    clock::time_point until;
  };
  struct hash {  // the bits are random already
    std::size_t operator()(const session_id& id) const noexcept { return id.low; }
  };
  /// Each session of `by_id` is once in `oldest_first`.
  struct table {
    std::unordered_map<session_id, session, hash> by_id;
    std::deque<session_id> oldest_first;

    void drop_ended(clock::time_point now);
  };

  tarn::shared<table> sessions_{tarn::rank{1, "sessions"}};
};

}  // namespace appserver
