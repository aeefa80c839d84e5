// BlockBuilder: writes whole modules from C++: functions, dataflow blocks, branches, kernels from tensor expressions.
//
// The names are those of TVM's relax.BlockBuilder. Values are put into normal form and typed as they are emitted. A
// failure (a call that does not type, a shape that is not known) is kept as the first error: the rest is
// built on placeholders, and `build` returns the error. A use that makes no sense (an `emit` outside a function) fails
// a CHECK. ir::BlockBuilder, below it, writes one body. Users: programs that build on rldb
// (docs/building-on-rldb.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "rldb/ir/block_builder.h"
#include "rldb/ir/braced.h"
#include "rldb/ops/legalize.h"

namespace rldb::ops {

class BlockBuilder {
 public:
  // `base`: a module to add the functions to. The context must have operators (ops::install; a Session's has).
  explicit BlockBuilder(ir::Context& ctx, const ir::Module* base = nullptr);
  ir::Context& context() { return ctx_; }

  // ---- functions ----
  // A function may begin inside of another, whose writing goes on when it has ended: both are functions of the module.
  // A symbolic variable: a dimension of parameters and of values computed from them. One that occurs in no
  // parameter's shape (nor in a parameter of type R.Shape) is defined by the first match_cast that mentions it.
  const ir::Var* symbol(std::string_view name);
  // A parameter that is a tensor: param("x", {n, 4}, f32). Others are variables of their type: ctx.var("t", type).
  const ir::Var* param(std::string_view name, ir::Dims shape, ir::DType dtype);
  struct FunctionOptions {
    bool is_private = false;  // a public function gets its name as its global_symbol
    bool pure = true;
    ir::Span<ir::NamedAttr> attrs;
  };
  void begin_function(std::string_view name, std::span<const ir::Var* const> params, const FunctionOptions& options);
  void begin_function(std::string_view name, std::initializer_list<const ir::Var*> params) {
    begin_function(name, {params.begin(), params.size()}, {});
  }
  const ir::GlobalVar* end_function(const ir::Expr* result);
  // A kernel under its name, or under name1, name2, ...; equal kernels are added once.
  const ir::GlobalVar* add_function(const ir::PrimFunc* f, std::string_view name);

  // ---- bindings ----
  // No hint: lv in a dataflow block, else gv; then lv1, lv2, ...
  const ir::Var* emit(const ir::Expr* value, std::string_view hint = {});
  const ir::Var* emit(const ir::Result<const ir::Call*>& call, std::string_view hint = {});
  const ir::Var* emit_op(std::string_view op, std::initializer_list<const ir::Expr*> args,
                         std::initializer_list<ir::NamedAttr> attrs = {}, std::string_view hint = {});
  // A call_tir of a kernel made from tensor expressions over `args` (tensors or tuples of tensors).
  const ir::Var* emit_te(std::string_view kernel, std::initializer_list<const ir::Expr*> args,
                         const Legalizer::Body& body, std::string_view hint = {});
  const ir::Var* match_cast(const ir::Expr* value, const ir::Type* type, std::string_view hint = {});
  // Visible outside the dataflow block.
  const ir::Var* emit_output(const ir::Expr* value, std::string_view hint = "gv");

  // ---- scopes ----
  void dataflow(const std::function<void()>& block);
  using Branch = std::function<const ir::Expr*()>;  // emits, and returns the branch's result
  const ir::Var* emit_if(const ir::Expr* condition, const Branch& then_branch, const Branch& else_branch,
                         std::string_view hint = {});

  // A local function as a value: its body may use what is bound around it.
  const ir::Var* emit_function(std::initializer_list<const ir::Var*> params, const Branch& body_of,
                               std::string_view hint = "inner");

  // The module, verified. After it, more functions may be added and `build` be called again.
  ir::Result<const ir::Module*> build();

 private:
  ir::BlockBuilder& body();
  const ir::Var* fail(source::Message error);
  const ir::Expr* flat(const ir::Expr* value);
  const ir::Expr* leaf(const ir::Expr* value);
  std::string_view hint_or(std::string_view hint);
  const ir::SeqExpr* branch(const Branch& b);

  ir::Context& ctx_;
  ir::ModuleBuilder module_;
  Legalizer legalizer_;
  // A function being written.
  struct Open {
    explicit Open(ir::Context& ctx) : body(ctx) {}
    ir::BlockBuilder body;
    std::string_view name;
    std::vector<const ir::Var*> params;
    FunctionOptions options;
  };
  std::vector<std::unique_ptr<Open>> open_;  // outermost first
  std::optional<source::Message> error_;
};

}  // namespace rldb::ops
