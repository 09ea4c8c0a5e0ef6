// The name by which a program's headers recognise this library: detail/config.hpp.
#include <tarn/detail/config.hpp>

extern "C" [[gnu::visibility("default")]] const char TARN_ABI_TAG = 0;
