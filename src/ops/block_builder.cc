// BlockBuilder: functions, scopes and kernels over ir::BlockBuilder, ir::ModuleBuilder and the Legalizer.
#include "rldb/ops/block_builder.h"

#include <unordered_set>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/visitor.h"

namespace rldb::ops {

namespace {

const ir::Module& or_empty(ir::Context& ctx, const ir::Module* base) {
  return base ? *base : *ir::ModuleBuilder(ctx).build();
}

// Parameters, and the dims in their types.
std::unordered_set<const ir::Var*> variables_of(const std::vector<const ir::Var*>& params) {
  std::unordered_set<const ir::Var*> all(params.begin(), params.end());
  for (const ir::Var* p : params) {
    std::vector<const ir::Var*> vars;
    ir::collect_vars(p->type, vars);
    all.insert(vars.begin(), vars.end());
  }
  return all;
}

}  // namespace

BlockBuilder::BlockBuilder(ir::Context& ctx, const ir::Module* base)
    : ctx_(ctx), module_(ctx, or_empty(ctx, base)), legalizer_(ctx, module_) {}

ir::BlockBuilder& BlockBuilder::body() {
  RLDB_CHECK(!open_.empty(), "bindings are emitted between begin_function and end_function");
  return open_.back()->body;
}

// After an error: continues with a variable of unknown type.
const ir::Var* BlockBuilder::fail(source::Message error) {
  if (!error_) error_ = std::move(error);
  return ctx_.var("unknown", ctx_.any());
}

// The value with leaves as its operands.
const ir::Expr* BlockBuilder::flat(const ir::Expr* value) {
  return ir::with_leaves(ctx_, value, [this](const ir::Expr* operand) { return emit(operand); });
}

const ir::Expr* BlockBuilder::leaf(const ir::Expr* value) { return ir::is_leaf(value) ? value : emit(value); }

std::string_view BlockBuilder::hint_or(std::string_view hint) {
  if (!hint.empty()) return hint;
  return body().in_dataflow() ? "lv" : "gv";
}

const ir::Var* BlockBuilder::symbol(std::string_view name) { return ctx_.var(name, ctx_.int64()); }

const ir::Var* BlockBuilder::param(std::string_view name, ir::Dims shape, ir::DType dtype) {
  return ctx_.var(name, ir::tensor_type(ctx_, shape, dtype));
}

void BlockBuilder::begin_function(std::string_view name, std::span<const ir::Var* const> params,
                                  const FunctionOptions& options) {
  bool known = module_.find(name) != nullptr;
  for (const auto& outer : open_) known = known || outer->name == name;
  RLDB_CHECK(!known, "a function `" + std::string(name) + "` is in the module already");
  Open& f = *open_.emplace_back(std::make_unique<Open>(ctx_));
  f.body.begin_scope();
  f.name = ctx_.str(name);
  f.params.assign(params.begin(), params.end());
  f.options = options;
  for (const ir::Var* p : params) f.body.reserve_name(p->name);
}

const ir::GlobalVar* BlockBuilder::end_function(const ir::Expr* result) {
  result = ir::isa<ir::Tuple>(result) ? flat(result) : leaf(result);
  const ir::SeqExpr* seq = body().end_scope(result);
  const std::unique_ptr<Open> done = std::move(open_.back());
  open_.pop_back();
  // The caller does not see variables that only the body defines.
  const std::unordered_set<const ir::Var*> visible = variables_of(done->params);
  const ir::Type* type = ir::erase(ctx_, result->type, [&](const ir::Var* v) { return visible.count(v) > 0; });
  ir::Span<ir::NamedAttr> attrs = done->options.attrs;
  if (!done->options.is_private) attrs = ctx_.with_attr(attrs, attr_name::GlobalSymbol, ctx_.attr(done->name));
  const ir::Function* f = ctx_.function(done->params, seq, type, done->options.pure, attrs);
  module_.set(done->name, f);
  return ctx_.global_var(done->name, f->type);
}

const ir::GlobalVar* BlockBuilder::add_function(const ir::PrimFunc* f, std::string_view name) {
  return legalizer_.add_function(f, name);
}

const ir::Var* BlockBuilder::emit(const ir::Expr* value, std::string_view hint) {
  return body().emit(flat(value), hint_or(hint));
}

const ir::Var* BlockBuilder::emit(const ir::Result<const ir::Call*>& call, std::string_view hint) {
  return call.ok() ? emit(*call, hint) : fail(call.error());
}

const ir::Var* BlockBuilder::emit_op(std::string_view op, std::initializer_list<const ir::Expr*> args,
                                     std::initializer_list<ir::NamedAttr> attrs, std::string_view hint) {
  return emit(ctx_.call(op, args, attrs), hint);
}

const ir::Var* BlockBuilder::emit_te(std::string_view kernel, std::initializer_list<const ir::Expr*> args,
                                     const Legalizer::Body& body_of, std::string_view hint) {
  std::vector<const ir::Expr*> tensors;
  for (const ir::Expr* a : args) {
    const auto* type = ir::as<ir::TupleType>(a->type);
    if (!type) tensors.push_back(leaf(a));
    for (std::size_t i = 0; type && i < type->fields.size(); ++i)
      tensors.push_back(emit(*ctx_.tuple_get(leaf(a), std::int64_t(i))));
  }
  auto made = legalizer_.call_te(kernel, tensors, nullptr, body_of);
  return made.ok() ? emit(*made, hint) : fail(std::move(made).error());
}

const ir::Var* BlockBuilder::match_cast(const ir::Expr* value, const ir::Type* type, std::string_view hint) {
  return body().emit_match_cast(leaf(value), type, hint_or(hint));
}

const ir::Var* BlockBuilder::emit_output(const ir::Expr* value, std::string_view hint) {
  return body().emit_output(flat(value), hint);
}

void BlockBuilder::dataflow(const std::function<void()>& block) {
  body().begin_dataflow();
  block();
  body().end_dataflow();
}

const ir::SeqExpr* BlockBuilder::branch(const Branch& b) {
  body().begin_scope();
  const ir::Expr* result = leaf(b());
  return body().end_scope(result);
}

const ir::Var* BlockBuilder::emit_if(const ir::Expr* condition, const Branch& then_branch, const Branch& else_branch,
                                     std::string_view hint) {
  RLDB_CHECK(!body().in_dataflow(), "a dataflow block has no branches");
  condition = leaf(condition);
  const ir::SeqExpr* yes = branch(then_branch);
  const ir::SeqExpr* no = branch(else_branch);
  return emit(ctx_.if_expr(condition, yes, no, ir::join(ctx_, yes->body->type, no->body->type)), hint);
}

const ir::Var* BlockBuilder::emit_function(std::initializer_list<const ir::Var*> params, const Branch& body_of,
                                           std::string_view hint) {
  for (const ir::Var* p : params) body().reserve_name(p->name);
  const ir::SeqExpr* seq = branch(body_of);
  // Variables that casts in the body define are not known outside, except dims of the parameters.
  std::unordered_set<const ir::Var*> inner;
  for (const ir::BindingBlock* block : seq->blocks)
    for (const ir::Binding* b : block->bindings) {
      std::vector<const ir::Var*> vars;
      if (b->cast_type) ir::collect_vars(b->cast_type, vars);
      inner.insert(vars.begin(), vars.end());
    }
  const std::vector<const ir::Var*> own(params);
  for (const ir::Var* v : variables_of(own)) inner.erase(v);
  const ir::Type* type = ir::erase(ctx_, seq->body->type, [&](const ir::Var* v) { return !inner.contains(v); });
  return body().emit(ctx_.function(own, seq, type, true, {}), hint);
}

ir::Result<const ir::Module*> BlockBuilder::build() {
  RLDB_CHECK(open_.empty(), "a module is built after its last function has ended");
  if (error_) return support::Failure(*error_);
  const ir::Module* module = module_.build();
  source::Diagnostics found;
  if (ir::verify(ctx_, module, found)) return module;
  const source::Diagnostic& first = found.all().front();
  return support::Failure(
      source::Message{.id = first.id, .text = first.message, .hint = first.hint, .notes = first.notes});
}

}  // namespace rldb::ops
