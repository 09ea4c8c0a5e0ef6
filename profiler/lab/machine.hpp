// The facts of the machine that stand beside every figure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tarn::lab {

// Returns names and values in the order of display: date, cpu, cores, memory, kernel, libc, compiler …
std::vector<std::pair<std::string, std::string>> machine_facts();

// Returns the number of processors that this process may use.
unsigned cores();

// Returns a folder name made of the cpu and its cores: "amd-epyc-2-cores".
std::string machine_name(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace tarn::lab
