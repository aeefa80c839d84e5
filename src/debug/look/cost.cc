// The cost of a binding: the arithmetic of its kernels, counted over their loops.
#include <algorithm>

#include "debug/kernel/written.h"
#include "debug/look/kernel_cost.h"
#include "rldb/debug/graph.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

namespace {

using DimSizes = std::vector<std::pair<std::string, std::int64_t>>;

// A call of a kernel with the types of the tensors that it reads and writes.
struct KernelCall {
  std::string_view name;
  const ir::PrimFunc* kernel = nullptr;
  std::vector<const ir::Type*> arguments;
  std::vector<const ir::Type*> results;
};

void add_tensors(const ir::Type* type, std::vector<const ir::Type*>& out) {
  if (const auto* tuple = ir::as<ir::TupleType>(type)) {
    for (const ir::Type* field : tuple->fields) add_tensors(field, out);
  } else {
    out.push_back(type);
  }
}

// `cls.kernel(x, out)`, as in lowered code: its outputs are among the arguments.
std::optional<KernelCall> direct_call(const ir::Module* module, const ir::Expr* e) {
  const auto* call = ir::as<ir::Call>(e);
  const auto* callee = call ? ir::as<ir::GlobalVar>(call->callee) : nullptr;
  const auto* kernel = callee ? ir::as<ir::PrimFunc>(module->find(callee->name)) : nullptr;
  if (!kernel) return std::nullopt;
  KernelCall found{callee->name, kernel, {}, {}};
  const std::vector<bool> writes = written_parameters(kernel);
  for (std::size_t i = 0; i < call->args.size(); ++i)
    add_tensors(call->args[i]->type, i < writes.size() && writes[i] ? found.results : found.arguments);
  return found;
}

std::optional<KernelCall> kernel_call(const ir::Module* module, const ir::Expr* e) {
  if (!op::is_call_with(e, op::Trait::CallTir)) return direct_call(module, e);
  const auto* call = ir::as<ir::Call>(e);
  const auto* callee = call->args.size() < 2 ? nullptr : ir::as<ir::GlobalVar>(call->args[0]);
  const auto* kernel = callee ? ir::as<ir::PrimFunc>(module->find(callee->name)) : nullptr;
  if (!kernel) return std::nullopt;
  KernelCall found{callee->name, kernel, {}, {}};
  add_tensors(call->args[1]->type, found.arguments);
  add_tensors(call->type, found.results);
  return found;
}

// Adds the cost of kernel calls; dims of the function that have no value are symbols.
class Costing {
 public:
  explicit Costing(const DimSizes& dims) : dims_(dims) {}

  void add(const KernelCall& call) {
    cost_.kernels.emplace_back(call.name);
    for (const ir::Type* t : call.arguments) read_ += bytes_of(t);
    for (const ir::Type* t : call.results) written_ += bytes_of(t);
    KernelCost kernel = kernel_cost(call.kernel, shape_variables(call));
    operations_ += kernel.operations;
    if (!kernel.unknown.empty()) cost_.unknown = std::move(kernel.unknown);
  }

  BindingCost take() && {
    cost_.operations = operations_.text();
    cost_.bytes_read = read_.text();
    cost_.bytes_written = written_.text();
    return std::move(cost_);
  }

 private:
  Amount dim(const ir::Expr* e) {
    AmountOf known;
    std::vector<const ir::Var*> vars;
    ir::collect_vars(e, vars);
    for (const ir::Var* v : vars)
      for (const auto& [name, value] : dims_)
        if (name == v->name) known.emplace(v, Amount(double(value)));
    return amount_of(e, known).value_or(Amount::symbol(ir::print_expr(e)));
  }
  std::vector<Amount> dims_of(const ir::TensorType* t) {
    std::vector<Amount> dims;
    for (const ir::Expr* e : t->shape) dims.push_back(dim(e));
    return dims;
  }
  Amount bytes_of(const ir::Type* type) {
    const auto* t = ir::as<ir::TensorType>(type);
    if (!t || !t->has_shape) {
      if (t) cost_.unknown = "a tensor whose shape is known only at run time";
      return {};
    }
    Amount bytes(double(t->dtype.bytes()));
    for (const Amount& d : dims_of(t)) bytes = bytes * d;
    return bytes;
  }
  // The kernel's parameters correspond to the arguments, then to the results.
  AmountOf shape_variables(const KernelCall& call) {
    AmountOf vars;
    std::vector<const ir::Type*> types = call.arguments;
    types.insert(types.end(), call.results.begin(), call.results.end());
    for (std::size_t i = 0; i < call.kernel->params.size() && i < types.size(); ++i)
      if (const auto* t = ir::as<ir::TensorType>(types[i]); t && t->has_shape)
        bind_dims(vars, call.kernel->params[i].buffer, dims_of(t));
    return vars;
  }

  const DimSizes& dims_;
  BindingCost cost_;
  Amount operations_, read_, written_;
};

// Is it derived, pass by pass, from the node?
bool descends(const ir::SideTable<ir::Span<std::uint32_t>>& origins, const ir::Binding* b, std::uint32_t from) {
  constexpr std::size_t kMost = 256;
  std::vector<std::uint32_t> queue{b->id, b->var->id, b->value->id};
  for (std::size_t i = 0; i < queue.size() && queue.size() < kMost; ++i) {
    if (queue[i] == from) return true;
    for (const std::uint32_t id : origins.get(queue[i]))
      if (std::find(queue.begin(), queue.end(), id) == queue.end()) queue.push_back(id);
  }
  return false;
}

}  // namespace

std::optional<BindingCost> cost_of_binding(session::Session& session, const session::Build& build,
                                           std::string_view function, std::uint32_t binding, const DimSizes& dims) {
  const auto* f = build.legal ? ir::as<ir::Function>(build.legal->find(function)) : nullptr;
  if (!f || !f->body) return std::nullopt;
  Costing costing(dims);
  bool found = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* b = ir::as<ir::Binding>(n);
    if (!b) return true;
    support::poll();
    if (!descends(session.context().origins(), b, binding)) return true;
    found = true;
    if (const auto call = kernel_call(build.legal, b->value)) costing.add(*call);
    return true;
  });
  return found ? std::optional(std::move(costing).take()) : std::nullopt;
}

}  // namespace rldb::debug
