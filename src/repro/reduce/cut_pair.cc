// Cuts two programs to the computation of their first difference.
#include "rldb/repro/cut_pair.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/borrow.h"
#include "repro/compare/slice.h"
#include "repro/reduce/moves.h"
#include "rldb/ir/module.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/pass_id.h"
#include "rldb/support/entry_function.h"

namespace rldb::repro {

namespace {

std::size_t event_of(const Trace& trace, const std::string& function, const std::string& name,
                     const ir::Binding* binding) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool named = std::find(e.names.begin(), e.names.end(), name) != e.names.end();
    if (e.function == function && named && (!binding || e.binding == binding)) return i;
  }
  return kNoEvent;
}

std::optional<CutPair> cut(session::Session& session, Program a, Program b, const Tolerances& tolerances,
                           std::string& why) {
  a = with_numbers(session, a, why);
  b = with_numbers(session, b, why);
  if (!why.empty()) return std::nullopt;
  const Trace ta = record(session, a), tb = record(session, b);
  const Comparison c = compare(session.context(), ta, tb, tolerances);
  why = "the first difference is not in one computation whose inputs are equal";
  if (c.verdict != Comparison::Verdict::Differs || !c.first || !c.first->starts_here()) return std::nullopt;
  const FirstDifference& d = *c.first;
  const std::size_t at_b = event_of(tb, b.function, d.name, d.binding);
  const std::size_t at_a = event_of(ta, a.function, d.other_name, nullptr);
  if (at_a == kNoEvent || at_b == kNoEvent) return std::nullopt;
  GivenTensors given(session.context());
  Slice of_b(session.context(), b, tb, given), of_a(session.context(), a, ta, given);
  if (!of_b.take(at_b, false, why) || !of_a.take(at_a, true, why)) return std::nullopt;
  if (!of_b.ends_at(at_b, why) || !of_a.ends_at(at_a, why)) return std::nullopt;
  CutPair out{a, b, {}};
  out.a.module = of_a.finished();
  out.b.module = of_b.finished();
  out.a.args.clear();
  for (const auto& [var, value] : given.all()) {
    out.a.args.push_back(value);
    out.values.push_back({std::string(var->name), value, false});
  }
  out.b.args = out.a.args;
  source::Diagnostics found;
  why = "the parts by themselves are not well-formed";
  if (!ir::verify(session.context(), out.a.module, found) || !ir::verify(session.context(), out.b.module, found))
    return std::nullopt;
  why = "the parts by themselves do not differ";
  if (compare(session, out.a, out.b, tolerances).verdict != Comparison::Verdict::Differs) return std::nullopt;
  why.clear();
  return out;
}

// A function that calls the kernel on its parameters, which it may write to. Null: a Relax function cannot call it so.
const ir::Module* called_by_a_function(ir::Context& ctx, const Program& p, const std::string& name,
                                       const std::vector<const ir::Var*>& params) {
  const auto* kernel = ir::as<ir::PrimFunc>(p.module->find(p.function));
  if (!kernel || params.size() != kernel->params.size()) return nullptr;
  ir::ModuleBuilder builder(ctx, *p.module);
  std::vector<std::int64_t> all;
  std::vector<const ir::Type*> types;
  for (const ir::Var* v : params) {
    all.push_back(std::int64_t(all.size()));
    types.push_back(v->type);
  }
  const std::vector<const ir::Expr*> args(params.begin(), params.end());
  const ir::NamedAttr indices[] = {ctx.named(op_attr::InplaceIndices, ctx.attr_ints(all))};
  const ir::Expr* operands[] = {ctx.global_var(p.function, kernel->type), ctx.tuple(args)};
  const ir::Type* type = types.size() == 1 ? types[0] : ctx.tuple_type(types);
  const ir::Type* out_ty[] = {type};
  const ir::Call* call = ctx.call_typed(ctx.op(op::CallTirInplace), operands, type, indices, out_ty);
  const ir::Var* result = ctx.var("out", type);
  const ir::Binding* bindings[] = {ctx.binding(result, call)};
  const ir::BindingBlock* blocks[] = {ctx.block(bindings)};
  builder.set(name, ctx.function(params, ctx.seq(blocks, result), type, true, {}));
  return builder.build();
}

// Of kernels that were run by themselves.
std::optional<CutPair> kernels_in_functions(session::Session& session, const Program& a, const Program& b,
                                            const Tolerances& tolerances, std::string& why) {
  const auto* kernel = ir::as<ir::PrimFunc>(a.module->find(a.function));
  CutPair out{a, b, {}};
  std::vector<const ir::Var*> params;
  for (std::size_t i = 0; i < a.args.size() && i < kernel->params.size(); ++i) {
    why = fmt::format("`{}` takes `{}`, which is not a tensor", a.function, kernel->params[i].var->name);
    if (!a.args[i].is(runtime::ValueKind::Tensor)) return std::nullopt;
    const ir::Buffer* buffer = kernel->params[i].buffer;
    const std::string name(buffer ? buffer->name : kernel->params[i].var->name);
    params.push_back(session.context().var(name, session::type_of_value(session.context(), a.args[i])));
    out.values.push_back({name, a.args[i], false});
  }
  const std::string name(a.function == support::kEntryFunction ? "run" : support::kEntryFunction);
  out.a.module = called_by_a_function(session.context(), a, name, params);
  out.b.module = called_by_a_function(session.context(), b, name, params);
  why = fmt::format("`{}` takes other parameters", a.function);
  if (!out.a.module || !out.b.module) return std::nullopt;
  out.a.function = out.b.function = name;
  out.b.args = out.a.args;
  source::Diagnostics found;
  if (!ir::verify(session.context(), out.a.module, found) || !ir::verify(session.context(), out.b.module, found)) {
    why = "a function that calls the kernels is not well-formed: " + found.first_error();
    return std::nullopt;
  }
  why = "called by a function, the kernels do not differ";
  if (compare(session, out.a, out.b, tolerances).verdict != Comparison::Verdict::Differs) return std::nullopt;
  why.clear();
  return out;
}

bool is_a_kernel(const Program& p) { return p.module && ir::as<ir::PrimFunc>(p.module->find(p.function)); }

}  // namespace

std::optional<CutPair> cut_pair(session::Session& session, const Program& a, const Program& b,
                                const Tolerances& tolerances, std::string& why) {
  const bool plain = a.module && b.module && a.outputs == 0 && b.outputs == 0;
  if (!plain) why = "one of the programs writes its results to arguments";
  if (!plain) return std::nullopt;
  const Borrow borrow(session);
  if (is_a_kernel(a) && is_a_kernel(b)) return kernels_in_functions(session, a, b, tolerances, why);
  if (auto made = cut(session, a, b, tolerances, why)) return made;
  // The computation may be in a function of its own, as FuseOps leaves it.
  Program flat_a = a, flat_b = b;
  flat_a.module = run_pass(session.context(), a.module, passes::PassId::InlinePrivateFunctions);
  flat_b.module = run_pass(session.context(), b.module, passes::PassId::InlinePrivateFunctions);
  if (!flat_a.module || !flat_b.module || (flat_a.module == a.module && flat_b.module == b.module)) return std::nullopt;
  std::string ignored;
  return cut(session, flat_a, flat_b, tolerances, ignored);
}

}  // namespace rldb::repro
