// The CPU of this machine, as the system describes it. Users: profiles, recorded runs.
#pragma once

#include <string>
#include <vector>

namespace rldb::support {

std::string cpu_model();
// Names of its features (`avx2`, `fma`), sorted; empty: not known.
std::vector<std::string> cpu_features();

}  // namespace rldb::support
