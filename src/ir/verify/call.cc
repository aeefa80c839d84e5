// Rules about calls: operands (10), purity (12), recorded types (16), normal forms of the call_tir family (17).
#include <fmt/format.h>

#include <algorithm>

#include "ir/verify/verifier_impl.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/type_relation.h"
#include "rldb/source/diagnostic_verify.h"
#include "rldb/support/text.h"

namespace rldb::ir::verify_detail {

namespace {

std::string callee_name(const Call* c) {
  if (const auto* op = as<Op>(c->callee)) return fmt::format("`{}`", op->name);
  if (const auto* g = as<GlobalVar>(c->callee)) return fmt::format("`{}`", g->name);
  if (const auto* e = as<ExternFunc>(c->callee)) return fmt::format("packed function \"{}\"", e->symbol);
  if (const auto* v = as<Var>(c->callee)) return fmt::format("`{}`", v->name);
  return "a function";
}

// Whether two dims differ for certain; only literals are compared.
bool differ(const Expr* a, const Expr* b) {
  const auto* x = as<IntImm>(a);
  const auto* y = as<IntImm>(b);
  return x != nullptr && y != nullptr && x->value != y->value;
}

// Whether an argument certainly cannot be what the parameter expects: another tensor than the buffer, or a tensor where
// a scalar belongs and the reverse.
bool mismatch(const Type* given, const PrimParam& p) {
  const Buffer* b = p.buffer;
  const auto* t = as<TensorType>(given);
  if (b == nullptr) return t != nullptr && as<PrimType>(p.var->type) != nullptr;
  if (t == nullptr) return as<PrimType>(given) != nullptr;
  if (!t->dtype.is_void() && t->dtype != b->dtype) return true;
  if (t->ndim != kUnknownNdim && t->ndim != int(b->shape.size())) return true;
  for (std::size_t k = 0; t->has_shape && k < t->shape.size(); ++k)
    if (differ(t->shape[k], b->shape[k])) return true;
  return false;
}

}  // namespace

void RelaxVerifier::call(const Call* c) {
  const auto* op = as<Op>(c->callee);
  if (op == nullptr) {
    if (isa<SeqExpr>(c->callee) || isa<Call>(c->callee) || isa<TupleGetItem>(c->callee) || isa<Function>(c->callee))
      report_.add(c, diag::VerifyNotLeaf, "the callee of a call", "computed value");
    else
      leaf(c->callee, "the callee of a call");
  }
  std::string_view name = op != nullptr ? op->name : std::string_view{};
  for (std::size_t k = 0; k < c->args.size(); ++k) {
    // An external function is written in place where an operator takes a callee.
    if (k == 0 && isa<ExternFunc>(c->args[k])) continue;
    leaf(c->args[k], "an argument");
  }
  for (const Type* t : c->ty_args) {
    if (t == nullptr) report_.add(c, diag::VerifyUntyped, "a type argument");
    check_type(t);
  }
  call_purity(c);
  call_arguments(c);
  if (op::is_relax(name)) call_normal_form(c, name);
  if (options_.check_types) call_type(c);
}

void RelaxVerifier::call_purity(const Call* c) {
  bool pure = true;
  if (const auto* op = as<Op>(c->callee)) {
    if (op::is_relax(op->name) && ctx_.typer() != nullptr) pure = ctx_.typer()->is_pure(*c);
  } else if (const auto* g = as<GlobalVar>(c->callee)) {
    const Expr* f = module_ != nullptr ? module_->find(g->name) : nullptr;
    const auto* type = as<FuncType>(g->type);
    if (f == nullptr && options_.incomplete) return;
    if (const auto* fn = as<Function>(f))
      pure = fn->is_pure;
    else
      pure = type != nullptr && type->pure;
  } else {
    const auto* type = as<FuncType>(c->callee->type);
    pure = type != nullptr && type->pure;
  }
  const bool in_pure = !functions_.empty() && functions_.back().purity_checked;
  if (pure || (dataflow_depth_ == 0 && !in_pure)) return;
  if (ImpureCalls* calls = options_.impure_calls) {
    if (calls->count++ == 0) calls->first = report_.span(c);
  } else if (dataflow_depth_ > 0) {
    report_.add(c, diag::VerifyImpureInDataflow, callee_name(c));
  } else {
    report_.add(c, diag::VerifyImpureInPure, callee_name(c));
  }
}

// A function of the module is called with what its parameters take. The callee's own type may be that of an older
// version: the module's counts.
void RelaxVerifier::call_arguments(const Call* c) {
  const auto* g = as<GlobalVar>(c->callee);
  const auto* f = g != nullptr && module_ != nullptr ? as<Function>(module_->find(g->name)) : nullptr;
  if (f == nullptr || (options_.lacks_parameters && options_.lacks_parameters(f))) return;
  if (f->params.size() != c->args.size())
    return report_.add(
        c, diag::VerifyInferFailed, callee_name(c),
        fmt::format("it takes {}, {} given", support::counted(f->params.size(), "argument"), c->args.size()));
  for (std::size_t k = 0; k < c->args.size(); ++k) {
    const Type* wanted = f->params[k]->type;
    const Type* given = c->args[k]->type;
    if (wanted == nullptr || given == nullptr || base_check(ctx_, wanted, given) != BaseCheck::FailL0) continue;
    report_.add(c, diag::VerifyInferFailed, callee_name(c),
                fmt::format("argument {} has the type {}, its parameter {}", k, print_type(given), print_type(wanted)));
  }
}

void RelaxVerifier::call_type(const Call* c) {
  const CallTyper* typer = ctx_.typer();
  const auto* op = as<Op>(c->callee);
  if (typer == nullptr || op == nullptr || c->type == nullptr) return;
  if (!op::is_relax(op->name) || !typer->is_known(op->name)) return;
  for (const Expr* a : c->args)
    if (a->type == nullptr) return;  // already reported by rule 1
  auto inferred = typer->infer(ctx_, {c->callee, c->args, c->attrs, c->ty_args});
  if (!inferred.ok()) {
    source::Message m = source::message(diag::VerifyInferFailed, callee_name(c), inferred.error().text);
    const bool unknown =
        std::any_of(c->args.begin(), c->args.end(), [](const Expr* a) { return isa<MetaConstant>(a); });
    if (unknown) m.hint = kMetadataMissing;
    return report_.add(c, std::move(m));
  }
  const Type* got = *inferred;
  if (got == c->type) return;
  // Passes may know more or less than inference does; they may not contradict it.
  bool contradicts =
      base_check(ctx_, c->type, got) == BaseCheck::FailL0 && base_check(ctx_, got, c->type) == BaseCheck::FailL0;
  if (contradicts) report_.add(c, diag::VerifyCallType, callee_name(c), print_type(c->type), print_type(got));
}

void RelaxVerifier::call_normal_form(const Call* c, std::string_view name) {
  const op::Row* row = op::find(name);
  if (row == nullptr) return;
  const std::string_view op = op::short_name(name);
  if (row->has(op::Trait::CallTir)) return call_tir(c, op);
  if (row->has(op::Trait::TakesTuple) && (c->args.size() != 2 || !isa<Tuple>(c->args[1])))
    report_.add(c, diag::VerifyNormalForm, op, "the arguments must be a tuple written in place");
  if (row->has(op::Trait::CallsPacked)) {
    if (c->args.empty()) {
      report_.add(c, diag::VerifyNormalForm, op, "the function to call is missing");
      return;
    }
    const auto* type = as<FuncType>(c->args[0]->type);
    if (type != nullptr && !type->opaque) report_.add(c, diag::VerifyNormalForm, op, "the function must be opaque");
  }
}

void RelaxVerifier::call_tir(const Call* c, std::string_view op) {
  auto wrong = [&](const std::string& text) { report_.add(c, diag::VerifyNormalForm, op, text); };
  if (c->args.size() < 2) return wrong("needs a function and a tuple of arguments");
  if (!isa<Tuple>(c->args[1])) return wrong("the arguments must be a tuple written in place, not a variable");
  if (c->ty_args.size() != 1) return wrong(fmt::format("needs one output type, has {}", c->ty_args.size()));
  const std::size_t before = report_.count();
  if (op == short_op::CallTirInplace) inplace(c);
  if (op == short_op::CallDpsPacked || report_.count() != before) return;
  const auto* g = as<GlobalVar>(c->args[0]);
  if (g == nullptr) return wrong("the function must be a function of the module");
  const Expr* f = module_ != nullptr ? module_->find(g->name) : nullptr;
  if (f == nullptr) return;  // already reported by rule 2
  const auto* prim = as<PrimFunc>(f);
  if (prim == nullptr) {
    if (isa<Function>(f)) wrong(fmt::format("`{}` is a Relax function; call it directly", g->name));
    return;
  }
  if (options_.lacks_parameters && options_.lacks_parameters(f)) return;
  call_tir_operands(c, op, g->name, prim);
}

// `x: R.Tensor((n,), dtype="float32"), n: T.int64`; if there are many, the first.
static std::string parameters_of(Context& ctx, const PrimFunc* f) {
  constexpr std::size_t kShown = 8;
  const Span<const Type*> types = ctx.relax_type_of(f)->params;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, f->params.size()); ++i) {
    const PrimParam& p = f->params[i];
    text +=
        fmt::format("{}`{}: {}`", i == 0 ? "" : ", ", p.buffer ? p.buffer->name : p.var->name, print_type(types[i]));
  }
  return f->params.size() > kShown ? text + ", ..." : text;
}

