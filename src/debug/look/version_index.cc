// Bindings of a version by their nodes.
#include "debug/look/version_index.h"

#include <algorithm>

#include "rldb/ir/walk.h"

namespace rldb::debug {

namespace {

constexpr std::size_t kMaxQueue = 512;

}  // namespace

VersionIndex::VersionIndex(const ir::Module* module) {
  for (const ir::ModuleEntry& entry : module->entries) {
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f) continue;
    ir::walk(f->body, [&](const ir::Node* n) {
      if (const auto* b = ir::as<ir::Binding>(n)) add(b);
      return true;
    });
  }
}

const ir::Binding* VersionIndex::find(std::uint32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

void VersionIndex::add(const ir::Binding* b) {
  by_id_[b->id] = b;
  by_id_[b->var->id] = b;
  if (ir::isa<ir::Call>(b->value) || ir::isa<ir::Tuple>(b->value) || ir::isa<ir::TupleGetItem>(b->value) ||
      ir::isa<ir::If>(b->value) || ir::isa<ir::Function>(b->value))
    by_id_.try_emplace(b->value->id, b);
}

const ir::Binding* ancestor(const VersionIndex& version, const ir::SideTable<ir::Span<std::uint32_t>>& origins,
                            std::vector<std::uint32_t> nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const ir::Binding* b = version.find(nodes[i])) return b;
    if (nodes.size() > kMaxQueue) continue;
    for (const std::uint32_t id : origins.get(nodes[i]))
      if (std::find(nodes.begin(), nodes.end(), id) == nodes.end()) nodes.push_back(id);
  }
  return nullptr;
}

std::vector<std::uint32_t> ids_of(const ir::Binding* b) { return {b->id, b->var->id, b->value->id}; }

}  // namespace rldb::debug
