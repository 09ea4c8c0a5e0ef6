// The rows through malloc. Which allocator answers is decided by LD_PRELOAD.
#include "command.hpp"
#include "front_malloc.hpp"

int main(int count, char** arguments) { return bench::command<bench::malloc_front>(count - 1, arguments + 1); }
