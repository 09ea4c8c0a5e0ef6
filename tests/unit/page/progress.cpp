#include "profiler/base/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace tarn::command {
namespace {

using std::chrono::milliseconds;

// Returns the text that a terminal shows.
class terminal {
 public:
  terminal() : controller_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    ::grantpt(controller_);
    ::unlockpt(controller_);
    file_ = std::fopen(::ptsname(controller_), "w");
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  ~terminal() {
    std::fclose(file_);
    ::close(controller_);
  }
  std::FILE* file() { return file_; }
  std::string text() {
    std::fputc('.', file_);  // marks the end: the kernel may deliver a text in parts
    std::fflush(file_);
    std::string output;
    for (char letter = 0; letter != '.' && ::read(controller_, &letter, 1) == 1;) output += letter;
    return output;
  }

 private:
  int controller_;
  std::FILE* file_;
};

TEST(progress, is_a_line_that_goes_away) {
  terminal screen;
  {
    progress line("the page", screen.file(), milliseconds(0));
    line.update(50, 200);
    EXPECT_EQ(screen.text(), "\r\x1b[Ktarn: the page: 50 of 200 sites, 25 %.");
  }
  EXPECT_EQ(screen.text(), "\r\x1b[K.");
}

TEST(progress, is_not_shown_of_what_is_quick) {
  terminal screen;
  {
    progress line("the page", screen.file(), milliseconds(600'000));
    line.update(1, 2);
  }
  EXPECT_EQ(screen.text(), ".");
}

TEST(progress, is_for_terminals) {
  std::FILE* const file = std::tmpfile();
  {
    progress line("the page", file, milliseconds(0));
    line.update(1, 2);
  }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace tarn::command
