#include "pages.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <optional>

#include <boost/beast/http/status.hpp>

namespace appserver {

namespace {

/// Returns the value of NAME in NAME=VALUE pairs.
std::optional<std::string_view> value_of(std::string_view name, std::string_view pairs, char separator) {
  while (!pairs.empty()) {
    std::string_view pair = pairs.substr(0, pairs.find(separator));
    pairs.remove_prefix(pair.size() == pairs.size() ? pair.size() : pair.size() + 1);
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.size() > name.size() && pair.substr(0, name.size()) == name && pair[name.size()] == '=') {
      return pair.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

void append_number(std::pmr::string& output, std::uint64_t number) {
  char digits[20];
  output.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_html(std::pmr::string& output, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '<': output += "&lt;"; break;
      case '>': output += "&gt;"; break;
      case '&': output += "&amp;"; break;
      default: output += c;
    }
  }
}

/// Writes the frame of every page, from one version of the configuration.
template <class Content>
void html(reply& output, const site_settings& site, Content content) {
  output.type = "text/html; charset=utf-8";
  output.body += "<!doctype html><title>";
  append_html(output.body, site.title);
  output.body += "</title>\n";
  content();
  output.body += "<p>";
  append_html(output.body, site.footer);
  output.body += "\n";
}

void small(reply& output, const site_settings& site) {
  html(output, site, [&] { output.body += "<p>A small page.\n"; });
}

void page(reply& output, const site_settings& site, std::string_view query) {
  const std::optional<std::string_view> text = value_of("rows", query, '&');
  std::size_t rows = 0;
  if (!text || std::from_chars(text->begin(), text->end(), rows).ptr != text->end() || rows == 0 || rows > site.rows) {
    return refuse(400, "rows is a number from 1 to the configured most: /page?rows=10", output);
  }
  html(output, site, [&] {
    output.body += "<table>\n";
    for (std::size_t row = 1; row <= rows; ++row) {
      // The row and its name each have a text of their own, because pages are usually composed from parts.
      std::pmr::string name("customer number ", output.body.get_allocator());
      append_number(name, row);
      std::pmr::string line("<tr><td>", output.body.get_allocator());
      line.append(name).append("</td><td>balance, in cents</td><td>");
      append_number(line, row * row % 100'000);
      line.append("</td></tr>\n");
      output.body += line;
    }
    output.body += "</table>\n";
  });
}

void login(reply& output, const site_settings& site, std::string_view form, objects& state, worker_metrics& counters) {
  const std::optional<std::string_view> text = value_of("user", form, '&');
  const std::optional<user_name> user = text ? user_name::parse(*text) : std::nullopt;
  if (!user) {
    return refuse(400, "the body is user=NAME, of 1 to 32 letters, digits, - and _", output);
  }
  counters.locks.add(1);
  const std::optional<session_id> id = state.sessions.open(*user, site.session, site.sessions);
  if (!id) {
    output.can_retry = true;
    return refuse(503, "as many sessions as there may be", output);
  }
  const auto digits = id->text();
  output.cookie.append("session=").append(digits.data(), digits.size());
  output.cookie += "; Path=/; HttpOnly; SameSite=Strict; Max-Age=";
  append_number(output.cookie, static_cast<std::uint64_t>(site.session.count()));
  output.body.append("hello, ").append(user->view()).append("\n");
}

void count(reply& output, std::string_view cookies, objects& state, worker_metrics& counters) {
  const std::optional<std::string_view> text = value_of("session", cookies, ';');
  const std::optional<session_id> id = text ? session_id::parse(*text) : std::nullopt;
  std::optional<visit> visited;
  if (id) {
    counters.locks.add(1);
    visited = state.sessions.count(*id);
  }
  if (!visited) {
    return refuse(401, "no session, or it has ended: POST user=NAME to /login", output);
  }
  output.body.append(visited->user.view()).append(" ");
  append_number(output.body, visited->number);
  output.body += "\n";
}

void metrics(reply& output, objects& state) {
  output.type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  append_metrics(output.body, state.metrics->workers());
  output.body += "# TYPE appserver_sessions gauge\nappserver_sessions ";
  append_number(output.body, state.sessions.size());
  output.body += "\n# TYPE appserver_configuration_version gauge\nappserver_configuration_version ";
  append_number(output.body, output.version);
  output.body += "\n# EOF\n";
}

void route(const request& client_request, objects& state, worker_metrics& counters, reply& output) {
  const auto site = state.site.snapshot();  // one version for the whole request
  output.version = site.version();

  std::string_view path = client_request.target;
  if (path.substr(0, 7) == "http://") {  // a proxy writes the target this way
    path.remove_prefix(std::min(path.find('/', 7), path.size()));
  }
  const std::size_t question = std::min(path.find('?'), path.size());
  const std::string_view query = path.substr(std::min(question + 1, path.size()));
  path = path.substr(0, question);
  const bool is_post = path == "/login";
  const bool is_known = is_post || path == "/small" || path == "/page" || path == "/counter" || path == "/metrics" ||
                        path == "/healthz" || path == "/version";
  if (!is_known) {
    refuse(404, "no such page", output);
  } else if (is_post ? client_request.method != "POST"
                     : client_request.method != "GET" && client_request.method != "HEAD") {
    output.allow = is_post ? "POST" : "GET, HEAD";
    refuse(405, "not with this method", output);
  } else if (path == "/small") {
    small(output, *site);
  } else if (path == "/page") {
    page(output, *site, query);
  } else if (path == "/login") {
    login(output, *site, client_request.body, state, counters);
  } else if (path == "/counter") {
    count(output, client_request.cookies, state, counters);
  } else if (path == "/metrics") {
    counters.locks.add(1);
    metrics(output, state);
  } else if (path == "/version") {
    append_number(output.body, output.version);
    output.body.append(" ").append(site->title).append("\n");
  } else {
    output.body += "ok\n";
  }
}

}  // namespace

void refuse(unsigned status, std::string_view why, reply& output) {
  output.status = status;
  output.type = "text/plain; charset=utf-8";
  output.body.assign(why).append("\n");
}

void answer(const request& client_request, objects& state, worker_metrics& counters, reply& output) noexcept {
  try {
    route(client_request, state, counters, output);
  } catch (const std::bad_alloc&) {
    output.status = 503;
    output.can_retry = true;
    output.body.clear();
  } catch (...) {
    output.status = 500;
    output.body.clear();
  }
}

// Beast's serializer does the same in 6,000 more instructions: as many as all other work of a small request.
std::pmr::string head_of(const reply& answer, bool is_old, bool keeps_open, std::string_view date,
                         std::pmr::memory_resource& memory) {
  std::pmr::string head(&memory);
  head.reserve(512);
  const auto field = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  head += is_old ? "HTTP/1.0 " : "HTTP/1.1 ";
  append_number(head, answer.status);
  head.append(" ")
      .append(boost::beast::http::obsolete_reason(boost::beast::http::status(answer.status)))
      .append("\r\n");
  field("Server", "tarn-appserver");
  field("Date", date);
  field("Content-Type", answer.type);
  field("Cache-Control", "no-store");
  if (!answer.allow.empty()) {
    field("Allow", answer.allow);
  }
  if (answer.can_retry) {
    field("Retry-After", "1");
  }
  if (answer.status == 401) {
    field("WWW-Authenticate", "Session");
  }
  if (!answer.cookie.empty()) {
    field("Set-Cookie", answer.cookie);
  }
  if (keeps_open == is_old) {  // otherwise the client assumes it anyway
    field("Connection", keeps_open ? "keep-alive" : "close");
  }
  head += "Content-Length: ";
  append_number(head, answer.body.size());
  head += "\r\n\r\n";
  return head;
}

}  // namespace appserver