// The signature of a kernel called with `tir_vars`: inputs, outputs, scalars. Null: it does not have this form.
static const Buffer* output_before_scalars(const PrimFunc* f, std::size_t inputs) {
  std::size_t scalars = 0;
  while (scalars < f->params.size() && f->params[f->params.size() - 1 - scalars].buffer == nullptr) ++scalars;
  if (scalars == 0 || scalars > inputs || inputs >= f->params.size()) return nullptr;
  return f->params[inputs - scalars].buffer;
}

void RelaxVerifier::call_tir_operands(const Call* c, std::string_view op, std::string_view name, const PrimFunc* f) {
  std::vector<const Type*> given;
  for (const Expr* a : as<Tuple>(c->args[1])->items) given.push_back(a->type);
  std::size_t inputs = given.size();
  std::vector<const Type*> outputs;
  if (const auto* tuple = as<TupleType>(c->ty_args[0]))
    outputs.assign(tuple->fields.begin(), tuple->fields.end());
  else
    outputs.push_back(c->ty_args[0]);
  // An output that reuses an argument is not passed again.
  const Attr* reuse = op == short_op::CallTirInplace ? find_attr(c->attrs, op_attr::InplaceIndices) : nullptr;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    bool reused = reuse != nullptr && k < reuse->items.size() && reuse->items[k]->integer >= 0;
    if (!reused) given.push_back(outputs[k]);
  }
  if (given.size() != f->params.size()) {
    source::Message m = source::message(
        diag::VerifyNormalForm, op,
        fmt::format("`{}` has {}, but {} and {} were given", name, support::counted(f->params.size(), "parameter"),
                    support::counted(inputs, "argument"), support::counted(given.size() - inputs, "output")));
    m.hint = fmt::format("its parameters, inputs before outputs: {}", parameters_of(ctx_, f));
    return report_.add(c, std::move(m));
  }
  if (const Buffer* b = output_before_scalars(f, inputs)) {
    source::Message m = source::message(
        diag::VerifyNormalForm, op,
        fmt::format("`{}` takes the output `{}` before its scalars, the last parameters", name, b->name));
    m.hint = "put the scalars after the inputs, before the outputs; TVM had them last while it had `tir_vars`";
    return report_.add(c, std::move(m));
  }
  for (std::size_t k = 0; k < given.size(); ++k) {
    const PrimParam& p = f->params[k];
    if (given[k] == nullptr || !mismatch(given[k], p)) continue;
    const bool output = k >= inputs;
    const std::string wanted = print_type(ctx_.relax_type_of(f)->params[k]);
    source::Message m = source::message(
        diag::VerifyNormalForm, op,
        fmt::format("{} {} is {}, but `{}` of `{}` is {}", output ? "output" : "argument", output ? k - inputs : k,
                    print_type(given[k]), p.buffer != nullptr ? p.buffer->name : p.var->name, name, wanted));
    if (output) m.hint = "`out_ty` says what the function fills: " + wanted;
    report_.add(c, std::move(m));
  }
}

