// One PrimFunc built from the kernels that a Relax function calls, with intermediate tensors as internal buffers.
#include "passes/fusion/fused_kernel.h"

#include <algorithm>

#include "passes/common.h"
#include "passes/signature/call_sites.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/scalar.h"
#include "rldb/support/cancel.h"
#include "rldb/support/planted.h"
#include "rldb/tir_passes/inline_kernel.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_plain(const Buffer* b) {
  return b->strides.empty() && (!b->elem_offset || is_const(b->elem_offset, 0)) && b->axis_separators.empty();
}

// The block that is the whole body of a schedulable function; null for any other body.
const SBlock* root_of(const PrimFunc* f) {
  const auto* realize = as<SBlockRealize>(f->body);
  if (!realize || !realize->block->iter_vars.empty() || !is_const(realize->predicate, 1)) return nullptr;
  const SBlock* root = realize->block;
  return root->init || !root->match_buffers.empty() || !root->annotations.empty() ? nullptr : root;
}

class KernelFuser {
 public:
  KernelFuser(Context& ctx, const Module* module) : ctx_(ctx), module_(module) {}

  std::optional<FusedKernel> run(const Function* f) {
    if (!add_parameters(f)) return std::nullopt;
    for (const BindingBlock* block : f->body->blocks)
      for (const Binding* b : block->bindings) {
        support::poll();
        if (b->is_match_cast() || !add_binding(b)) return std::nullopt;
      }
    return finish(f);
  }

 private:
  using Buffers = std::vector<const Buffer*>;

  // ---- parameters ----

