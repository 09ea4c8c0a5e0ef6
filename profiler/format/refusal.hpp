// Says why a program cannot load the recorder. `tarn record` makes a sentence of it.
#pragma once

namespace tarn::format {

// The name of such a program in the region (unrecorded_program) begins with this byte.
enum class refusal : char {
  loadable = 0,
  is_static = 1,
  has_privileges = 2,
  lacks_recorder = 3,
  lacks_access = 4,    // a child that cannot open the region that it should have
  lacks_addresses = 5  // or cannot map it
};

}  // namespace tarn::format
