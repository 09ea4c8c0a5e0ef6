#pragma once

#include <string>
#include <string_view>

#include "format/code.hpp"
#include "format/recording.hpp"

namespace tarn::format {

// Is told, in the order of the file, what each look found: the changes, and then its moment.
class watcher {
 public:
  virtual ~watcher() = default;
  // So much more than at the last look; of the longest times the new one, 0 where it stayed.
  virtual void more(const cell_key_facts&, const counts&) {}
  virtual void more(const call_key&, const call_counts&) {}
  virtual void more(const lock_key&, const lock_counts&) {}
  virtual void more(const wait_key&, const wait_counts&) {}
  virtual void more(const noise_key&, const noise_counts&) {}
  virtual void more(const order_key&, const order_counts&) {}
  // All up to the last of its moments.
  virtual void moment(const recording&) {}
};

// The recording in `bytes`: up to the last whole block, with the reason in `damage` where that is not the end. Throws
// `unreadable` when it is no recording or one of another version. Memory is bounded by what whole blocks hold.
recording parse(std::string_view bytes, watcher* watching = nullptr);

// The bytes of a file, and the recording that they are; `unreadable` names it.
std::string content_of(const std::string& path);
recording read(const std::string& path);

}  // namespace tarn::format
