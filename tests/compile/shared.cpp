// No reference to the data leaves its lock.
#include <array>
#include <bitset>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <tarn/with.hpp>
#include <vector>

using table = std::vector<int>;
inline tarn::shared<table> rows;
inline tarn::shared<table, std::shared_mutex> read_often;

//- good
int first() {
  return rows.with([](table& rows_inside) { return rows_inside.front(); });
}
//- bad: would outlive the lock
int& first() {
  return rows.with([](table& rows_inside) -> int& { return rows_inside.front(); });
}
//- bad: return a value (a copy, a std::shared_ptr), or do the work inside
auto first() {
  return rows.with([](table& rows_inside) { return &rows_inside.front(); });
}
//- bad: would outlive the lock
auto first() {
  return rows.with([](table& rows_inside) { return rows_inside.begin(); });
}
//- bad: would outlive the lock
auto first() {
  return rows.read([](const table& rows_inside) { return std::optional(&rows_inside.front()); });
}
//- bad: would outlive the lock
auto text() {
  static tarn::shared<std::string> name;
  return name.with([](std::string& n) { return std::string_view(n); });
}

//- good
auto parts() {
  static tarn::shared<std::vector<bool>> bits;
  bits.with([](std::vector<bool>& values) { return bool(values[0]); });
  bits.with([](std::vector<bool>& values) { return values; });
  return rows.with([](table& values) { return std::array{values[0], values[1]}; });
}
//- bad: would outlive the lock
auto parts() {
  static tarn::shared<std::vector<bool>> bits;
  return bits.with([](std::vector<bool>& values) { return values[0]; });
}
//- bad: would outlive the lock
auto parts() {
  static tarn::shared<std::bitset<8>> bits;
  return bits.with([](std::bitset<8>& values) { return values[0]; });
}
//- bad: would outlive the lock
auto parts() {
  return rows.with([](table& values) { return std::array{&values[0], &values[1]}; });
}
//- bad: would outlive the lock
auto parts() {
  return rows.with([](table& values) { return std::span<int, 2>(values.data(), 2); });
}
//- bad: would outlive the lock
auto parts() {
  static tarn::shared<std::initializer_list<int>> list;
  return list.with([](std::initializer_list<int>& values) { return values; });
}

//- good
#include <map>
#include <string>
struct page {
  int number = 0;
};
page* find() {
  static tarn::shared<std::map<std::string, page>, std::shared_mutex> pages;
  const page* const first = pages.read([](const auto& entries) { return tarn::outlives(&entries.begin()->second); });
  const auto root = pages.with([](auto& entries) { return tarn::outlives(&entries["/"]); });
  std::string_view name =
      pages.with([](auto& entries) { return tarn::outlives(std::string_view(entries.begin()->first)); });
  const auto perhaps = pages.with_if([](const auto& entries) { return !entries.empty(); },
                                     [](auto& entries) { return tarn::outlives(&entries["/"]); });
  const int sum = root->number + (*root).number + first->number + static_cast<int>(name.size());
  return root == nullptr || sum == 0 || !perhaps ? nullptr : root.get();
}
//- bad: where the object lives on by design, return tarn::outlives(pointer)
#include <map>
#include <string>
struct page {
  int number = 0;
};
page* find() {
  static tarn::shared<std::map<std::string, page>> pages;
  return pages.with([](auto& entries) { return &entries["/"]; });
}
//- bad: would outlive the lock
#include <map>
#include <string>
struct page {
  int number = 0;
};
page* find() {
  static tarn::shared<std::map<std::string, page>> pages;
  return pages.with([](auto& entries) { return tarn::outlives(&entries["/"]).get(); });
}

//- good
int sum_of_both() {
  return tarn::with(rows, read_often, [](table& a, table& b) { return a[0] + b[0]; });
}
//- bad: would outlive the lock
int& sum_of_both() {
  return tarn::with(rows, read_often, [](table& a, table&) -> int& { return a[0]; });
}

//- good
void add() {
  auto access = rows.lock();
  access->push_back(1);
  (*access)[0] = 2;
}
//- bad: give it a name (auto held = it.lock();)
void add() { rows.lock()->push_back(1); }
//- bad: or use it.with(function)
auto& leak() { return *rows.lock(); }
//- bad: the lock ends with the handle: give it a name
void add() { rows.lock(); }
//- bad: whether the lock is held is the answer
void add() { rows.try_lock(); }
//- gcc: use of deleted function
void add() {
  auto access = rows.lock();
  auto copy = access;
}
//- gcc: use of deleted function
void add() {
  auto access = rows.lock();
  auto copy = std::move(access);
}
//- clang: call to implicitly-deleted copy constructor
void add() {
  auto access = rows.lock();
  auto copy = std::move(access);
}
//- clang: acquiring shared 'rows' that is already held
void add() {
  auto access = rows.lock();
  auto second_access = rows.lock();
}
//- clang: cannot call function 'with' while shared 'rows' is held
void add() {
  auto access = rows.lock();
  rows.with([](table& rows_inside) { rows_inside.clear(); });
}

//- good
int look(const tarn::shared<table, std::shared_mutex>& shared_rows) {
  const auto access = shared_rows.lock_shared();
  return shared_rows.try_lock_shared() ? 0 : access->front();
}
//- bad: assignment of read-only
#if defined(__clang__)
#error "assignment of read-only"
#endif
void look(const tarn::shared<int>& shared_rows) {
  shared_rows.with([](const int& n) { n = 1; });
}
//- bad: the function must accept the values as T&
void look(const tarn::shared<table>& shared_rows) {
  shared_rows.with([](table&) {});
}
//- bad: lock_shared
void look() { static_cast<void>(rows.lock_shared()); }
//- bad: try_lock_for
void look() { static_cast<void>(rows.try_lock_for(std::chrono::seconds(1))); }

//- good
tarn::shared<int, std::timed_mutex> timed(7);
//- bad: data that never changes needs no lock: tarn::read_only<T>
tarn::shared<const int> constant(7);
//- bad: Mutex needs lock(), try_lock() and unlock()
tarn::shared<int, int> number(7);
//- bad: deleted
tarn::shared<int> a(7), b(a);
//- bad: value_
tarn::shared<int> sneaked(7);
int sneak() { return sneaked.value_; }

//- good
void clear() { rows.unsafe_unlocked().clear(); }
//- bad: clear
void clear() { rows.clear(); }
