// Where the nodes of a function's graph are evaluated: in the innermost scope common to all uses. Scopes are function
// bodies, branches and arms.
#pragma once

#include <vector>

#include "rldb/relay/ir/expr.h"
#include "rldb/relay/ir/node_map.h"

namespace rldb::to_relax {

class Scopes {
 public:
  // `root` is a function or a lone expression; nodes outside it do not count.
  explicit Scopes(const relay::Expr* root);

  // Nodes placed before `owner` (an `if`, a `match`, a function), because more than one of its scopes needs them, or
  // one of them and the code after it. Operands first.
  const std::vector<const relay::Expr*>& before(const relay::Expr* owner) const;

 private:
  struct Scope {
    int parent;
    int depth;
    const relay::Expr* owner;  // the node that the scope belongs to; null: the root
  };
  int inner(int parent, const relay::Expr* owner);
  int common(int a, int b) const;
  void use(const relay::Expr* e, int scope);
  void visit(const relay::Expr* e);

  std::vector<Scope> scopes_{{-1, 0, nullptr}};
  relay::NodeMap<int> scope_of_;
  relay::NodeMap<std::vector<int>> uses_;  // the scopes in which a node is used
  relay::NodeMap<std::vector<const relay::Expr*>> before_;
};

}  // namespace rldb::to_relax
