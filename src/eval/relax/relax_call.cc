// RelaxEval: operators that are calls (call_tir, call_packed, closures), and the tensors that they allocate.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "eval/relax/relax_eval.h"
#include "eval/relax/relax_op.h"
#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/ir/any_target.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op/closure.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/operator_text.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/copy.h"
#include "rldb/runtime/fresh_memory.h"
#include "rldb/runtime/shared_memory.h"

namespace rldb::eval {

Result<Value> RelaxEval::call_expr(const ir::Call* c, Scope& scope) {
  if (const auto* op = as<ir::Op>(c->callee)) {
    if (ir::is_tir_op(op)) return scalar(c, scope);
    return call_op(op->name, c, scope);
  }
  RLDB_TRY(std::vector<Value> args, values(c->args, scope));
  if (const auto* g = as<ir::GlobalVar>(c->callee)) return call_global(g->name, args);
  if (const auto* x = as<ir::ExternFunc>(c->callee)) return call_packed(x->symbol, args);
  RLDB_TRY(const Value callee, eval(c->callee, scope));
  return call_value(callee, std::move(args));
}

Result<std::vector<Value>> RelaxEval::inputs_of(const ir::Expr* e, Scope& scope) {
  if (const auto* t = as<ir::Tuple>(e)) return values(t->items, scope);
  RLDB_TRY(Value v, eval(e, scope));
  if (v.is(ValueKind::Tuple)) return v.as_tuple().fields;
  return std::vector<Value>{std::move(v)};
}

Result<Value> RelaxEval::poisoned(Result<Value> made, bool is_new) const {
  if (!env_.poisoned_memory || !is_new || !made.ok()) return made;
  const auto fill = [](auto* data, std::size_t bytes) {
    if (bytes > 0) std::memset(data, runtime::kFreshByte, bytes);
  };
  if (made->is(ValueKind::Storage)) fill(made->storage_ref()->data(), made->storage_ref()->size());
  if (made->is(ValueKind::Tensor)) fill(made->as_tensor().data(), made->as_tensor().byte_size());
  return made;
}

Result<Value> RelaxEval::allocate(const ir::Type* type, Scope& scope) {
  RLDB_TRY(Value made, poisoned(allocate_tensor(type, scope)));
  if (env_.watcher) env_.watcher->allocated(made);
  return made;
}

std::optional<runtime::Device> RelaxEval::nth_of_kind(std::string_view kind, int n) const {
  for (std::size_t i = 0; i < env_.module->vdevices.size() && i < env_.devices.size(); ++i)
    if (env_.module->vdevices[i]->target_kind == kind && n-- == 0) return env_.devices[i];
  return std::nullopt;
}

runtime::Device RelaxEval::device_of(const ir::VDevice* d) const {
  if (env_.devices.empty() || !d) return runtime::device_at(env_.devices, 0);
  if (d->global_index >= 0 && std::size_t(d->global_index) < env_.devices.size())
    return runtime::device_at(env_.devices, d->global_index);
  if (d->target_kind == ir::kAnyTarget) return runtime::device_at(env_.devices, d->device_id);
  if (const auto listed = nth_of_kind(d->target_kind, d->device_id)) return *listed;
  return {runtime::device_type_of(d->target_kind), d->device_id};
}

runtime::Device RelaxEval::target_device(const ir::Call* c) const {
  const ir::Attr* where = ir::find_attr(c->attrs, op_attr::DstVdevice);
  if (where && where->is(ir::AttrKind::Opaque)) {
    const auto number = [&](std::string_view name, std::size_t position) {
      const ir::Attr* a = ir::find_attr(where->fields, name);
      if (!a && position < where->items.size()) a = where->items[position];
      return a ? std::int32_t(a->integer) : 0;
    };
    return {number("device_type", 0), number("index", 1)};
  }
  if (where && where->is(ir::AttrKind::String)) {
    const std::string_view text = where->string;
    const std::string_view kind = text.substr(0, text.find(':'));
    const auto named = runtime::parse_device(text.substr(0, text.find(':', std::min(kind.size() + 1, text.size()))));
    std::int32_t nth = named ? named->id : 0;
    for (const ir::VDevice* d : env_.module->vdevices)
      if (d->target_kind == kind && nth-- == 0) return device_of(d);
    if (named) return *named;
  }
  const auto* t = as<ir::TensorType>(c->type);
  return device_of(t ? t->vdevice : nullptr);
}

Result<Value> RelaxEval::allocate_tensor(const ir::Type* type, Scope& scope) {
  if (const auto* t = as<ir::TensorType>(type); t && t->has_shape) {
    RLDB_TRY(std::vector<std::int64_t> shape, integers(t->shape, scope));
    RLDB_TRY(runtime::Ref<runtime::Tensor> made,
             runtime::Tensor::empty(std::move(shape), t->dtype, device_of(t->vdevice)));
    return Value(std::move(made));
  }
  if (const auto* t = as<ir::TensorType>(type); t && t->shape_var) {
    RLDB_TRY(const Value shape, eval(t->shape_var, scope));
    RLDB_TRY(runtime::Ref<runtime::Tensor> made,
             runtime::Tensor::empty(shape.as_shape(), t->dtype, device_of(t->vdevice)));
    return Value(std::move(made));
  }
  return fail(ErrorKind::Unsupported, fmt::format("the output {} has no shape to allocate", ir::print_type(type)));
}

Result<Value> RelaxEval::allocate_output(const ir::Type* type, std::vector<Value>& args, Scope& scope) {
  const auto* tuple = as<ir::TupleType>(type);
  if (!tuple) {
    RLDB_TRY(Value made, allocate(type, scope));
    args.push_back(made);
    return made;
  }
  std::vector<Value> fields;
  for (const ir::Type* t : tuple->fields) {
    RLDB_TRY(Value field, allocate_output(t, args, scope));
    fields.push_back(std::move(field));
  }
  return Value::of_tuple(std::move(fields));
}

Result<Value> RelaxEval::call_tir(const ir::Call* c, Scope& scope) {
  RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
  if (c->args.size() > 2) {  // OLD: trailing scalars as a shape
    RLDB_TRY(const Value scalars, eval(c->args[2], scope));
    if (scalars.is(ValueKind::Shape)) {
      // They come after the outputs in the PrimFunc.
      const std::vector<std::int64_t> dims = scalars.as_shape();
      return destination_passing(c, std::move(args), scope, [&](std::vector<Value>& all) {
        for (const std::int64_t d : dims) all.push_back(Value::of_int(d));
        return run_callee(c->args[0], all);
      });
    }
  }
  return destination_passing(c, std::move(args), scope,
                             [&](std::vector<Value>& all) { return run_callee(c->args[0], all); });
}

Result<Value> RelaxEval::run_callee(const ir::Expr* callee, std::vector<Value>& args) {
  if (const auto* g = as<ir::GlobalVar>(callee)) return call_global(g->name, args);
  if (const auto* x = as<ir::ExternFunc>(callee)) return call_packed(x->symbol, args);
  return fail(ErrorKind::Unsupported, fmt::format("cannot call `{}`", ir::print_expr(callee)));
}

Result<Value> RelaxEval::call_tir_inplace(const ir::Call* c, Scope& scope) {
  RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
  const ir::Attr* indices = ir::find_attr(c->attrs, op_attr::InplaceIndices);
  const ir::Type* out = c->ty_args.empty() ? c->type : c->ty_args[0];
  std::vector<const ir::Type*> types{out};
  const auto* tuple = as<ir::TupleType>(out);
  if (tuple) types.assign(tuple->fields.begin(), tuple->fields.end());
  std::vector<Value> outputs;
  std::vector<Value> all = args;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::int64_t index = indices && i < indices->items.size() ? indices->items[i]->integer : -1;
    if (index >= 0 && std::size_t(index) < args.size()) {
      RLDB_TRY_VOID(runtime::own_all(args[std::size_t(index)]));
      outputs.push_back(args[std::size_t(index)]);
      continue;
    }
    RLDB_TRY(Value fresh, allocate(types[i], scope));
    outputs.push_back(fresh);
    all.push_back(std::move(fresh));
  }
  RLDB_TRY_VOID(run_callee(c->args[0], all));
  return tuple ? Value::of_tuple(std::move(outputs)) : outputs[0];
}

