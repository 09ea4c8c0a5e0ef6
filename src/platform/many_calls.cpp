#include "platform/many_calls.hpp"

#include <cerrno>
#include <utility>
#include <vector>

namespace tarn::platform::files {

outcome make(const call& operation, int descriptor) noexcept {
  switch (operation.kind) {
    case call_kind::open: return open_in(operation.folder, operation.path, operation.flags, operation.mode);
    case call_kind::read:
      return operation.offset == own_place ? read(descriptor, operation.buffer, operation.bytes)
                                           : read_at(descriptor, operation.buffer, operation.bytes, operation.offset);
    case call_kind::write: {
      const iovec vector{operation.buffer, operation.bytes};
      return operation.offset == own_place ? write(descriptor, &vector, 1)
                                           : write_at(descriptor, operation.buffer, operation.bytes, operation.offset);
    }
    case call_kind::close: return close(descriptor);
    case call_kind::status: return status_of(operation.folder, operation.path, operation.flags, operation.status);
  }
  return -ENOSYS;
}

namespace {

class one_by_one final : public many_calls {
 public:
  explicit one_by_one(unsigned limit) : slots_(limit, empty) { finished_.reserve(limit); }
  ~one_by_one() override {
    for (const int descriptor : slots_) {
      if (descriptor != empty) files::close(descriptor);
    }
  }

  void start(call& operation) noexcept override {
    if (!operation.is_slot) {
      operation.result = make(operation, operation.file);
    } else if (int& slot = slots_[static_cast<std::size_t>(operation.file)]; operation.kind == call_kind::open) {
      operation.result = make(operation, empty);
      if (operation.result >= 0) slot = static_cast<int>(std::exchange(operation.result, 0));
    } else {
      operation.result = make(operation, slot);
      if (operation.kind == call_kind::close) slot = empty;
    }
    finished_.push_back(&operation);
  }

  call* next() noexcept override {
    if (finished_.empty()) return nullptr;
    call* const operation = finished_.back();
    finished_.pop_back();
    return operation;
  }

 private:
  static constexpr int empty = -1;
  std::vector<int> slots_;
  std::vector<call*> finished_;
};

}  // namespace

std::unique_ptr<many_calls> plain_calls(unsigned max_calls) { return std::make_unique<one_by_one>(max_calls); }

}  // namespace tarn::platform::files
