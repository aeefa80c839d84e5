// SpecializePrimFuncBasedOnCallSite: the buffers of a kernel take the memory scopes of the tensors that R.call_tir
// passes to it (those of their devices), and the constant dims there; the kernel gets the attribute `scoped`.
//
// A scalar argument binds nothing, where TVM stops (apache/tvm 20420). Calls that do not agree get a kernel each; TVM
// gives all of them that of the last one.
#include <algorithm>

#include "passes/common.h"
#include "passes/fusion/function_table.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kScoped = "scoped";
constexpr std::string_view kGlobalScope = "global";

// Types that a call gives to the parameters of its kernel, one entry each; null: a scalar.
using Signature = std::vector<const TensorType*>;

std::string_view scope_of(const TensorType* t) { return t->vdevice ? t->vdevice->memory_scope : kGlobalScope; }

// Nullopt when a tensor's shape is not known, or the numbers of tensors and parameters differ.
std::optional<Signature> signature_of(const Call* call, const PrimFunc* f) {
  Signature out;
  const auto add = [&](const Type* t) {
    const auto* tensor = as<TensorType>(t);
    if (!tensor && t->kind != TypeKind::Prim) return false;
    out.push_back(tensor);
    return !tensor || tensor->has_shape;
  };
  const auto* args = as<Tuple>(call->args[1]);
  if (!args || call->ty_args.size() != 1) return std::nullopt;
  // Scalars passed as separate arguments come between the tensors and the results.
  for (const Expr* a : args->items)
    if (!add(a->type)) return std::nullopt;
  std::vector<const Type*> results{call->ty_args[0]};
  if (const auto* several = as<TupleType>(call->ty_args[0]))
    results.assign(several->fields.begin(), several->fields.end());
  for (const Type* t : results)
    if (!as<TensorType>(t) || !add(t)) return std::nullopt;
  if (out.size() > f->params.size()) return std::nullopt;
  return out;
}

class Specializer : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const PrimFunc* run(const PrimFunc* f, const Signature& signature, std::size_t results) {
    for (const PrimParam& p : f->params)
      if (!p.buffer) params_.insert(p.var);
    const auto type_at = [&](std::size_t i) -> const TensorType* {
      const std::size_t behind = f->params.size() - i;
      if (behind <= results) return signature[signature.size() - behind];
      return i < signature.size() - results ? signature[i] : nullptr;
    };
    for (std::size_t i = 0; i < f->params.size(); ++i)
      if (const TensorType* t = type_at(i); t && f->params[i].buffer) learn(f->params[i].buffer, t);
    std::vector<PrimParam> params;
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      const Buffer* b = f->params[i].buffer;
      const TensorType* t = type_at(i);
      const Buffer* own = b ? specialized(b, t ? scope_of(t) : b->scope) : nullptr;
      // The handle of a buffer parameter has the scope too.
      params.push_back({as<Var>(rewrite(static_cast<const Expr*>(f->params[i].var))), own});
    }
    const Span<NamedAttr> attrs = ctx_.with_attr(f->attrs, kScoped, ctx_.attr(1));
    const PrimFunc* made = ctx_.prim_func(params, f->ret_type, rewrite(f->body), attrs, f->s_tir);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  // Buffers that are allocated inside, or are parts of others, follow their shapes.
  const Buffer* visit_buffer(const Buffer* b) override {
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    return specialized(b, b->scope);
  }

 private:
  void learn(const Buffer* b, const TensorType* t) {
    for (std::size_t i = 0; i < b->shape.size() && i < t->shape.size(); ++i) {
      const auto* v = as<Var>(b->shape[i]);
      const auto value = const_int(t->shape[i]);
      if (v && value && !params_.count(v) && lookup(v) == v) remap(v, ctx_.int_imm(v->dtype(), *value));
    }
  }

  const Buffer* specialized(const Buffer* b, std::string_view scope) {
    Buffer made = *b;
    const auto list = [&](Span<const Expr*> from) {
      std::vector<const Expr*> to;
      for (const Expr* e : from) to.push_back(rewrite(e));
      return std::equal(to.begin(), to.end(), from.begin(), from.end()) ? from : Span<const Expr*>(ctx_.list(to));
    };
    made.shape = list(b->shape);
    made.strides = list(b->strides);
    if (b->elem_offset) made.elem_offset = rewrite(b->elem_offset);
    made.scope = scope;
    const bool same = made.shape.data() == b->shape.data() && made.strides.data() == b->strides.data() &&
                      made.elem_offset == b->elem_offset && scope == b->scope;
    if (!same && scope != b->scope && b->data) {
      made.data = ctx_.var(b->data->name, ctx_.pointer(b->dtype, scope));
      ctx_.set_origin(made.data, b->data);
      remap(b->data, made.data);
    }
    const Buffer* result = same ? b : ctx_.buffer(made);
    if (!same) ctx_.set_origin(result, b);
    remap_buffer(b, result);
    return result;
  }

  std::unordered_set<const Var*> params_;
};