  bool add_parameters(const Function* f) {
    kernel_.shape_dims.resize(f->params.size());
    // The kernel's own symbolic variables.
    std::vector<const Var*> symbols;
    for (const Var* p : f->params) collect_vars(p->type, symbols);
    for (const Var* v : symbols)
      if (!symbols_.count(v)) symbols_[v] = own(v);
    std::vector<PrimParam> scalars;
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      const Var* p = f->params[i];
      if (const auto* shape = as<ShapeType>(p->type)) {
        if (!shape->has_values) return false;
        add_dims(shape, kernel_.shape_dims[i], scalars);
        values_[p] = {};
      } else if (p->type->kind == TypeKind::Prim) {
        if (!symbols_.count(p)) symbols_[p] = own(p);
        add_scalar(p, scalars);
      } else if (!add_tensors(p)) {
        return false;
      }
    }
    params_.insert(params_.end(), scalars.begin(), scalars.end());
    inputs_ = params_.size();
    return true;
  }

  const Var* own(const Var* v) {
    const Var* made = ctx_.var(v->name, v->type);
    ctx_.set_origin(made, v);
    return made;
  }

  bool add_scalar(const Var* v, std::vector<PrimParam>& scalars) {
    if (!passed_.insert(v).second) return false;
    scalars.push_back({as<Var>(symbols_.at(v)), nullptr});
    return true;
  }

  void add_dims(const ShapeType* shape, std::vector<std::size_t>& dims, std::vector<PrimParam>& scalars) {
    for (std::size_t d = 0; d < shape->values.size(); ++d)
      if (const auto* v = as<Var>(shape->values[d]); v && add_scalar(v, scalars)) dims.push_back(d);
  }

  bool add_tensors(const Var* p) {
    std::vector<const Type*> leaves;
    collect_leaves(p->type, leaves);
    for (const Type* leaf : leaves) {
      const auto* t = as<TensorType>(leaf);
      if (!t || !t->has_shape || t->dtype.is_void()) return false;
      std::vector<const Expr*> dims;
      for (const Expr* d : t->shape) dims.push_back(substitute(ctx_, d, symbols_));
      const Buffer* b = ctx_.buffer(buffer_names_.take(p->name), dims, t->dtype);
      ctx_.set_origin(b, p);
      values_[p].push_back(b);
      params_.push_back({b->data, b});
    }
    return true;
  }

  // ---- bindings ----

  // The buffers behind a value, tuples flattened; nullopt when the value has none.
  std::optional<Buffers> value_of(const Expr* e) {
    if (const auto* v = as<Var>(e)) {
      const auto found = values_.find(v);
      return found == values_.end() ? std::nullopt : std::optional<Buffers>(found->second);
    }
    if (const auto* tuple = as<Tuple>(e)) {
      Buffers all;
      for (const Expr* item : tuple->items) {
        const auto part = value_of(item);
        if (!part) return std::nullopt;
        all.insert(all.end(), part->begin(), part->end());
      }
      return all;
    }
    const auto* get = as<TupleGetItem>(e);
    const auto all = get ? value_of(get->tuple) : std::nullopt;
    if (!all) return std::nullopt;
    const auto& fields = as<TupleType>(get->tuple->type)->fields;
    std::size_t begin = 0;
    for (std::int64_t i = 0; i < get->index; ++i) begin += leaf_count(fields[std::size_t(i)]);
    const std::size_t count = leaf_count(fields[std::size_t(get->index)]);
    return Buffers(all->begin() + std::ptrdiff_t(begin), all->begin() + std::ptrdiff_t(begin + count));
  }

  bool add_binding(const Binding* b) {
    const auto* call = as<Call>(b->value);
    auto value = call ? add_call(call) : value_of(b->value);
    if (!value) return false;
    values_[b->var] = std::move(*value);
    return true;
  }

  std::optional<Buffers> add_call(const Call* call) {
    if (!as_call_of(call, op::CallTir) && !as_call_of(call, op::CallTirInplace)) return std::nullopt;
    const auto* callee = as<GlobalVar>(call->args[0]);
    const auto* args = as<Tuple>(call->args[1]);
    const auto* f = callee ? as<PrimFunc>(module_->find(callee->name)) : nullptr;
    const SBlock* root = f ? root_of(f) : nullptr;
    if (!args || !root || call->ty_args.size() != 1 || args->items.size() > f->params.size()) return std::nullopt;
    KernelInliner inliner(ctx_, block_names_);
    if (!put_arguments(inliner, f, args->items)) return std::nullopt;
    const std::size_t before = allocated_.size();
    const auto outputs = put_outputs(inliner, f, call, args->items.size());
    if (!outputs) return std::nullopt;
    // The kernel's own buffers come before its results, which give the symbols in their shapes values.
    Buffers own;
    for (const Buffer* b : root->alloc_buffers) own.push_back(inliner.renew(b, buffer_names_.take(b->name)));
    allocated_.insert(allocated_.begin() + std::ptrdiff_t(before), own.begin(), own.end());
    const Stmt* body = inliner.rewrite(root->body);
    if (body) bodies_.push_back(body);
    return outputs;
  }

  bool put_arguments(KernelInliner& inliner, const PrimFunc* f, Span<const Expr*> args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      const PrimParam& p = f->params[i];
      if (args[i]->type->kind == TypeKind::Prim) {
        if (p.buffer || p.var->type->kind != TypeKind::Prim) return false;
        inliner.put_scalar(p.var, substitute(ctx_, args[i], symbols_));
        continue;
      }
      const bool swapped = support::planted(support::Bug::SwappedOperands) && args.size() == 2;
      const auto value = value_of(args[swapped ? 1 - i : i]);
      if (!value || value->size() != 1 || !p.buffer) return false;
      if (!match(inliner, p.buffer, (*value)[0])) return false;
    }
    // Once all variables are known, dims have to agree: accesses are written in terms of the kernel's dims.
    for (std::size_t i = 0; i < args.size(); ++i)
      if (f->params[i].buffer && !agree(inliner, f->params[i].buffer, (*value_of(args[i]))[0])) return false;
    return true;
  }

  // Variables that are dims of the kernel's parameter take the values of the substituted buffer's dims.
  bool match(KernelInliner& inliner, const Buffer* param, const Buffer* to) {
    if (!is_plain(param) || param->dtype != to->dtype || param->shape.size() != to->shape.size()) return false;
    for (std::size_t d = 0; d < to->shape.size(); ++d)
      if (const auto* v = as<Var>(param->shape[d]); v && !inliner.has_scalar(v)) inliner.put_scalar(v, to->shape[d]);
    inliner.put_buffer(param, to);
    return true;
  }

  bool agree(KernelInliner& inliner, const Buffer* param, const Buffer* to) {
    std::vector<const Expr*> wanted;
    for (const Expr* d : param->shape) wanted.push_back(cast_to(ctx_, DType::Int(64), inliner.dim(d)));
    std::vector<const Expr*> got;
    for (const Expr* d : to->shape) got.push_back(cast_to(ctx_, DType::Int(64), d));
    return prove_shapes_equal(ctx_, wanted, got);
  }

  std::optional<Buffers> put_outputs(KernelInliner& inliner, const PrimFunc* f, const Call* call, std::size_t next) {
    std::vector<const Type*> types;
    collect_leaves(call->ty_args[0], types);
    const Attr* inplace = find_attr(call->attrs, op_attr::InplaceIndices);
    Buffers outputs;
    for (std::size_t k = 0; k < types.size(); ++k) {
      const auto* t = as<TensorType>(types[k]);
      if (!t || !t->has_shape) return std::nullopt;
      std::vector<const Expr*> dims;
      for (const Expr* d : t->shape) dims.push_back(substitute(ctx_, d, symbols_));
      const std::int64_t at = inplace && k < inplace->items.size() ? inplace->items[k]->integer : -1;
      if (at >= 0) {
        const auto value = value_of(as<Tuple>(call->args[1])->items[std::size_t(at)]);
        if (!value || value->size() != 1) return std::nullopt;
        outputs.push_back((*value)[0]);
        written_.insert((*value)[0]);
        continue;
      }
      if (next == f->params.size() || !f->params[next].buffer) return std::nullopt;
      const Buffer* param = f->params[next++].buffer;
      const std::string name = buffer_names_.take(std::string(param->name) + "_intermediate");
      Buffer made = *param;
      made.name = ctx_.str(name);
      made.data = ctx_.var(name, param->data->type);
      made.shape = dims;
      const Buffer* own = ctx_.buffer(made);
      ctx_.set_origin(own, param);
      if (!match(inliner, param, own) || !agree(inliner, param, own)) return std::nullopt;
      allocated_.push_back(own);
      outputs.push_back(own);
    }
    return next == f->params.size() ? std::optional<Buffers>(std::move(outputs)) : std::nullopt;
  }

  // ---- the function ----

  std::optional<FusedKernel> finish(const Function* f) {
    const auto outputs = value_of(f->body->body);
    if (!outputs || outputs->empty() || bodies_.empty()) return std::nullopt;
    std::unordered_set<const Buffer*> seen;
    for (const Buffer* b : *outputs) {
      if (!seen.insert(b).second) return std::nullopt;  // one value twice: two tensors in the same memory
      const auto input = std::find_if(params_.begin(), params_.begin() + std::ptrdiff_t(inputs_),
                                      [&](const PrimParam& p) { return p.buffer == b; });
      const bool is_input = input != params_.begin() + std::ptrdiff_t(inputs_);
      kernel_.inplace.push_back(is_input ? input - params_.begin() : -1);
      if (is_input && !written_.count(b)) return std::nullopt;  // the argument itself is the result
      if (!is_input) params_.push_back({b->data, b});
    }
    // An argument that is written to has to be a result: otherwise the caller would not know.
    for (std::size_t i = 0; i < inputs_; ++i)
      if (written_.count(params_[i].buffer) && !seen.count(params_[i].buffer)) return std::nullopt;
    std::erase_if(allocated_, [&](const Buffer* b) { return seen.count(b) > 0; });
    SBlock root{};
    root.name = "root";
    root.alloc_buffers = allocated_;
    root.body = ctx_.seq_stmt(bodies_);
    const Stmt* body = ctx_.realize({}, ctx_.bool_imm(true), ctx_.sblock(root));
    const NamedAttr attrs[] = {ctx_.named(attr_name::NoAlias, ctx_.attr(true))};
    kernel_.function = ctx_.prim_func(params_, ctx_.void_type(), body, attrs);
    ctx_.set_origin(kernel_.function, f);
    return kernel_;
  }

  Context& ctx_;
  const Module* module_;
  FusedKernel kernel_;
  VarMap symbols_;                         // from those of the Relax function to the kernel's
  std::unordered_set<const Var*> passed_;  // symbols that are parameters
  std::vector<PrimParam> params_;
  std::size_t inputs_ = 0;
  std::unordered_map<const Var*, Buffers> values_;
  std::unordered_set<const Buffer*> written_;  // by call_tir_inplace
  std::vector<const Buffer*> allocated_;
  std::vector<const Stmt*> bodies_;
  UniqueNames buffer_names_{"_"};
  UniqueNames block_names_{""};
};

}  // namespace

bool FusedKernel::is_inplace() const {
  return std::any_of(inplace.begin(), inplace.end(), [](std::int64_t i) { return i >= 0; });
}

std::optional<FusedKernel> fuse_kernels(Context& ctx, const Module* module, const Function* f) {
  return KernelFuser(ctx, module).run(f);
}

}  // namespace rldb::passes
