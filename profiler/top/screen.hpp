// The terminal of `tarn top`, by curses. It does not know the content.
#pragma once

#include "profiler/top/state.hpp"

namespace tarn::command {

class top_screen {
 public:
  // Throws a failure if there is no terminal, or one that cannot be addressed.
  top_screen();
  top_screen(const top_screen&) = delete;
  top_screen& operator=(const top_screen&) = delete;
  ~top_screen();  // restores the terminal

  void draw(top_state& state);
  // Waits for a key for this long and passes it on. Returns whether there was a key, or a new size.
  bool wait(top_state& state, int milliseconds);

 private:
  bool has_colour_ = false;
};

}  // namespace tarn::command
