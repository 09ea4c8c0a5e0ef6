#include "profiler/export/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "profiler/base/failure.hpp"

#if TARN_HAS_CURL
#include <curl/curl.h>
#include <dlfcn.h>
#endif

namespace tarn::command {

#if TARN_HAS_CURL
namespace {

// libcurl loads thirty libraries more. So it is loaded only by a command that pushes.
struct curl_functions {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) get = nullptr;
  decltype(&::curl_easy_strerror) error_text = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_list = nullptr;
};

const curl_functions& loaded_curl() {
  static const curl_functions functions = [] {
    void* library = nullptr;
    for (const char* const name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
      if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) fail(exit_code::missing, "libcurl.so.4 is needed to send profiles; apt install libcurl4");
    curl_functions curl;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      if (function == nullptr) fail(exit_code::missing, "libcurl.so.4 has no {}: it is too old", name);
    };
    find(curl.global_init, "curl_global_init");
    find(curl.easy_init, "curl_easy_init");
    find(curl.set, "curl_easy_setopt");
    find(curl.perform, "curl_easy_perform");
    find(curl.get, "curl_easy_getinfo");
    find(curl.error_text, "curl_easy_strerror");
    find(curl.cleanup, "curl_easy_cleanup");
    find(curl.append, "curl_slist_append");
    find(curl.free_list, "curl_slist_free_all");
    return curl;
  }();
  return functions;
}

// Keeps the begin of an answer. An answer without an end ends the transfer.
struct answer_text {
  std::string begin;
  std::size_t bytes = 0;

  static std::size_t add(char* data, std::size_t, std::size_t size, void* answer) {
    constexpr std::size_t max_kept = 200, max_read = 64 * 1024;
    auto& text = *static_cast<answer_text*>(answer);
    text.begin.append(data, std::min(size, max_kept - std::min(max_kept, text.begin.size())));
    text.bytes += size;
    return text.bytes > max_read ? 0 : size;
  }
};

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == '\x7f'; }, ' ');
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

bool is_temporary(long status) {
  constexpr long timeout = 408, too_early = 425, too_many = 429, first_of_server = 500;
  return status == timeout || status == too_early || status == too_many || status >= first_of_server;
}

}  // namespace
#endif

profile_store::profile_store(const std::string& url) : url_(url.substr(0, url.find_last_not_of('/') + 1)), name_(url) {
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    fail(exit_code::usage, "{}: the URL must begin with http:// or https://", url);
  const std::size_t host = url.find("//") + 2, path = url.find('/', host), user_end = url.substr(0, path).rfind('@');
  if (user_end != std::string::npos) name_.erase(host, user_end + 1 - host);
  if (url.find_first_of("?#") != std::string::npos)
    fail(exit_code::usage, "{}: the URL ends with the host or a path: Tarn adds /ingest and its query", name_);
#if TARN_HAS_CURL
  loaded_curl();
#else
  fail(exit_code::missing, "this tarn was built without libcurl; apt install libcurl4-openssl-dev, and build it again");
#endif
}

profile_store::reply profile_store::post([[maybe_unused]] const std::string& query,
                                         [[maybe_unused]] std::string_view body,
                                         [[maybe_unused]] std::chrono::milliseconds longest) const {
  reply result;
#if TARN_HAS_CURL
  const curl_functions& curl = loaded_curl();
  static const CURLcode initialised = curl.global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(initialised == CURLE_OK ? curl.easy_init() : nullptr,
                                                             curl.cleanup);
  if (!handle) {
    result.reason = "libcurl cannot start";
    return result;
  }
  curl_slist* list = nullptr;
  // An empty Expect: libcurl would wait for the answer "100 Continue", which not every server gives.
  for (const char* const line : {"Content-Type: application/octet-stream", "Expect:"}) list = curl.append(list, line);
  const std::unique_ptr<curl_slist, decltype(curl.free_list)> headers(list, curl.free_list);
  const std::string address = url_ + "/ingest?" + query;
  constexpr long connect_ms = 5000;
  answer_text answer;
  curl.set(handle.get(), CURLOPT_URL, address.c_str());
  curl.set(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl.set(handle.get(), CURLOPT_USERAGENT, "tarn");
  curl.set(handle.get(), CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  curl.set(handle.get(), CURLOPT_CONNECTTIMEOUT_MS, std::min<long>(connect_ms, longest.count()));
  curl.set(handle.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(longest.count()));
  curl.set(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl.set(handle.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl.set(handle.get(), CURLOPT_POSTFIELDS, body.data());
  curl.set(handle.get(), CURLOPT_WRITEFUNCTION, &answer_text::add);
  curl.set(handle.get(), CURLOPT_WRITEDATA, static_cast<void*>(&answer));
  const CURLcode code = curl.perform(handle.get());
  long status = 0;
  curl.get(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) {
    const bool is_nonsense = code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY;
    result.kind = -static_cast<int>(code);
    result.reason = is_nonsense ? "its answer is not HTTP" : curl.error_text(code);
    return result;
  }
  result.kind = static_cast<int>(status);
  const std::string text = one_line(answer.begin);
  result.reason = fmt::format("it answers {}{}{}", status, text.empty() ? "" : ": ", text);
  result.result = status < 300 ? outcome::accepted : is_temporary(status) ? outcome::unavailable : outcome::refused;
  curl_off_t seconds = 0;
  if (curl.get(handle.get(), CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK)
    result.retry_after = std::chrono::seconds(seconds);
#endif
  return result;
}

}  // namespace tarn::command
