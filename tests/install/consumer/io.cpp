// Uses tarn::io as an outside project does.
#include <tarn/io.hpp>

#include <cstdio>

int main() {
  tarn::io::writer out(tarn::io::file::borrow(1, "standard output"));
  try {
    tarn::io::reader("/nowhere/at/all");
  } catch (const tarn::io::error& failed) {
    if (failed.code() == std::errc::no_such_file_or_directory) out.line("ok");
  }
  tarn::io::batch files;
  files.read_file("/dev/null");
  files.run();
  tarn::io::reader nothing("/dev/null");
  return nothing.line() || !files.contents()[0] ? 1 : 0;
}