Result<Value> RelaxEval::call_op(std::string_view name, const ir::Call* c, Scope& scope) {
  const op::Row* row = op::find(name);
  if (!row || !has_meaning(*row)) return call_unknown(name, c, scope);
  if (name == op::CallTirInplace) return call_tir_inplace(c, scope);
  if (row->has(op::Trait::CallTir)) return call_tir(c, scope);
  if (row->has(op::Trait::CallsClosure)) return call_closure(c, scope);
  if (name == op::MakeClosure) return make_closure(c, scope);
  const bool with_machine = name == op::CallBuiltinWithCtx;
  if (with_machine || row->has(op::Trait::CallsPacked)) return call_packed_op(c, with_machine, scope);
  if (row->has(op::Trait::Kills)) return kill(c, scope);
  if (name == op::VmCallTirDyn) return call_tir_dyn(c, scope);
  RLDB_TRY(std::vector<Value> args, values(c->args, scope));
  if ((name == op::ToVdevice || name == op::HintOnDevice) && !env_.devices.empty() && !args.empty())
    return watched(name, nullptr, args, [&] { return runtime::on_device(args[0], target_device(c)); });
  const bool is_new = row->has(op::Trait::Allocates) && (args.empty() || !args[0].is(ValueKind::Storage));
  return watched(name, nullptr, args, [&] {
    return poisoned(find_relax_op(row->id)({name, args, env_.output, env_.devices}), is_new);
  });
}

