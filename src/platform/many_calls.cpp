#include "platform/many_calls.hpp"

#include <cerrno>
#include <utility>
#include <vector>

namespace tarn::platform::files {

outcome make(const call& one, int descriptor) noexcept {
  switch (one.kind) {
    case call_kind::open: return open_in(one.folder, one.path, one.flags, one.mode);
    case call_kind::read:
      return one.offset == own_place ? read(descriptor, one.place, one.bytes)
                                     : read_at(descriptor, one.place, one.bytes, one.offset);
    case call_kind::write: {
      const iovec all{one.place, one.bytes};
      return one.offset == own_place ? write(descriptor, &all, 1)
                                     : write_at(descriptor, one.place, one.bytes, one.offset);
    }
    case call_kind::close: return close(descriptor);
    case call_kind::status: return status_of(one.folder, one.path, one.flags, one.found);
  }
  return -ENOSYS;
}

namespace {

class one_by_one final : public many_calls {
 public:
  explicit one_by_one(unsigned most) : slots_(most, empty) { done_.reserve(most); }
  ~one_by_one() override {
    for (const int descriptor : slots_) {
      if (descriptor != empty) files::close(descriptor);
    }
  }

  void start(call& one) noexcept override {
    if (!one.is_slot) {
      one.result = make(one, one.file);
    } else if (int& slot = slots_[static_cast<std::size_t>(one.file)]; one.kind == call_kind::open) {
      one.result = make(one, empty);
      if (one.result >= 0) slot = static_cast<int>(std::exchange(one.result, 0));
    } else {
      one.result = make(one, slot);
      if (one.kind == call_kind::close) slot = empty;
    }
    done_.push_back(&one);
  }

  call* next() noexcept override {
    if (done_.empty()) return nullptr;
    call* const one = done_.back();
    done_.pop_back();
    return one;
  }

 private:
  static constexpr int empty = -1;
  std::vector<int> slots_;
  std::vector<call*> done_;
};

}  // namespace

std::unique_ptr<many_calls> plain_calls(unsigned most) { return std::make_unique<one_by_one>(most); }

}  // namespace tarn::platform::files
