// An object that is built once stays deeply const.
#include <map>
#include <memory>
#include <string>
#include <tarn/read_only.hpp>
#include <vector>

struct host {
  std::string name;
  int port = 80;
};
struct config {
  std::vector<host> hosts;
  std::shared_ptr<const host> fallback;
  tarn::deep<std::unique_ptr<host>> proxy;
};
inline tarn::read_only<config> settings;

//- good
void build() { settings.build(config{}); }
int read() { return settings->hosts[0].port + settings->proxy->port + settings->fallback->port; }
//- gcc: assignment of member
void change() { settings->hosts[0].port = 1; }
//- clang: cannot assign to return value
void change() { settings->hosts[0].port = 1; }
//- bad: push_back
void change() { settings->hosts.push_back({}); }
//- gcc: assignment of member
void change() { settings->proxy->port = 1; }
//- clang: cannot assign to return value
void change() { settings->proxy->port = 1; }
//- gcc: invalid conversion from
void leak() { host* all = settings->hosts.data(); }
//- clang: cannot initialize a variable of type 'host *'
void leak() { host* all = settings->hosts.data(); }

//- good
struct good_node {
  std::vector<std::shared_ptr<const good_node>> next;
};
tarn::read_only<good_node> list;
//- bad: a member of T gives access that is not const
struct node {
  std::vector<std::shared_ptr<node>> next;
};
tarn::read_only<node> list;
//- bad: make it a pointer to const (std::shared_ptr<const X>), tarn::deep<std::unique_ptr<X>>
struct node {
  host* to;
};
tarn::read_only<node> list;
//- bad: a member of T gives access that is not const
struct counted {
  mutable int reads;
};
tarn::read_only<counted> counters;
//- bad: or specialise tarn::deeply_const<T>
class closed {
  host* to = nullptr;
};
tarn::read_only<closed> things;

//- good
const tarn::read_only<config>& same = settings;
//- bad: deleted
tarn::read_only<config> copy(settings);
//- bad: read_only<T> adds the const itself
tarn::read_only<const config> twice;
