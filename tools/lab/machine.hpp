// The facts of the machine that stand beside every figure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tarn::lab {

// Name and value, in the order in which they are shown: date, cpu, cores, memory, kernel, libc, compiler …
std::vector<std::pair<std::string, std::string>> machine_facts();

// Processors that this process may use.
unsigned cores();

// A name of a folder made of the cpu and its cores: "amd-epyc-2-cores".
std::string machine_name(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace tarn::lab
