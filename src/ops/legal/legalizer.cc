// Legalizer: checks of a call, placeholders and symbols of its kernel, the call_tir that replaces it.
#include <algorithm>
#include <unordered_set>

#include "ops/infer/util.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/legalize.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_type.h"

namespace rldb::ops {

using source::message;
using support::Failure;

Legalizer::Legalizer(ir::Context& ctx, ir::ModuleBuilder& module) : ctx_(ctx), module_(module) {
  for (const ir::ModuleEntry& e : module.build()->entries)
    if (const auto* f = ir::as<ir::PrimFunc>(e.function)) known_.emplace(ir::structural_hash(f), std::pair(e.name, f));
}

bool Legalizer::has_body(const ir::Call* call) {
  const OpInfo* info = find(call->callee);
  return info && info->legalize;
}

Result<const ir::Expr*> Legalizer::legalize(const ir::Call* call, ir::BlockBuilder& blocks) {
  const OpInfo* info = find(call->callee);
  if (!info || !info->legalize) {
    const auto* op = ir::as<ir::Op>(call->callee);
    return Failure(
        message(diag::OpNotLegalizable, op ? op->name : "call", "the operator has no tensor-expression body"));
  }
  const auto distributed = [](const Expr* e) { return ir::as<ir::DTensorType>(e->type) != nullptr; };
  if (distributed(call) || std::any_of(call->args.begin(), call->args.end(), distributed))
    return Failure(message(diag::OpNotLegalizable, info->name, "it works on distributed tensors"));
  for (std::size_t i = 0; i < call->args.size() && i < info->args.size(); ++i)
    if (info->args[i].kind == ArgKind::Prim && !ir::as<ir::PrimType>(call->args[i]->type))
      return Failure(message(diag::OpNotLegalizable, info->name,
                             "`" + std::string(info->args[i].name) + "` is not known to be a scalar"));
  blocks_ = &blocks;
  return info->legalize(*this, call);
}

const ir::GlobalVar* Legalizer::add_function(const ir::PrimFunc* f, std::string_view hint) {
  std::uint64_t hash = ir::structural_hash(f);
  auto [from, to] = known_.equal_range(hash);
  for (auto it = from; it != to; ++it)
    if (ir::structural_equal(it->second.second, f)) return ctx_.global_var(it->second.first, it->second.second->type);
  std::string_view name = ctx_.str(module_.unique_name(hint));
  module_.set(name, f);
  known_.emplace(hash, std::pair(name, f));
  return ctx_.global_var(name, f->type);
}

namespace {

// The function's own copies of the caller's symbolic variables.
struct Copies {
  ir::Context& ctx;
  ir::VarMap to_own;
  ir::VarMap to_caller;

  const Expr* map(const Expr* e) {
    std::vector<const ir::Var*> vars;
    ir::collect_vars(e, vars);
    if (vars.empty()) return e;
    for (const ir::Var* v : vars) {
      if (to_own.count(v)) continue;
      const ir::Var* copy = ctx.var(v->name, v->type);
      to_own[v] = copy;
      to_caller[copy] = v;
    }
    return ir::substitute(ctx, e, to_own);
  }
};

// Variables used by the stages below the outputs, shapes first.
using Seen = std::unordered_set<const te::Operation*>;

void collect_used(const te::Operation* op, Seen& seen, std::vector<const ir::Var*>& out) {
  if (!seen.insert(op).second) return;
  for (te::Tensor t : op->outputs)
    for (const Expr* d : t->shape) ir::collect_vars(d, out);
  for (const auto& a : op->reduce_axes) ir::collect_vars(a.dom.extent, out);
  for (te::Tensor t : op->inputs) collect_used(t->op, seen, out);
  for (const Expr* body : op->bodies)
    ir::walk(body, [&](const ir::Node* n) {
      if (const auto* v = ir::as<ir::Var>(n)) out.push_back(v);
      if (const auto* load = ir::as<ir::ProducerLoad>(n)) collect_used(te::tensor_of(load)->op, seen, out);
      return true;
    });
}

const Type* caller_type(ir::Context& ctx, te::Tensor t, const ir::VarMap& to_caller, const ir::VDevice* device) {
  Dims dims;
  for (const Expr* d : t->shape) dims.push_back(ir::substitute(ctx, d, to_caller));
  return ctx.tensor(dims, t->dtype, device);
}

bool shape_known(const Type* t) {
  if (const auto* tensor = ir::as<TensorType>(t)) return tensor->has_shape && !tensor->dtype.is_void();
  const auto* tuple = ir::as<ir::TupleType>(t);
  return tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(), shape_known);
}

// How the kernel's output tensors differ from the type of the call; empty when they do not.
std::string misfit(ir::Context& ctx, const std::vector<te::Tensor>& results, const Type* out) {
  if (!out || !shape_known(out)) return {};
  std::vector<const Type*> wanted{out};
  if (const auto* tuple = ir::as<ir::TupleType>(out)) wanted.assign(tuple->fields.begin(), tuple->fields.end());
  for (std::size_t i = 0; i < results.size() && i < wanted.size(); ++i) {
    const auto* t = ir::as<TensorType>(wanted[i]);
    if (!t) continue;
    bool fits = t->dtype == results[i]->dtype && t->shape.size() == results[i]->shape.size();
    for (std::size_t d = 0; fits && d < t->shape.size(); ++d) {
      const auto a = ir::const_int(t->shape[d]);
      const auto b = ir::const_int(results[i]->shape[d]);
      fits = !a || !b || *a == *b;
    }
    if (!fits)
      return "it would write " + ir::print_type(ctx.tensor(results[i]->shape, results[i]->dtype)) +
             ", but its type is " + ir::print_type(t);
  }
  return results.size() == wanted.size() ? std::string() : "it has another number of results than its type";
}

}  // namespace

