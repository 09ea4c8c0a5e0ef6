// check: tarn-buffered
#include <fstream>
#include <iostream>
#include <string>

namespace app {
struct stream {
  stream& operator<<(const std::string& text);
  stream& operator<<(std::ostream& (*function)(std::ostream&));
};
}  // namespace app
#define LINE_END std::endl

void lines(std::ostream& output, const std::string& text) {
  // review: std::endl writes each line at once
  // becomes: output << text << '\n';
  // site: 0
  output << text << std::endl;
  output << text << std::endl;
  std::ofstream file("some file");
  // review: but a reader may wait for the line
  // becomes: file << text << '\n' << 1;
  // site: 0
  file << text << std::endl << 1;
  // review: std::endl writes
  // becomes: std::wcout << L"text" << L'\n';
  // site: 0
  std::wcout << L"text" << std::endl;
  // no edit: this stream writes each piece at once
  // site: 0
  std::cerr << text << std::endl;
  // no edit: a macro writes this code
  // site: 0
  output << text << LINE_END;
  // site: 0
  output << text << std::flush;
}

void own_stream(app::stream& output, const std::string& text) {
  // no edit: the stream is none of the library
  // site: 0
  output << text << std::endl;
}

template <class Value>
void value_line(const Value& value) {
  // review: std::endl writes
  // becomes: std::cout << value << '\n';
  // site: 0
  std::cout << value << std::endl;
}
template void value_line(const int&);
template void value_line(const std::string&);
