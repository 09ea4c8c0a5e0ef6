// Uses the locking categories of an installed library: prints "ok".
#include <cstdio>
#include <string>

#include <tarn/application.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/with.hpp>

int main() {
  tarn::application app({.name = "consumer", .workers = 2});
  tarn::shared<int> a(0), b(0);
  tarn::reloadable<std::string> text("ok");
  app.on_work([&](tarn::worker&) { tarn::with(a, b, [](int& x, int& y) { ++x, ++y; }); });
  if (app.run() == 0 && a.unsafe_unlocked() + b.unsafe_unlocked() == 4) {
    std::puts(text.with([](const std::string& t) { return t; }).c_str());
  }
}