Result<const ir::Expr*> Legalizer::call_te(std::string_view func_name, std::span<const ir::Expr* const> args,
                                           const ir::Type* out, const Body& body) {
  Copies copies{ctx_, {}, {}};
  te::Graph graph(ctx_);
  Te te{graph, ctx_, {}, [&](const Expr* e) { return copies.map(e); }};
  std::vector<const Expr*> leaves;
  for (const Expr* a : args) {
    const auto* tuple_type = ir::as<ir::TupleType>(a->type);
    if (!tuple_type) {
      leaves.push_back(a);
      continue;
    }
    const auto* tuple = ir::as<ir::Tuple>(a);
    for (std::size_t i = 0; i < tuple_type->fields.size(); ++i) {
      if (tuple) {
        leaves.push_back(tuple->items[i]);
        continue;
      }
      RLDB_TRY(const ir::TupleGetItem* get, ctx_.tuple_get(a, std::int64_t(i)));
      leaves.push_back(blocks_->emit(get));
    }
  }
  const auto* several = ir::as<ir::TupleType>(out);
  const std::size_t tensors = leaves.size() + (several ? several->fields.size() : 1);
  if (tensors > kMaxTensors)
    return Failure(message(diag::CodeTooLarge, func_name, tensors, "tensors in one kernel", kMaxTensors));
  std::vector<te::Param> params;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto* t = ir::as<TensorType>(leaves[i]->type);
    if (!t || !t->has_shape || t->dtype.is_void())
      return Failure(message(diag::OpNotLegalizable, func_name,
                             "the shape or dtype of argument " + std::to_string(i) + " is not known: `" +
                                 ir::print_type(leaves[i]->type) + "`"));
    Dims dims;
    for (const Expr* d : t->shape) dims.push_back(copies.map(d));
    const auto* v = ir::as<ir::Var>(leaves[i]);
    std::string letter(1, char('A' + int(i % 26)));
    te.in.push_back(graph.placeholder(dims, t->dtype, v ? v->name : std::string_view(letter)));
    params.push_back({te.in.back(), nullptr});
  }
  std::vector<te::Tensor> results = body(te);
  if (const std::string why = misfit(ctx_, results, out); !why.empty())
    return Failure(message(diag::OpNotLegalizable, func_name, why));

  std::vector<const ir::Var*> used;
  Seen seen;
  for (te::Tensor t : te.in)
    for (const Expr* d : t->shape) ir::collect_vars(d, used);
  for (te::Tensor t : results) collect_used(t->op, seen, used);
  std::unordered_set<const ir::Var*> bound;
  for (const auto* list : {&te.in, &results})
    for (te::Tensor t : *list)
      for (const Expr* d : t->shape)
        if (const auto* v = ir::as<ir::Var>(d)) bound.insert(v);
  std::vector<const Expr*> call_args = leaves;
  for (const ir::Var* v : used) {
    auto caller = copies.to_caller.find(v);
    if (caller == copies.to_caller.end() || !bound.insert(v).second) continue;
    params.push_back({nullptr, v});
    call_args.push_back(caller->second);
  }
  for (te::Tensor t : results) {
    // A result that is an argument itself is copied: the function must write it.
    bool is_input = std::find(te.in.begin(), te.in.end(), t) != te.in.end();
    if (is_input)
      t = graph.compute(
          t->shape, [&](te::Indices i) { return graph.load(t, i); }, "T_identity");
    params.push_back({t, nullptr});
  }
  const ir::GlobalVar* name = add_function(te::create_prim_func(ctx_, params), func_name);

  // The dims are written as the kernel has them, not as they were inferred.
  std::vector<const Type*> fields;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Type* wanted = !several ? out : i < several->fields.size() ? several->fields[i] : nullptr;
    const auto* inferred = ir::as<TensorType>(wanted);
    fields.push_back(caller_type(ctx_, results[i], copies.to_caller, inferred ? inferred->vdevice : nullptr));
  }
  const bool tuple = several || fields.size() != 1;
  const Type* out_type = tuple ? static_cast<const Type*>(ctx_.tuple_type(fields)) : fields[0];
  RLDB_TRY(const ir::Call* call, ctx_.call(op::CallTir, {name, ctx_.tuple(call_args)}, {}, {out_type}));
  return static_cast<const Expr*>(call);
}

}  // namespace rldb::ops
