#include "sync/descriptors.hpp"

#include <sys/resource.h>
#include <cerrno>

#include <tarn/accept_backoff.hpp>

#include "base/error_text.hpp"

namespace tarn {
namespace detail {

void append_descriptor_error(base::text& message, int error) noexcept {
  message.append(base::error_text(error));
  append_descriptor_cure(message, error);
}

void append_descriptor_cure(base::text& message, int error) noexcept {
  if (error == EMFILE) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    message.append(": this process may have ").decimal(limit.rlim_cur);
    message.append(": close some, or raise that limit (ulimit -n, LimitNOFILE= of a systemd unit)");
  } else if (error == ENFILE) {
    message.append(": end programs, or raise the limit of the system (sysctl fs.file-max)");
  }
}

std::string text_of_missing(std::string_view call, int error) {
  base::text_buffer<512> message;
  message.append("cannot make ").append(call).append(": ");
  append_descriptor_error(message, error);
  return std::string(message.view());
}

}  // namespace detail

bool accept_backoff::may_retry(int error) noexcept {
  must_pause_ = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  if (!must_pause_) {
    switch (error) {  // accept(2) lists these
      case EAGAIN:
      case EINTR:
      case ECONNABORTED:
      case EPERM:
      case EPROTO:
      case ENOPROTOOPT:
      case ENETDOWN:
      case ENETUNREACH:
      case ENONET:
      case EHOSTDOWN:
      case EHOSTUNREACH:
      case ETIMEDOUT: return true;
      default: return false;
    }
  }
  const auto now = std::chrono::steady_clock::now();
  if (now >= silent_until_) {
    silent_until_ = now + std::chrono::minutes(1);
    base::text_buffer<512> message;
    message.append("tarn: ").append_escaped(name_).append(": connections wait, because accept fails: ");
    detail::append_descriptor_error(message, error);
    message.append('\n').write_to(2);
  }
  return true;
}

}  // namespace tarn
