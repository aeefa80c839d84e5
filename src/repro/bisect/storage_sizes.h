// The sizes of the storages that a run allocates. A pass that does not plan memory keeps them, so that a wrong size
// computation shows although the values are right: a storage that is too large, or too small by bytes that this run
// does not use. Room-private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rldb/repro/sanitize.h"

namespace rldb::repro {

// By the function and the variable of the allocation. Allocations of one name with different sizes are left out.
using StorageSizes = std::map<std::pair<std::string, std::string>, std::int64_t>;

bool has_storages(const ir::Module* module);
StorageSizes storage_sizes(session::Session& session, const Program& program);
// Storages of both with different sizes.
std::vector<Finding> resized_storages(const StorageSizes& before, const StorageSizes& now);

}  // namespace rldb::repro
