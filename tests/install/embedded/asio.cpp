#include <tarn/asio/async_lock.hpp>
