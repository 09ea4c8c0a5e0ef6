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
  tarn::propagate_const<std::unique_ptr<host>> proxy;
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
void leak() { host* hosts = settings->hosts.data(); }
//- clang: cannot initialize a variable of type 'host *'
void leak() { host* hosts = settings->hosts.data(); }

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
//- bad: make it a pointer to const (std::shared_ptr<const X>), tarn::propagate_const<std::unique_ptr<X>>
struct node {
  host* target;
};
tarn::read_only<node> list;
//- bad: a member of T gives access that is not const
struct counter {
  mutable int reads;
};
tarn::read_only<counter> counters;
//- bad: If a const object of that class X gives only const access, write: template <> struct tarn::deeply_const<X>
class closed {
  host* target = nullptr;
};
tarn::read_only<closed> things;
//- bad: because some are private
class closed {
  int number = 0;

 public:
  int value() const { return number; }
};
struct whole {
  std::vector<closed> parts;
};
tarn::read_only<whole> built;
//- good
class closed {
  int number = 0;

 public:
  int value() const { return number; }
};
struct whole {
  std::vector<closed> parts;
};
template <>
struct tarn::deeply_const<closed> : std::true_type {};
tarn::read_only<whole> built;

//- good
struct eight {
  int a, b, c, d, e, f, g;
  std::string h;
};
struct sixty_four {
  int a[3], b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z;
  int aa, bb, cc, dd, ee, ff, gg, hh, ii, jj, kk, ll, mm, nn, oo, pp, qq, rr, ss, tt, uu, vv, ww, xx, yy, zz;
  eight a1, b1, c1, d1, e1, f1, g1, h1, i1, j1, k1;
  std::vector<std::string> last;
};
tarn::read_only<sixty_four> numbers;
//- bad: a member of T gives access that is not const
struct seventeen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
  host* last;
};
tarn::read_only<seventeen> numbers;
//- bad: of more than 64 members, which the compiler cannot inspect. Divide it
struct sixty_five {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z;
  int aa, bb, cc, dd, ee, ff, gg, hh, ii, jj, kk, ll, mm, nn, oo, pp, qq, rr, ss, tt, uu, vv, ww, xx, yy, zz;
  int a1, b1, c1, d1, e1, f1, g1, h1, i1, j1, k1, l1, m1;
};
tarn::read_only<sixty_five> numbers;

//- good
const tarn::read_only<config>& reference = settings;
//- bad: deleted
tarn::read_only<config> copy(settings);
//- bad: read_only<T> adds the const itself
tarn::read_only<const config> twice;
