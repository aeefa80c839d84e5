// Provenance, from the first version on: what has been found for a version is where the next one stops searching.
#include "ui/page/relatives.h"

#include <algorithm>
#include <unordered_set>

#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMostSearched = 512;  // nodes behind one binding

template <class F>
void for_each_binding(const ir::Module* module, const F& f) {
  for (const ir::ModuleEntry& entry : module->entries) {
    const auto* function = ir::as<ir::Function>(entry.function);
    if (!function || !function->body) continue;
    ir::walk(function->body, [&](const ir::Node* n) {
      if (const auto* b = ir::as<ir::Binding>(n)) f(b);
      return true;
    });
  }
}

// A variable or a shared constant as a value belongs to other bindings too.
bool is_own_value(const ir::Expr* value) {
  return ir::isa<ir::Call>(value) || ir::isa<ir::Tuple>(value) || ir::isa<ir::TupleGetItem>(value) ||
         ir::isa<ir::If>(value) || ir::isa<ir::Function>(value);
}

void merge(RelativeList& into, const RelativeList& from) {
  into.insert(into.end(), from.begin(), from.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

}  // namespace

Relatives::Relatives(const ir::Context& context, const std::vector<debug::ModuleVersion>& versions) {
  std::size_t first = 0;
  for (std::size_t v = 0; v < versions.size(); ++v)
    if (versions[v].pass.empty() && !versions[v].by_build) first = v;
  callers_.resize(versions.size());
  for (std::size_t v = first; v < versions.size(); ++v) {
    if (v == first)
      number(versions[v].module);
    else
      follow(versions[v].module, context.origins());
    note_calls(v, versions[v].module);
  }
}

void Relatives::number(const ir::Module* module) {
  std::uint32_t next = 0;
  for_each_binding(module, [&](const ir::Binding* b) {
    const RelativeList own{next++};
    of_[b->id] = of_[b->var->id] = own;
    if (is_own_value(b->value)) of_.try_emplace(b->value->id, own);
  });
}

void Relatives::follow(const ir::Module* module, const ir::SideTable<ir::Span<std::uint32_t>>& origins) {
  std::vector<std::pair<const ir::Binding*, RelativeList>> found;
  for_each_binding(module, [&](const ir::Binding* b) {
    support::poll();
    if (!of_.contains(b->id)) found.emplace_back(b, search({b->id, b->var->id, b->value->id}, origins));
  });
  for (auto& [b, list] : found) {
    of_.try_emplace(b->var->id, list);
    if (is_own_value(b->value)) of_.try_emplace(b->value->id, list);
    of_[b->id] = std::move(list);
  }
}

RelativeList Relatives::search(std::vector<std::uint32_t> nodes,
                               const ir::SideTable<ir::Span<std::uint32_t>>& origins) const {
  RelativeList list;
  std::unordered_set<std::uint32_t> seen(nodes.begin(), nodes.end());
  for (std::size_t i = 0; i < nodes.size() && i < kMostSearched; ++i) {
    if (const auto it = of_.find(nodes[i]); it != of_.end()) {
      merge(list, it->second);
      continue;
    }
    for (const std::uint32_t id : origins.get(nodes[i]))
      if (seen.insert(id).second) nodes.push_back(id);
  }
  return list;
}

void Relatives::note_calls(std::size_t version, const ir::Module* module) {
  for_each_binding(module, [&](const ir::Binding* b) {
    const RelativeList& list = of(b->id);
    if (list.empty()) return;
    ir::walk(b->value, [&](const ir::Node* n) {
      if (const auto* global = ir::as<ir::GlobalVar>(n)) {
        RelativeList& all = callers_[version][global->name];
        all.insert(all.end(), list.begin(), list.end());
      }
      return !ir::isa<ir::Function>(n);
    });
  });
  for (auto& [name, all] : callers_[version]) merge(all, {});
}

const RelativeList& Relatives::of(std::uint32_t node) const {
  static const RelativeList none;
  const auto it = of_.find(node);
  return it == of_.end() ? none : it->second;
}

const RelativeList& Relatives::of_callers(std::size_t version, std::string_view function) const {
  static const RelativeList none;
  if (version >= callers_.size()) return none;
  const auto it = callers_[version].find(function);
  return it == callers_[version].end() ? none : it->second;
}

}  // namespace rldb::ui