// Distinguishes the specializations of a kernel.
std::string key_of(std::string_view name, const Signature& signature) {
  std::string key(name);
  for (const TensorType* t : signature) {
    key += '|';
    if (!t) continue;
    key += scope_of(t);
    for (const Expr* d : t->shape) {
      const auto value = const_int(d);
      key += value ? ',' + std::to_string(*value) : ",_";
    }
  }
  return key;
}

// Names of kernels used other than by R.call_tir in rewritten functions: those stay unchanged.
std::unordered_set<std::string_view> used_otherwise(const Module* module) {
  std::unordered_set<std::string_view> names;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    const bool rewritten = f && !is_set(f->attrs, attr_name::Primitive);
    walk(e.function, [&](const Node* n) {
      if (const auto* v = as<GlobalVar>(n)) names.insert(v->name);
      const Call* call = rewritten && isa<Call>(n) ? as_call_of(static_cast<const Expr*>(n), op::CallTir) : nullptr;
      if (!call || !isa<GlobalVar>(call->args[0])) return true;
      for (std::size_t i = 1; i < call->args.size(); ++i)
        walk(call->args[i], [&](const Node* inner) {
          if (const auto* v = as<GlobalVar>(inner)) names.insert(v->name);
          return true;
        });
      return false;
    });
  }
  return names;
}

class CallSites : public Rewriter {
 public:
  CallSites(Context& ctx, const Module* module, ModuleBuilder& builder)
      : Rewriter(ctx),
        module_(module),
        builder_(builder),
        table_(ctx, module, builder),
        shared_(used_otherwise(module)) {}
  bool changed = false;

 protected:
  const Expr* visit_call(const Call* c) override {
    const Expr* made = default_expr(c);
    const Call* call = as_call_of(made, op::CallTir);
    const auto* name = call ? as<GlobalVar>(call->args[0]) : nullptr;
    const auto* f = name ? as<PrimFunc>(module_->find(name->name)) : nullptr;
    const auto signature = f ? signature_of(call, f) : std::nullopt;
    if (!signature || !may_rewrite([&] { return "`" + std::string(name->name) + "` is specialized"; })) return made;
    const auto* several = as<TupleType>(call->ty_args[0]);
    const auto [known, first] = made_.emplace(key_of(name->name, *signature), nullptr);
    if (first) known->second = kernel(name, f, *signature, several ? several->fields.size() : 1);
    if (known->second == name) return made;
    std::vector<const Expr*> args(call->args.begin(), call->args.end());
    args[0] = known->second;
    return ctx_.call_typed(call->callee, args, call->type, call->attrs, call->ty_args);
  }

 private:
  // The first specialization of a kernel keeps its name.
  const GlobalVar* kernel(const GlobalVar* name, const PrimFunc* f, const Signature& signature, std::size_t results) {
    const PrimFunc* own = Specializer(ctx_).run(f, signature, results);
    if (structural_equal(own, f)) own = f;
    const PrimFunc*& first = first_[name->name];
    if (first && structural_equal(first, own)) return ctx_.global_var(name->name, first->type);
    changed = changed || own != f;
    if (first || (shared_.count(name->name) && own != f)) return table_.add(own, name->name);
    first = own;
    builder_.set(name->name, own);
    return ctx_.global_var(name->name, own->type);
  }

  const Module* module_;
  ModuleBuilder& builder_;
  FunctionTable table_;
  std::unordered_set<std::string_view> shared_;
  std::unordered_map<std::string, const GlobalVar*> made_;
  std::unordered_map<std::string_view, const PrimFunc*> first_;
};

}  // namespace

Result<const Module*> specialize_primfunc(PassEnv& env, const Module* module, const NoOptions&) {
  ModuleBuilder builder(env.ctx, *module);
  CallSites sites(env.ctx, module, builder);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || is_set(f->attrs, attr_name::Primitive)) continue;
    const Function* made = sites.rewrite_function(f);
    if (made != f) builder.set(e.name, made);
  }
  return sites.changed ? builder.build() : module;
}

}  // namespace rldb::passes
