// LegalizeOps: an operator with a tensor-expression body becomes a call_tir of a generated PrimFunc (or simpler
// bindings); repeated until operators introduced by legalisation are legal too.
//
// A kernel whose result is on a device targets that device: it records the target, and is called `<name>_<kind>`.
//
// Left unchanged, as in TVM: operators without a body, calls whose shapes are not known, and operators named by
// skip_ops. Code generation diagnoses the ones that remain, as it has no instruction for them.
#include <fmt/format.h>

#include <algorithm>

#include "passes/common.h"
#include "passes/lowering/with_kernels.h"
#include "passes/pass_functions.h"
#include "rldb/bytecode/run_function.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/inline_kernel.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;
using source::message;

namespace {

constexpr bool packed_operators_are_builtins() {
  using enum op::Trait;
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  if (((traits)&Packed) != None && builtin::run_function(name).empty()) return false;
#include "rldb/ir/op/op.def"
  return true;
}
static_assert(packed_operators_are_builtins(), "an operator with the trait Packed needs a row in builtin/run.def");

// The device of the result; null: none is specified.
const VDevice* device_of(const Call* call_tir) {
  for (const Type* t : call_tir->ty_args) {
    const auto* tuple = as<TupleType>(t);
    for (const Type* field : tuple ? tuple->fields : Span<const Type*>(&t, 1))
      if (const auto* tensor = as<TensorType>(field); tensor && tensor->vdevice) return tensor->vdevice;
  }
  return nullptr;
}

const Attr* target_of(Context& ctx, const VDevice* device) {
  if (!device->target) return make_target(ctx, ctx.attr(device->target_kind));
  return device->target->is(AttrKind::Opaque) ? device->target : make_target(ctx, device->target);
}

// Operators whose legalisation introduces other operators nest only a few levels deep.
constexpr int kMaxRounds = 16;

struct LegalizeOptions {
  std::unordered_map<std::string_view, const GlobalVar*> own;  // kernels that the user has for operators, by full names
  std::vector<std::string> skip;
  bool warn = false;
};

class OpLegalizer : public Rewriter {
 public:
  OpLegalizer(PassEnv& env, KernelMaker& kernels, const LegalizeOptions& options)
      : Rewriter(env.ctx), env_(env), kernels_(kernels), options_(options) {}

  std::optional<source::Message> error;
  // Kernels for devices were made, and their generic versions may have lost their callers.
  bool for_devices() const { return for_devices_; }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out;
    for (const Binding* made : default_binding(b)) {
      legalize(made, out, 0);
      if (made->var != b->var) remap(b->var, lookup(made->var) ? lookup(made->var) : made->var);
    }
    return out;
  }

 private:
  void legalize(const Binding* b, std::vector<const Binding*>& out, int round) {
    support::poll();
    const auto* call = as<Call>(b->value);
    if (b->is_match_cast() || !call || is_skipped(call) || round == kMaxRounds) return out.push_back(b);
    if (const auto own = options_.own.find(as<Op>(call->callee)->name); own != options_.own.end())
      return out.push_back(with_own_kernel(b, call, own->second));
    if (const Call* packed = as_packed(call)) return out.push_back(remake_binding(ctx_, b, b->var, packed));
    if (!isa<Op>(call->callee) || !ops::Legalizer::has_body(call)) return out.push_back(b);
    if (!may_rewrite([&] { return fmt::format("`{}` becomes a kernel", b->var->name); })) return out.push_back(b);
    if (const Call* made = kernels_.memo.find(call)) {
      ctx_.set_origin(made, call);
      return out.push_back(bound(b, made));
    }
    BlockBuilder blocks(ctx_);
    blocks.begin_scope();
    if (in_dataflow()) blocks.begin_dataflow();
    Result<const Expr*> value = kernels_.legalizer.legalize(call, blocks);
    if (in_dataflow()) blocks.end_dataflow();
    if (!value.ok()) {
      blocks.end_scope(b->var);
      if (value.error().id == diag::CodeTooLarge) return refuse(b, std::move(value).error(), out);
      if (options_.warn) note(call, value.error());
      return out.push_back(b);
    }
    if (!as_call_of(call, op::LayoutTransform)) value = for_device(*value);
    const SeqExpr* before = blocks.end_scope(*value);
    if (before->blocks.empty()) kernels_.memo.remember(call, *value);
    for (const BindingBlock* block : before->blocks) {
      for (const Binding* extra : block->bindings) {
        if (ctx_.origins().get(extra).empty()) ctx_.set_origin(extra, b);
        if (ctx_.origins().get(extra->value).empty() && extra->value->id > call->id)
          ctx_.set_origin(extra->value, call);
        legalize(extra, out, round + 1);
      }
    }
    if (*value == call) return out.push_back(b);
    if ((*value)->id > call->id && ctx_.origins().get(*value).empty()) ctx_.set_origin(*value, call);
    legalize(bound(b, *value), out, round + 1);
  }

  // The call of the user's kernel: its parameters are the operator's tensors and scalars, then the results.
  const Binding* with_own_kernel(const Binding* b, const Call* call, const GlobalVar* kernel) {
    const auto* type = as<FuncType>(kernel->type);
    const auto* tuple = as<TupleType>(call->type);
    const std::size_t results = tuple ? tuple->fields.size() : 1;
    for (const Expr* a : call->args)
      if (a->type->kind != TypeKind::Tensor && a->type->kind != TypeKind::Prim)
        error = message(diag::PassUnsupported, print_expr(call), "its own kernel takes tensors and scalars only");
    if (!type || type->params.size() != call->args.size() + results)
      error = message(diag::PassUnsupported, print_expr(call),
                      fmt::format("`{}` has other parameters than its operands and results", kernel->name));
    if (error || !may_rewrite([&] { return fmt::format("`{}` becomes a kernel", b->var->name); })) return b;
    const Call* made = op_call(ctx_, op::CallTir, {kernel, ctx_.tuple(call->args)}, call->type, {call->type});
    ctx_.set_origin(made, call);
    return remake_binding(ctx_, b, b->var, made);
  }