// Rule 17 for call_tir_inplace: which argument each output reuses; -1 is a fresh one.
void RelaxVerifier::inplace(const Call* c) {
  auto wrong = [&](const std::string& text) { report_.add(c, diag::VerifyNormalForm, short_op::CallTirInplace, text); };
  const Attr* indices = find_attr(c->attrs, op_attr::InplaceIndices);
  if (indices == nullptr || !indices->is(AttrKind::List)) return wrong("inplace_indices is missing");
  Span<const Expr*> args = as<Tuple>(c->args[1])->items;
  const auto* tuple = as<TupleType>(c->ty_args[0]);
  std::size_t outputs = tuple != nullptr ? tuple->fields.size() : 1;
  if (indices->items.size() != outputs)
    return wrong(fmt::format("{} inplace_indices for {} outputs", indices->items.size(), outputs));
  std::unordered_set<std::int64_t> used;
  bool any = false;
  for (std::size_t k = 0; k < outputs; ++k) {
    std::int64_t at = indices->items[k]->integer;
    if (at == -1) continue;
    if (at < -1 || at >= std::int64_t(args.size())) {
      wrong(fmt::format("inplace index {} is not one of the {} arguments", at, args.size()));
      return;
    }
    any = true;
    if (!used.insert(at).second) wrong(fmt::format("argument {} is reused for two outputs", at));
    const Type* out = tuple != nullptr ? tuple->fields[k] : c->ty_args[0];
    const Type* in = args[std::size_t(at)]->type;
    const auto* out_tensor = as<TensorType>(out);
    const auto* in_tensor = as<TensorType>(in);
    if (in_tensor == nullptr || out_tensor == nullptr) {
      wrong(fmt::format("argument {} must be a tensor, it is {}", at, print_type(in)));
      continue;
    }
    bool same = out == in || (in_tensor->dtype == out_tensor->dtype && is_base_of(ctx_, out, in));
    if (!same)
      wrong(fmt::format("output {} is {} but reuses argument {} of type {}", k, print_type(out), at, print_type(in)));
  }
  if (!any) wrong("at least one output must reuse an argument");
}

}  // namespace rldb::ir::verify_detail
