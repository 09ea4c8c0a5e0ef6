// An object of one thread stays in that thread.
#include <string>
#include <tarn/shared.hpp>
#include <tarn/transient.hpp>
#include <thread>
#include <vector>

inline void append(std::string& text) { text += "x"; }

//- good
void serve() {
  tarn::transient<std::string> reply("a");
  append(*reply);
  reply->push_back('b');
}
//- bad: a transient object stays with its thread
void serve() {
  tarn::transient<std::string> reply("a");
  auto* address = &reply;
}
//- bad: deleted
void serve() {
  tarn::transient<std::string> reply("a");
  auto copy = reply;
}
//- bad: deleted
void serve() {
  tarn::transient<std::string> reply("a");
  auto moved = std::move(reply);
}
//- bad: deleted
auto* serve() { return new tarn::transient<std::string>("a"); }
//- bad: deleted
void serve() {
  tarn::transient<std::string> reply("a");
  std::thread([reply] {}).join();
}
