// Resolving the function table of an executable, refusing by name, and scheduling the kernels.
#include "aot/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/device_function.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_aot.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::aot {

namespace {

using codegen::AotTarget;

class Planner {
 public:
  Planner(session::Session& session, Plan& plan, source::Diagnostics& out)
      : session_(session), plan_(plan), exe_(*plan.build->executable), out_(out) {}

  void run() {
    set_options();
    for (const runtime::Device& d : session_.devices_of(plan_.build->lowered))
      if (!d.is_host()) refuse("a device that is not the CPU", to_string(d));
    for (const bytecode::FunctionEntry& f : exe_.functions) plan_.targets.push_back(target_of(f));
    if (std::none_of(plan_.targets.begin(), plan_.targets.end(), [](const AotTarget& t) { return t.exported; }))
      out_.add({}, source::message(diag::AotNothing));
  }

 private:
  void set_options() {
    const session::Options& o = session_.options();
    plan_.options.fp = o.fast_math ? codegen::FpMode::Fast : codegen::FpMode::Strict;
    plan_.options.check_bounds = o.check_bounds;
    plan_.options.opt_level = o.opt_level;
    plan_.options.schedule = o.schedule;
  }

  void refuse(std::string_view kind, std::string_view name) {
    out_.add({}, source::message(diag::AotUnsupported, kind, name));
  }

  AotTarget target_of(const bytecode::FunctionEntry& f) {
    AotTarget t;
    if (f.kind == bytecode::FunctionKind::Bytecode) {
      t.kind = AotTarget::Kind::Bytecode;
      t.exported = is_public(f.name);
      return t;
    }
    const ir::Module* kernels = plan_.build->lowered;
    if (const auto* k = kernels ? ir::as<ir::PrimFunc>(kernels->find(f.name)) : nullptr) {
      t.kind = AotTarget::Kind::Kernel;
      t.kernel = plan_.kernels.size();
      plan_.kernels.push_back({f.name, k, nullptr});
      packed_calls_of(k);
      return t;
    }
    if (const std::string_view symbol = codegen::runtime_symbol(f.name); !symbol.empty()) {
      t.kind = AotTarget::Kind::Builtin;
      t.symbol = std::string(symbol);
      return t;
    }
    if (f.kind == bytecode::FunctionKind::VmTir)
      refuse("a function compiled by TVM (`VMTIRFunc`)", f.name);
    else
      called_by_name(f.name);
    return t;
  }

  // A function that the library does not contain: one that only rldb has, or the host's. Collectives are the host's:
  // it knows the other workers.
  void called_by_name(std::string_view name) {
    if (name == builtin::CallOperator)
      out_.add({}, source::message(diag::AotOpenTypes, operators_left()));
    else if (bytecode::find_builtin(name))
      refuse("the builtin", name);
    else if (bytecode::is_device_function(name))
      refuse("the function of a device's runtime", name);
    else if (std::find(plan_.externals.begin(), plan_.externals.end(), name) == plan_.externals.end())
      plan_.externals.emplace_back(name);
  }

  // `R.matmul`, `R.add`: operators that get their code when they run.
  std::string operators_left() const {
    std::vector<std::string> names;
    for (bytecode::Pc pc = 0; pc < exe_.end(); ++pc) {
      const bytecode::Instruction i = exe_.instruction(pc);
      if (i.op != bytecode::Opcode::Call || exe_.functions[std::size_t(i.callee)].name != builtin::CallOperator ||
          i.args.empty() || i.arg(0).kind() != bytecode::ArgKind::Constant)
        continue;
      const runtime::Value& text = exe_.constants[std::size_t(i.arg(0).value())];
      if (!text.is(runtime::ValueKind::String)) continue;
      const std::string name = fmt::format("`{}`", text.as_string().substr(0, text.as_string().find('(')));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names.empty() ? "some operators" : fmt::format("{}", fmt::join(names, ", "));
  }

  void packed_calls_of(const ir::PrimFunc* kernel) {
    ir::walk(kernel->body, [&](const ir::Node* n) {
      const auto* call = ir::as<ir::Call>(n);
      if (!call || call->args.empty()) return true;
      const bool packed =
          ir::is_call_of(call, ir::intrin::TvmCallPacked) || ir::is_call_of(call, ir::intrin::TvmCallCpacked);
      const auto* name = packed ? ir::as<ir::StringImm>(call->args[0]) : nullptr;
      if (name && called_.insert(name->value).second && !codegen::kernels_may_call(name->value))
        called_by_name(name->value);
      return true;
    });
  }

  // Functions that passes made (lifted closures) and private ones are not exported. Those of an executable are all the
  // same.
  bool is_public(std::string_view name) const {
    const ir::Module* source = plan_.build->source;
    if (!source) return true;
    const auto* f = source ? ir::as<ir::Function>(source->find(name)) : nullptr;
    return f && ir::find_attr(f->attrs, attr_name::GlobalSymbol);
  }

  session::Session& session_;
  Plan& plan_;
  const bytecode::Executable& exe_;
  source::Diagnostics& out_;
  std::set<std::string_view> called_;  // in kernels
};

}  // namespace

std::optional<Plan> plan(session::Session& session, source::Diagnostics& out) {
  Plan plan;
  plan.build = session.runnable(out);
  if (!plan.build) return std::nullopt;
  if (vm::instructions_of(*plan.build->program)) {
    out.add({}, source::message(diag::AotUnsupported, "the code of the Relay VM", session.program_path())
                    .with_hint("build the Relay text that it was made from"));
    return std::nullopt;
  }
  const std::size_t before = out.error_count();
  Planner(session, plan, out).run();
  if (out.error_count() > before) return std::nullopt;
  for (PlannedKernel& k : plan.kernels) {
    auto made = codegen::scheduled_kernel(session.context(), k.function, k.name, plan.options);
    if (made.ok())
      k.scheduled = *made;
    else
      out.add(session.context().span_of(k.function), source::message(diag::AotKernel, k.name, made.error().text));
  }
  if (out.error_count() > before) return std::nullopt;
  return plan;
}

}  // namespace rldb::aot
