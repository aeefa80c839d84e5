// Scalar expressions of TensorIR under an Environment. Vectors are evaluated lane by lane: `lane` picks one.
#pragma once

#include <optional>
#include <string>

#include "eval/tir/environment.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/runtime/packed.h"

namespace rldb::eval {

class ExprEval {
 public:
  ExprEval(const Environment& env, const runtime::PackedRegistry* registry, AccessWatcher* watcher = nullptr)
      : env_(env), registry_(registry), watcher_(watcher) {}
  // For expressions outside a function (`print n * 2` at a stop): called when the environment has no value.
  void set_outer(const ScalarEnv* outer) { outer_ = outer; }

  runtime::Result<Scalar> eval(const ir::Expr* e, int lane = 0) const;
  runtime::Result<std::int64_t> integer(const ir::Expr* e) const;
  // Address of an element, checked against the buffer's shape. The error names buffer, index and dimension.
  runtime::Result<std::byte*> address(const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices, int lane) const;
  runtime::Result<BufferValue> buffer(const ir::Buffer* b) const;
  // An argument of a packed call: a tensor for a buffer's data, a number, a string.
  runtime::Result<runtime::Value> as_value(const ir::Expr* e) const;
  runtime::Result<runtime::Value> call_packed(const ir::Call* call) const;
  runtime::Result<Scalar> is_null(const ir::Expr* pointer) const;

 private:
  runtime::Result<std::vector<std::int64_t>> integers(ir::Span<const ir::Expr*> values) const;
  runtime::Result<Scalar> variable(const ir::Var* v, int lane) const;
  runtime::Result<Scalar> call(const ir::Call* c, int lane) const;
  runtime::Result<Scalar> reinterpret(const ir::Call* c, int lane) const;
  runtime::Result<Scalar> exchanged(const ir::Call* c) const;
  runtime::Result<Scalar> multiply_add(const ir::Call* c, int lane) const;
  // (lane_calls.cc) Null: another call.
  std::optional<runtime::Result<Scalar>> lane_call(const ir::Call* c, int lane) const;
  runtime::Result<Scalar> active_lane(const ir::Call* c, int lane) const;
  runtime::Result<Scalar> fixed_point(const ir::Call* c, int lane) const;
  runtime::Result<Scalar> of_llvm(const ir::LlvmFunction& f, const ir::Call* c, int lane) const;
  runtime::Result<Scalar> let(const ir::LetExpr* e, int lane) const;

  const Environment& env_;
  const runtime::PackedRegistry* registry_;
  AccessWatcher* watcher_;
  const ScalarEnv* outer_ = nullptr;
  mutable int depth_ = 0;
};

int lanes_of(const ir::Expr* e);
// A call as messages name it: `T.exp`, `T.call_llvm_pure_intrin("llvm.exp")`.
std::string callee_text(const ir::Call* c);
// Calls a registered packed function.
bool is_packed_call(const ir::Expr* e);

}  // namespace rldb::eval
