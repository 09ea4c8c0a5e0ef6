// Has the symbols that `tarn top` looks for in a program, but of another Tarn.
#include <unistd.h>

extern const unsigned long tarn_watch_root[3];
const unsigned long tarn_watch_root[3] = {0x746f6f72206e7261, 1, 0};

int main(void) { return (int)sleep(60); }