  // The kernel records the target of the device on which its result is.
  const Expr* for_device(const Expr* value) {
    const Call* call = as_call_of(value, op::CallTir);
    const VDevice* device = call ? device_of(call) : nullptr;
    const auto* name = device ? as<GlobalVar>(call->args[0]) : nullptr;
    const auto* kernel = name ? as<PrimFunc>(kernels_.legalizer.find_function(name->name)) : nullptr;
    if (!kernel) return value;
    UniqueNames names("_");
    const PrimFunc* own = KernelInliner(ctx_, names).rewrite_prim_func(kernel);
    own = with_attr(ctx_, own, kTargetAttr, target_of(ctx_, device));
    std::vector<const Expr*> args(call->args.begin(), call->args.end());
    args[0] = kernels_.legalizer.add_function(own, fmt::format("{}_{}", name->name, device->target_kind));
    for_devices_ = true;
    return ctx_.call_typed(call->callee, args, call->type, call->attrs, call->ty_args);
  }

  // The variable gets the type of its new value: shapes are written as in the kernel, or known only at run time.
  const Binding* bound(const Binding* b, const Expr* value) {
    const bool says_less = is_base_of(ctx_, value->type, b->var->type) && !is_base_of(ctx_, b->var->type, value->type);
    const bool same = says_less || value->type == b->var->type;
    return remake_binding(ctx_, b, same ? b->var : define_var(b->var, value->type), value);
  }

  bool is_skipped(const Call* call) const {
    const auto* op = as<Op>(call->callee);
    if (!op) return true;
    const std::string_view name = op->name;
    return std::any_of(options_.skip.begin(), options_.skip.end(),
                       [&](const std::string& s) { return s == name || s == op::short_name(name); });
  }

  // An operator implemented by a packed function: its arguments are passed on.
  const Call* as_packed(const Call* call) {
    const op::Row* row = op::row_of(call->callee);
    if (!row || !row->has(op::Trait::Packed)) return nullptr;
    std::vector<const Expr*> args(call->args.begin(), call->args.end());
    const Expr* callee = ctx_.extern_func(builtin::run_function(op::short_name(row->name)));
    if (row->pure) {
      args.insert(args.begin(), callee);
      callee = ctx_.op(op::CallPurePacked);
    }
    const Type* const ty_args[] = {call->type};
    const Call* made = ctx_.call_typed(callee, args, call->type, {}, ty_args);
    ctx_.set_origin(made, call);
    return made;
  }

  // No later pass could compile it; they would only report it less clearly.
  void refuse(const Binding* b, source::Message why, std::vector<const Binding*>& out) {
    why.notes.push_back({ctx_.span_of(b), "for `" + std::string(b->var->name) + "`"});
    env_.diagnostics.add(ctx_.span_of(b), std::move(why));
    out.push_back(b);
  }

  void note(const Call* call, source::Message why) {
    source::Diagnostic d = source::at(ctx_.span_of(call), std::move(why));
    d.severity = source::Severity::Warning;
    env_.diagnostics.add(std::move(d));
  }

  PassEnv& env_;
  KernelMaker& kernels_;
  const LegalizeOptions& options_;
  bool for_devices_ = false;
};

// {"relax.add": my_add}: PrimFuncs of the module, where TVM has functions of Python.
Result<std::unordered_map<std::string_view, const GlobalVar*>> own_kernels(Context& ctx, const Module* module,
                                                                           const pipeline::option::Dict& given) {
  std::unordered_map<std::string_view, const GlobalVar*> own;
  const auto wrong = [](std::string_view wanted, std::string_view got) {
    return support::Failure(message(diag::PassOptionValue, "customize_legalize_map", wanted, got));
  };
  for (const auto& [name, kernel] : given) {
    const op::Row* row = op::find(name);
    if (!row) return wrong("operators by their full names", name);
    const auto* f = as<PrimFunc>(module->find(kernel.name()));
    if (!f) return wrong("the names of PrimFuncs of the module", kernel.written);
    own[row->name] = ctx.global_var(ctx.str(kernel.name()), f->type);
  }
  return own;
}

}  // namespace

Result<const Module*> legalize_ops(PassEnv& env, const Module* module, const LegalizeOpsOptions& options) {
  LegalizeOptions what;
  RLDB_TRY(what.own, own_kernels(env.ctx, module, options.customize_legalize_map));
  what.skip = options.skip_ops;
  what.warn = options.enable_warning;
  std::optional<source::Message> error;
  bool for_devices = false;
  module = map_with_kernels(env, module, [&](const Function* f, KernelMaker& kernels) {
    OpLegalizer legalizer(env, kernels, what);
    const Function* made = legalizer.rewrite_function(f);
    for_devices = for_devices || legalizer.for_devices();
    if (legalizer.error && !error) error = std::move(legalizer.error);
    return made == f ? f : derive_result(env.ctx, made);
  });
  if (error) return support::Failure(std::move(*error));
  return for_devices ? dead_code_elimination(env, module, {}) : Result<const Module*>(module);
}

}  // namespace rldb::passes
