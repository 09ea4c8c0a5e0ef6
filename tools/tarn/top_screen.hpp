// The terminal of `tarn top`: curses, and nothing of what is shown.
#pragma once

#include <string>

#include "tarn/top_state.hpp"

namespace tarn::command {

class top_screen {
 public:
  // Throws a usage failure where there is no terminal, or one that cannot be addressed.
  top_screen();
  top_screen(const top_screen&) = delete;
  top_screen& operator=(const top_screen&) = delete;
  ~top_screen();  // gives the terminal back as it was

  void draw(top_state& what);
  // Waits for a key for so long, hands it on; whether there was one, or another size.
  bool wait(top_state& what, int milliseconds);

 private:
  bool has_colour_ = false;
};

}  // namespace tarn::command
