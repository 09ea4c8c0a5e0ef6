#include "sessions.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace appserver {

session_id session_id::random() {
  session_id id;
  // The system returns so few bytes whole or not at all.
  while (getrandom(&id, sizeof id, 0) != static_cast<ssize_t>(sizeof id)) {
    if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
  }
  return id;
}

std::optional<session_id> session_id::parse(std::string_view text) noexcept {
  const auto word = [&](std::size_t first_digit, std::uint64_t& target) {
    const char* const end = text.data() + first_digit + 16;
    const auto [stop, error] = std::from_chars(text.data() + first_digit, end, target, 16);
    return error == std::errc() && stop == end;
  };
  session_id id;
  if (text.size() != 32 || !word(0, id.high) || !word(16, id.low)) {
    return std::nullopt;
  }
  return id;
}

std::array<char, 32> session_id::text() const noexcept {
  std::array<char, 32> digits;
  for (std::size_t digit = 0; digit < 16; ++digit) {
    digits[digit] = "0123456789abcdef"[high >> (60 - 4 * digit) & 15];
    digits[digit + 16] = "0123456789abcdef"[low >> (60 - 4 * digit) & 15];
  }
  return digits;
}

std::optional<user_name> user_name::parse(std::string_view text) noexcept {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  user_name user;
  if (text.empty() || text.size() > user.text_.size() || !std::all_of(text.begin(), text.end(), fits)) {
    return std::nullopt;
  }
  std::copy(text.begin(), text.end(), user.text_.begin());
  user.size_ = text.size();
  return user;
}

void session_manager::table::drop_ended(clock::time_point now) {
  while (!oldest_first.empty()) {
    const auto oldest = by_id.find(oldest_first.front());
    if (oldest->second.until > now) {
      return;
    }
    by_id.erase(oldest);
    oldest_first.pop_front();
  }
}

std::optional<session_id> session_manager::open(const user_name& user, std::chrono::seconds lasts,
                                                std::size_t max_sessions) {
  const session_id id = session_id::random();  // the system is asked before the lock is taken
  const clock::time_point now = clock::now();
  return sessions_.with([&](table& sessions) -> std::optional<session_id> {
    sessions.drop_ended(now);
    if (sessions.by_id.size() >= max_sessions) {
      return std::nullopt;
    }
    sessions.oldest_first.push_back(id);
    try {
      sessions.by_id.emplace(id, session{user, 0, now + lasts});
    } catch (...) {
      sessions.oldest_first.pop_back();
      throw;
    }
    return id;
  });
}

std::optional<visit> session_manager::count(const session_id& id) {
  const clock::time_point now = clock::now();
  return sessions_.with([&](table& sessions) -> std::optional<visit> {
    const auto position = sessions.by_id.find(id);
    if (position == sessions.by_id.end() || position->second.until <= now) {
      return std::nullopt;
    }
    return visit{position->second.user, ++position->second.visits};
  });
}

std::size_t session_manager::size() const {
  return sessions_.read([](const table& sessions) { return sessions.by_id.size(); });
}

}  // namespace appserver
