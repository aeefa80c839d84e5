#include "relay/to_relax/scopes.h"

#include <algorithm>

#include "rldb/relay/ir/node_set.h"
#include "rldb/support/cancel.h"

namespace rldb::to_relax {

using relay::ExprKind;

namespace {

// All nodes that are not leaves, users before their operands.
std::vector<const relay::Expr*> users_first(const relay::Expr* root) {
  std::vector<const relay::Expr*> all;
  relay::NodeSet seen;
  std::vector<const relay::Expr*> open{root};
  while (!open.empty()) {
    support::poll();
    const relay::Expr* e = open.back();
    open.pop_back();
    if (relay::is_leaf(e) || !seen.insert(e)) continue;
    all.push_back(e);
    relay::for_each_operand(e, [&](const relay::Expr* x) { open.push_back(x); });
  }
  std::sort(all.begin(), all.end(), [](const relay::Expr* a, const relay::Expr* b) { return a->id > b->id; });
  return all;
}

}  // namespace

Scopes::Scopes(const relay::Expr* root) {
  std::vector<const relay::Expr*> nodes = users_first(root);
  scope_of_.emplace(root, 0);
  for (const relay::Expr* e : nodes) {
    support::poll();
    if (const auto used = uses_.find(e); used != uses_.end()) {
      int scope = used->second.front();
      for (const int s : used->second) scope = common(scope, s);
      scope_of_.emplace(e, scope);
      // The nodes that its scopes need from outside.
      for (int s : used->second) {
        if (s == scope) continue;
        while (scopes_[std::size_t(s)].parent != scope) s = scopes_[std::size_t(s)].parent;
        std::vector<const relay::Expr*>& list = before_[scopes_[std::size_t(s)].owner];
        if (list.empty() || list.back() != e) list.push_back(e);
      }
    }
    visit(e);
  }
  for (auto& [owner, list] : before_) std::reverse(list.begin(), list.end());
}

int Scopes::inner(int parent, const relay::Expr* owner) {
  scopes_.push_back({parent, scopes_[std::size_t(parent)].depth + 1, owner});
  return int(scopes_.size()) - 1;
}

int Scopes::common(int a, int b) const {
  while (a != b) {
    int& deeper = scopes_[std::size_t(a)].depth >= scopes_[std::size_t(b)].depth ? a : b;
    deeper = scopes_[std::size_t(deeper)].parent;
  }
  return a;
}

void Scopes::use(const relay::Expr* e, int scope) {
  if (relay::is_leaf(e)) return;
  std::vector<int>& list = uses_[e];
  if (list.empty() || list.back() != scope) list.push_back(scope);
}

void Scopes::visit(const relay::Expr* e) {
  const int here = scope_of_.at(e);
  if (const auto* branch = relay::as<relay::If>(e)) {
    use(branch->condition, here);
    use(branch->consequence, inner(here, e));
    use(branch->alternative, inner(here, e));
  } else if (const auto* f = relay::as<relay::Function>(e)) {
    use(f->body, inner(here, e));
  } else if (const auto* m = relay::as<relay::Match>(e)) {
    use(m->value, here);
    for (const relay::Arm& arm : m->arms) use(arm.body, inner(here, e));
  } else {
    relay::for_each_operand(e, [&](const relay::Expr* x) { use(x, here); });
  }
}

const std::vector<const relay::Expr*>& Scopes::before(const relay::Expr* owner) const {
  static const std::vector<const relay::Expr*> none;
  const auto found = before_.find(owner);
  return found == before_.end() ? none : found->second;
}

}  // namespace rldb::to_relax
