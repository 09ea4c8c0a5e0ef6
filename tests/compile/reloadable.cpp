// No reference to a version outlives its snapshot.
#include <string>
#include <tarn/reloadable.hpp>
#include <vector>

struct config {
  std::vector<std::string> hosts;
  int timeout = 10;
};
inline tarn::reloadable<config> current;

//- good
int timeout() {
  const auto now = current.snapshot();
  return now->timeout + static_cast<int>((*now).hosts.size());
}
//- bad: give it a name (const auto now = it.snapshot();)
int timeout() { return current.snapshot()->timeout; }
//- bad: and its version may, too
const config& leak() { return *current.snapshot(); }
//- bad: the version may end with the snapshot
void look() { current.snapshot(); }
//- gcc: assignment of member
void change() {
  const auto now = current.snapshot();
  now->timeout = 5;
}
//- clang: cannot assign to return value
void change() {
  const auto now = current.snapshot();
  now->timeout = 5;
}
//- bad: deleted
void twice() {
  const auto now = current.snapshot();
  const auto copy = now;
}

//- good
std::string host() {
  return current.with([](const config& now) { return now.hosts.front(); });
}
//- bad: would outlive the lock or snapshot
const std::string& host() {
  return current.with([](const config& now) -> const std::string& { return now.hosts.front(); });
}
//- good
const std::string* first_host() {
  return current.with([](const config& now) { return tarn::outlives(now.hosts.data()); });
}
//- bad: would outlive the lock or snapshot
const std::string* first_host() {
  return current.with([](const config& now) { return now.hosts.data(); });
}
//- good
void change() {
  current.with([](const config&) {});
}
//- bad: the function must accept the values as T&
void change() {
  current.with([](config& now) { now.timeout = 5; });
}

//- good
void reload() { current.publish(config{{}, 5}); }
//- bad: publish
void reload(const tarn::reloadable<config>& versions) { versions.publish(config{{}, 5}); }
//- bad: publish
void reload() { current.publish("a name"); }
//- bad: deleted
tarn::reloadable<config> copy(current);
