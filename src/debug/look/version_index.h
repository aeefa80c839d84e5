// VersionIndex: the bindings of one version of a module by their nodes, and the way back from a node to its origins.
// Users: the origin of an instruction, texts of versions.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/module.h"

namespace rldb::debug {

// The bindings of one version, by every node that belongs to one of them only.
class VersionIndex {
 public:
  explicit VersionIndex(const ir::Module* module);
  const ir::Binding* find(std::uint32_t id) const;

 private:
  void add(const ir::Binding* b);
  std::unordered_map<std::uint32_t, const ir::Binding*> by_id_;
};

// The binding of `version` from which these nodes come; null: there is none.
const ir::Binding* ancestor(const VersionIndex& version, const ir::SideTable<ir::Span<std::uint32_t>>& origins,
                            std::vector<std::uint32_t> nodes);
std::vector<std::uint32_t> ids_of(const ir::Binding* b);

}  // namespace rldb::debug
