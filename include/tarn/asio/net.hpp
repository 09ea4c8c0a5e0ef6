// Chooses the Asio that Tarn's parts for it use: Boost.Asio, or with TARN_ASIO_STANDALONE=1 the one without Boost.
#pragma once

#include <chrono>

#if defined(TARN_ASIO_STANDALONE) && TARN_ASIO_STANDALONE
#include <asio.hpp>
#else
#include <boost/asio.hpp>
#endif

namespace tarn::asio {

#if defined(TARN_ASIO_STANDALONE) && TARN_ASIO_STANDALONE
namespace net = ::asio;
/// The error code of Asio's operations.
using error_code = std::error_code;
#else
namespace net = ::boost::asio;
/// The error code of Asio's operations.
using error_code = boost::system::error_code;
#endif

/// The executor of an io_context. Objects of Asio with this executor type save a call through a pointer.
using io_executor = net::io_context::executor_type;
/// A TCP socket with that executor type.
using tcp_socket = net::basic_stream_socket<net::ip::tcp, io_executor>;
/// A listening TCP socket with that executor type.
using tcp_acceptor = net::basic_socket_acceptor<net::ip::tcp, io_executor>;
/// A timer with that executor type.
using steady_timer =
    net::basic_waitable_timer<std::chrono::steady_clock, net::wait_traits<std::chrono::steady_clock>, io_executor>;

}  // namespace tarn::asio
