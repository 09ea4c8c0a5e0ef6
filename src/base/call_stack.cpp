#include "base/call_stack.hpp"

#include <unwind.h>

#include "base/site.hpp"
#include "base/text.hpp"

namespace tarn::base {
namespace {

struct walk {
  call_stack* noted;
  const void* first;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* state) noexcept {
  auto& now = *static_cast<walk*>(state);
  const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  call_stack& noted = *now.noted;
  if (address == nullptr) return _URC_END_OF_STACK;
  if (noted.count != 0 || address == now.first) noted.frames[noted.count++] = address;
  return noted.count == call_stack::max_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

void call_stack::note(const void* first) noexcept {
  count = 0;
  // The unwinder of a static program takes a lock and calls malloc under it. In a forked child that lock may be held by
  // a thread that the child does not have.
  if (!is_static_program()) {
    walk now{this, first};
    _Unwind_Backtrace(visit, &now);
  }
  if (count == 0) frames[count++] = first;
}

void call_stack::write_to(int descriptor) const noexcept {
  for (std::uint32_t index = 0; index < count; ++index) {
    text_buffer<1024> line;
    append_site(line.append("tarn:     "), frames[index]).append('\n').write_to(descriptor);
  }
}

}  // namespace tarn::base
