// Where the nodes of a function's graph are evaluated: at the innermost scope that all uses share. Scopes are function
// bodies, branches and arms.
#pragma once

#include <unordered_map>
#include <vector>

#include "rldb/relay/ir/expr.h"

namespace rldb::to_relax {

class Scopes {
 public:
  // `root` is a function or a lone expression; nothing outside of it counts.
  explicit Scopes(const relay::Expr* root);

  // What comes before `owner` (an `if`, a `match`, a function), because more than one of its scopes wants it, or one
  // and what follows. Operands first.
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
  std::unordered_map<const relay::Expr*, int> scope_of_;
  std::unordered_map<const relay::Expr*, std::vector<int>> uses_;  // the scopes that a node is used in
  std::unordered_map<const relay::Expr*, std::vector<const relay::Expr*>> before_;
};

}  // namespace rldb::to_relax
