// KernelInliner: inlines the body of a PrimFunc into another one: the buffers of its parameters are replaced by given
// ones, symbolic variables and scalar parameters by expressions, and everything it defines itself is renewed, so that
// one function may be inlined twice.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// Names that are unique within one PrimFunc: T_add, T_add_1 with "_" as the separator.
class UniqueNames {
 public:
  explicit UniqueNames(std::string separator) : separator_(std::move(separator)) {}
  std::string take(std::string_view wanted);

 private:
  std::string separator_;
  std::unordered_map<std::string, int> next_;
};

class KernelInliner : public ir::Rewriter {
 public:
  KernelInliner(ir::Context& ctx, UniqueNames& block_names) : Rewriter(ctx), block_names_(block_names) {}

  void put_scalar(const ir::Var* from, const ir::Expr* to) { remap(from, ir::cast_to(ctx_, from->dtype(), to)); }
  bool has_scalar(const ir::Var* v) const { return lookup(v) != v; }
  void put_buffer(const ir::Buffer* from, const ir::Buffer* to);
  const ir::Expr* dim(const ir::Expr* e) { return rewrite(e); }
  // A copy of one of the kernel's own buffers, with the shape in terms of the caller.
  const ir::Buffer* renew(const ir::Buffer* b, std::string_view name);

 protected:
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override;
  const ir::Expr* visit_expr(const ir::Expr* e) override;

 private:
  const ir::Var* renew(const ir::Var* v);
  const ir::Buffer* renewed_view(const ir::Buffer* b);
  const ir::Stmt* renewed(const ir::Stmt* s);
  const ir::SBlock* renewed_block(const ir::SBlock* s);

  UniqueNames& block_names_;
};

}  // namespace rldb::passes
