// Legalizer: turns an operator's call into a call_tir of a generated PrimFunc (or into simpler bindings).
//
// Bodies are tensor expressions (src/ops/legal/*.cc over topi.h). New PrimFuncs go into a ModuleBuilder under a unique
// name (add, add1, ...); equal functions are added once. A call that cannot be legalised gives a Message with a reason
// (unknown shape, no body); the pass decides whether that is an error. Users: the LegalizeOps pass.
#pragma once

#include <unordered_map>

#include "rldb/ir/block_builder.h"
#include "rldb/ir/module.h"
#include "rldb/ops/op_info.h"
#include "rldb/te/create_prim_func.h"

namespace rldb::ops {

class Legalizer {
 public:
  // Functions already in `module` take part in sharing.
  Legalizer(ir::Context& ctx, ir::ModuleBuilder& module);

  ir::Context& context() { return ctx_; }
  // The expression that replaces the call: one binding's value. Extra bindings go to `blocks` before it.
  Result<const ir::Expr*> legalize(const ir::Call* call, ir::BlockBuilder& blocks);
  // Whether it can be legalised in principle: it has a body. Independent of shapes.
  static bool has_body(const ir::Call* call);

  // ---- for the bodies (src/ops/legal/*.cc) ----
  ir::BlockBuilder& blocks() { return *blocks_; }
  // The environment of a body. The function has symbolic variables of its own: every expression of the caller that goes
  // into it (target shapes, slice bounds, scalars) passes through `map`.
  struct Te {
    te::Graph& graph;
    ir::Context& ctx;
    std::vector<te::Tensor> in;  // the tensor arguments, tuples flattened
    std::function<const ir::Expr*(const ir::Expr*)> map;
  };
  // The arguments and results of one kernel: its parameters, and the operands that a concatenation or a split reads.
  static constexpr std::size_t kMaxTensors = 1'000;
  using Body = std::function<std::vector<te::Tensor>(Te&)>;
  // Runs `body` over placeholders of `args` (tensors or tuples of tensors) and creates the call_tir. Variables that no
  // parameter's shape binds become scalar parameters. `out`: the type of the call when its shape is known, else the
  // type comes from the tensors that `body` returns.
  Result<const ir::Expr*> call_te(std::string_view func_name, std::span<const ir::Expr* const> args,
                                  const ir::Type* out, const Body& body);
  // Adds the function or finds an equal one; returns its name.
  const ir::GlobalVar* add_function(const ir::PrimFunc* f, std::string_view hint);
  // A function of the module in its present state; null when absent.
  const ir::Expr* find_function(std::string_view name) const { return module_.find(name); }

 private:
  ir::Context& ctx_;
  ir::ModuleBuilder& module_;
  ir::BlockBuilder* blocks_ = nullptr;
  std::unordered_multimap<std::uint64_t, std::pair<std::string_view, const ir::PrimFunc*>> known_;
};

}  // namespace rldb::ops