Result<Value> RelaxEval::call_unknown(std::string_view name, const ir::Call* c, Scope& scope) {
  const runtime::PackedInfo* f = env_.registry ? env_.registry->find(builtin::CallOperator) : nullptr;
  const auto run = [&](const std::vector<Value>& args) {
    std::vector<Value> all = args;
    all.insert(all.begin(), Value::of_string(ir::operator_text(*env_.context, c)));
    return f->function->native(all);
  };
  const bool open = ir::has_open_type(c);
  runtime::Error error{ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", name), {}};
  if (!f || !env_.context) return support::Failure(std::move(error));
  RLDB_TRY(std::vector<Value> args, values(c->args, scope));
  if (open) return watched(name, nullptr, args, [&] { return run(args); });
  // Its types are known, and it was not legalised: the maker knows why.
  if (auto made = run(args); !made.ok()) {
    runtime::Error why = std::move(made).error();
    error.notes = why.notes.empty() ? std::vector{std::move(why.message)} : std::move(why.notes);
  }
  return support::Failure(std::move(error));
}

Result<Value> RelaxEval::call_tir_dyn(const ir::Call* c, Scope& scope) {
  RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
  if (!args.empty() && args.back().is(ValueKind::Shape)) {
    const Value dims = std::move(args.back());
    args.pop_back();
    for (const std::int64_t d : dims.as_shape()) args.push_back(Value::of_int(d));
  }
  return run_callee(c->args[0], args);
}

Result<Value> RelaxEval::call_closure(const ir::Call* c, Scope& scope) {
  RLDB_TRY(const Value callee, eval(c->args[0], scope));
  RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
  return call_value(callee, std::move(args));
}

Result<Value> RelaxEval::make_closure(const ir::Call* c, Scope& scope) {
  RLDB_TRY(const Value callee, eval(c->args[0], scope));
  RLDB_TRY(std::vector<Value> captured, inputs_of(c->args[1], scope));
  return closure_over(callee.as_function(), captured);
}

Result<Value> RelaxEval::call_packed_op(const ir::Call* c, bool with_machine, Scope& scope) {
  // call_builtin_with_ctx has its arguments in a tuple; the machine precedes them there.
  const auto* tuple = with_machine && c->args.size() == 2 ? as<ir::Tuple>(c->args[1]) : nullptr;
  RLDB_TRY(std::vector<Value> args, values(tuple ? tuple->items : c->args.subspan(1), scope));
  if (const auto* x = as<ir::ExternFunc>(c->args[0])) return call_packed(x->symbol, args);
  RLDB_TRY(const Value callee, eval(c->args[0], scope));
  return call_value(callee, std::move(args));
}

Result<Value> RelaxEval::kill(const ir::Call* c, Scope& scope) {
  const auto* v = c->args.size() == 1 ? as<ir::Var>(c->args[0]) : nullptr;
  if (!v) return fail(ErrorKind::Unsupported, fmt::format("only a variable can be killed: `{}`", ir::print_expr(c)));
  scope.values[v] = Value::null();
  return Value::null();
}

}  // namespace rldb::eval
