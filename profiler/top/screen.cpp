#include "profiler/top/screen.hpp"

#include <unistd.h>

#include <clocale>
#include <cstdlib>

#include "profiler/base/failure.hpp"

// This comes last, because it defines macros of common words.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

namespace tarn::command {
namespace {

constexpr int head_lines = 5;  // four lines and the titles

void put(int line, const std::string& text, attr_t attributes) {
  ::attrset(static_cast<int>(attributes));
  ::mvaddnstr(line, 0, text.c_str(), static_cast<int>(text.size()));
  if ((attributes & A_REVERSE) != 0) {
    for (int column = ::getcurx(stdscr); column != 0 && column < COLS; ++column) ::addch(' ');
  }
  ::attrset(A_NORMAL);
}

int key_of(int code) {
  switch (code) {
    case KEY_UP: return top_state::up;
    case KEY_DOWN: return top_state::down;
    case KEY_PPAGE: return top_state::page_up;
    case KEY_NPAGE: return top_state::page_down;
    case KEY_LEFT: return top_state::left;
    case KEY_RIGHT: return top_state::right;
    case '\r':
    case '\n':
    case KEY_ENTER: return top_state::enter;
    case 27: return top_state::escape;
    case KEY_BACKSPACE:
    case 127:
    case 8: return top_state::erase;
    default: return code;
  }
}

}  // namespace

top_screen::top_screen() {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    fail(exit_code::missing, "tarn top needs a terminal; without one use tarn record and tarn report");
  }
  std::setlocale(LC_ALL, "");
  const char* const term = std::getenv("TERM");
  if (::newterm(nullptr, stdout, stdin) == nullptr) {
    fail(exit_code::missing, "unknown terminal type \"{}\"; try TERM=xterm", term == nullptr ? "" : term);
  }
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
  ::set_escdelay(50);
  const char* const colourless = std::getenv("NO_COLOR");
  if (::has_colors() && (colourless == nullptr || *colourless == '\0')) {
    ::start_color();
    ::use_default_colors();
    has_colour_ = ::init_pair(1, COLOR_CYAN, -1) != ERR;
  }
}

top_screen::~top_screen() { ::endwin(); }

void top_screen::draw(top_state& state) {
  ::erase();
  const std::vector<std::string> head = state.head(COLS);
  int line = 0;
  for (const std::string& text : head) {
    put(line, text, line == 0 ? A_BOLD : A_NORMAL);
    ++line;
  }
  put(line++, state.titles(COLS), A_REVERSE);
  for (const std::string& text : state.table(LINES - head_lines - 1, COLS)) put(line++, text, A_NORMAL);
  put(LINES - 1, state.foot(COLS), has_colour_ ? static_cast<attr_t>(COLOR_PAIR(1)) : A_DIM);
  ::refresh();
}

bool top_screen::wait(top_state& state, int milliseconds) {
  ::timeout(milliseconds);
  const int code = ::getch();
  if (code == ERR) return false;
  if (code != KEY_RESIZE) state.press(key_of(code), std::max(1, LINES - head_lines - 1));
  return true;
}

}  // namespace tarn::command
