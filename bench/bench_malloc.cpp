// Runs the rows through malloc. LD_PRELOAD decides which allocator answers.
#include "command.hpp"
#include "front_malloc.hpp"

int main(int count, char** arguments) { return bench::command<bench::malloc_front>(count - 1, arguments + 1); }
