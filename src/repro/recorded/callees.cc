// Finds the functions that a recorded run calls, and builds a program that can call each of them.
#include "repro/recorded/callees.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/borrow.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::repro {

using ir::as;

namespace {

// The name that the machine has for a kernel.
std::string symbol_of_kernel(const ir::ModuleEntry& e) {
  const auto* f = as<ir::PrimFunc>(e.function);
  const ir::Attr* symbol = f ? ir::find_attr(f->attrs, attr_name::GlobalSymbol) : nullptr;
  return symbol && symbol->is(ir::AttrKind::String) ? std::string(symbol->string) : std::string(e.name);
}

std::string_view without_number(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

std::string takes(std::size_t here, std::size_t recorded) {
  return fmt::format("here it takes {}, not {}", support::counted(here, "argument"), recorded);
}

}  // namespace

std::size_t kernels_found(const ir::Module* module, const std::set<RecordedName>& names) {
  std::set<std::string> there;
  for (const ir::ModuleEntry& e : module->entries)
    if (as<ir::PrimFunc>(e.function)) there.insert({std::string(e.name), symbol_of_kernel(e)});
  return std::size_t(
      std::count_if(names.begin(), names.end(), [&](const RecordedName& n) { return there.contains(n.name); }));
}

const ir::Module* module_with_kernels(session::Session& session, const ir::Module* module,
                                      const std::set<RecordedName>& names, bool lower, std::string& made_by) {
  const ir::Module* best = module;
  std::size_t most = kernels_found(module, names);
  const auto wanted = std::size_t(
      std::count_if(names.begin(), names.end(), [](const RecordedName& n) { return !bytecode::find_builtin(n.name); }));
  if (!lower) return best;
  for (const passes::PipelineInfo& pipeline : passes::named_pipelines()) {
    if (most == wanted) break;
    support::poll();
    session.set_program(module);
    source::Diagnostics ignored;
    if (!session.run_passes(pipeline.passes, ignored)) continue;
    const std::size_t found = kernels_found(session.module(), names);
    if (found <= most) continue;
    most = found;
    best = session.module();
    made_by = pipeline.name;
  }
  return best;
}

Callees::Callees(session::Session& session, const ir::Module* kernels, const std::set<RecordedName>& names)
    : session_(session), kernels_(kernels) {
  for (const ir::ModuleEntry& e : kernels->entries)
    if (as<ir::PrimFunc>(e.function)) by_symbol_.emplace(symbol_of_kernel(e), std::string(e.name));
  for (const RecordedName& name : names) add(name);
  // The same kernels for calls under other names.
  for (const RecordedName& name : names)
    if (!bytecode::find_builtin(name.name))
      for (const auto& [symbol, kernel] : by_symbol_)
        if (symbol != name.name && without_number(symbol) == without_number(name.name)) add({symbol, name.args, false});
  build();
}

const Callee* Callees::find(const RecordedName& name) const {
  const auto it = callees_.find(name);
  return it == callees_.end() ? nullptr : &it->second;
}

std::vector<std::pair<std::string, const Callee*>> Callees::namesakes(const RecordedName& name) const {
  std::vector<std::pair<std::string, const Callee*>> out;
  for (const auto& [other, callee] : callees_)
    if (other.name != name.name && other.args == name.args && callee.kind == CalleeKind::Kernel && callee.module &&
        without_number(other.name) == without_number(name.name))
      out.emplace_back(other.name, &callee);
  return out;
}

const ir::Function* Callees::passing_on(const ir::Expr* callee, const RecordedName& name) {
  ir::Context& ctx = session_.context();
  std::vector<const ir::Var*> params;
  for (std::size_t i = 0; i < name.args; ++i) params.push_back(ctx.var(fmt::format("p{}", i), ctx.any()));
  const std::vector<const ir::Expr*> args(params.begin(), params.end());
  const ir::Type* any[] = {ctx.any()};
  const ir::Expr* value = nullptr;
  if (name.takes_machine) {
    const ir::Expr* operands[] = {callee, ctx.tuple(args)};
    value = ctx.call_typed(ctx.op(op::CallBuiltinWithCtx), operands, ctx.any(), {}, any);
  } else {
    value = ctx.call_typed(
        callee, args, ctx.any(), {},
        as<ir::ExternFunc>(callee) ? std::span<const ir::Type* const>(any) : std::span<const ir::Type* const>());
  }
  const ir::Var* result = ctx.var("result", ctx.any());
  const ir::Binding* bindings[] = {ctx.binding(result, value)};
  const ir::BindingBlock* blocks[] = {ctx.block(bindings)};
  return ctx.function(params, ctx.seq(blocks, result), ctx.any(), false, {});
}

void Callees::add(const RecordedName& name) {
  if (callees_.contains(name)) return;
  ir::Context& ctx = session_.context();
  Callee callee;
  const ir::Expr* target = nullptr;
  const auto kernel = by_symbol_.find(name.name);
  const std::string entry = kernel == by_symbol_.end() ? name.name : kernel->second;
  const ir::Expr* there = kernels_->find(entry);
  const auto* outer = as<ir::Function>(there);
  if (const auto* f = as<ir::PrimFunc>(there)) {
    callee.kind = CalleeKind::Kernel;
    callee.kernel = entry;
    target = ctx.global_var(entry, ctx.relax_type_of(f));
    auto signature = eval::signature_of(f, entry);
    if (!signature.ok())
      callee.why = signature.error().text;
    else if (signature->params.size() != name.args)
      callee.why = takes(signature->params.size(), name.args);
  } else if (outer && ir::find_attr(outer->attrs, attr_name::Codegen)) {  // compiled by another code generator
    callee.kind = CalleeKind::Function;
    target = ctx.global_var(entry, outer->type);
  } else if (outer) {
    callee.kind = CalleeKind::Relax;
    target = ctx.global_var(entry, outer->type);
    if (outer->params.size() != name.args) callee.why = takes(outer->params.size(), name.args);
  } else if (const auto id = bytecode::find_builtin(name.name)) {
    callee.kind = CalleeKind::Builtin;
    target = ctx.extern_func(name.name);
    const bytecode::BuiltinInfo& row = bytecode::info(*id);
    const auto given = int(name.args) + int(name.takes_machine);
    if (row.takes_vm() != name.takes_machine || given < row.min_args || (row.max_args >= 0 && given > row.max_args))
      callee.why = fmt::format("here it takes {}", row.arguments);
  } else if (session_.registry().find(name.name)) {
    callee.kind = CalleeKind::Packed;
    target = ctx.extern_func(name.name);
  }
  if (!target) return;
  ir::ModuleBuilder builder(ctx, all_ ? *all_ : *kernels_);
  callee.function = builder.unique_name("replay_" + name.name);
  builder.set(callee.function, passing_on(target, name));
  all_ = builder.build();
  callees_.emplace(name, std::move(callee));
}

// The function and what it needs.
const ir::Module* Callees::only(const std::string& function) const {
  const std::string_view roots[] = {function};
  return ir::reachable_from(session_.context(), all_, roots);
}

bool Callees::builds(const ir::Module* module, std::string& why) {
  session_.set_program(module);
  source::Diagnostics found;
  const bool fine = session_.options().engine == session::Engine::Eval || session_.runnable(found);
  support::poll_cause();
  if (!fine) why = found.first_error();
  return fine;
}

void Callees::build() {
  if (callees_.empty()) return;
  std::vector<std::string_view> roots;
  for (const auto& [name, callee] : callees_)
    if (callee.why.empty()) roots.push_back(callee.function);
  const ir::Module* together = ir::reachable_from(session_.context(), all_, roots);
  std::string why;
  const bool fine = builds(together, why);
  for (auto& [name, callee] : callees_) {
    if (!callee.why.empty()) continue;
    if (fine) {
      callee.module = together;
    } else if (const ir::Module* alone = only(callee.function); builds(alone, callee.why)) {
      callee.module = alone;
    }
  }
}

}  // namespace rldb::repro
