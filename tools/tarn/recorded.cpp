#include "tarn/recorded.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <system_error>

#include "tarn/thread_names.hpp"

namespace tarn::command {

template <class Step>
void recorded::write(Step step) {
  if (to_ == nullptr) return;
  try {
    step(*to_);
  } catch (const std::system_error& error) {
    fmt::print(stderr, "tarn: {}: {}; what was written before can be read\n", path_, error.what());
    to_.reset();
  }
}

void recorded::begin(const std::string& path, const format::program_facts& facts) {
  path_ = path;
  to_ = std::make_unique<format::writer>(path);
  now_.program = facts;
  write([&](format::writer& on) { on.program(facts); });
}

void recorded::write_changes() {
  region_.read(now_);
  name_threads(now_);
  write([&](format::writer& on) { on.changes(now_); });
}

void recorded::write_end(const format::end_facts& how) {
  write([&](format::writer& on) { on.end(how); });
}

}  // namespace tarn::command
