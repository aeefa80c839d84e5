// The cost of a binding: the arithmetic of its kernels, counted over their loops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "debug/kernel/written.h"
#include "rldb/debug/graph.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Value;

namespace {

using DimSizes = std::vector<std::pair<std::string, std::int64_t>>;

// Counts the operations of a kernel for given values of its shape variables.
class Counter {
 public:
  explicit Counter(std::unordered_map<const ir::Var*, std::int64_t> vars) : vars_(std::move(vars)) {}

  void count(const ir::Stmt* s, double times, int depth = 0) {
    constexpr int kMaxDepth = 500;
    if (!s || depth > kMaxDepth) return;
    support::poll();
    if (const auto* loop = ir::as<ir::ForStmt>(s)) {
      const auto extent = value_of(loop->extent);
      return count(loop->body, times * double(extent.value_or(1)), depth + 1);
    }
    if (const auto* store = ir::as<ir::BufferStore>(s)) {
      operations += times * operations_of(store->value);
      return;
    }
    if (const auto* block = ir::as<ir::SBlock>(s)) return count(block->body, times, depth + 1);
    // Nested statements: sequences, branches (each counted as if it were taken), attributes.
    ir::for_each_use(s, [&](const ir::Node* n) {
      if (const auto* inner = ir::as<ir::Stmt>(n)) count(inner, times, depth + 1);
    });
    if (ir::isa<ir::WhileStmt>(s)) unknown = "a `while` loop, counted once";
  }

  std::optional<std::int64_t> value_of(const ir::Expr* e) {
    eval::ScalarEnv env;
    env.var = [this](const ir::Var* v) -> std::optional<Value> {
      const auto it = vars_.find(v);
      return it == vars_.end() ? std::nullopt : std::optional(Value::of_int(it->second));
    };
    env.buffer = [](const ir::Buffer*) { return std::optional<Value>(); };
    const auto v = eval::eval_scalar(e, env);
    if (v.ok() && v->is(runtime::ValueKind::Int)) return v->as_int();
    unknown = "a loop whose extent is known only when it runs, counted once";
    return std::nullopt;
  }

  double operations = 0;
  std::string unknown;

 private:
  // Arithmetic in a value; indices are addresses and do not count.
  static double operations_of(const ir::Expr* e) {
    double found = 0;
    ir::walk(e, [&](const ir::Node* n) {
      found += ir::isa<ir::BinaryExpr>(n) || ir::isa<ir::Call>(n);
      return !ir::isa<ir::BufferLoad>(n);
    });
    return found;
  }

  std::unordered_map<const ir::Var*, std::int64_t> vars_;
};

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

// Adds the cost of a kernel call for the dims of the function.
class Costing {
 public:
  Costing(const DimSizes& dims, BindingCost& out) : dims_(dims), out_(out) {}

  void add(const KernelCall& call) {
    out_.kernels.emplace_back(call.name);
    for (const ir::Type* t : call.arguments) out_.bytes_read += bytes_of(t);
    for (const ir::Type* t : call.results) out_.bytes_written += bytes_of(t);
    Counter counter(shape_variables(call));
    counter.count(call.kernel->body, 1);
    constexpr double kMost = 1.8e19;
    out_.operations += std::uint64_t(std::min(counter.operations, kMost));
    if (!counter.unknown.empty()) out_.unknown = counter.unknown;
  }

 private:
  std::optional<std::int64_t> dim(const ir::Expr* e) {
    eval::ScalarEnv env;
    env.var = [this](const ir::Var* v) -> std::optional<Value> {
      for (const auto& [name, value] : dims_)
        if (name == v->name) return Value::of_int(value);
      return std::nullopt;
    };
    env.buffer = [](const ir::Buffer*) { return std::optional<Value>(); };
    const auto v = eval::eval_scalar(e, env);
    if (v.ok() && v->is(runtime::ValueKind::Int)) return v->as_int();
    out_.unknown = "a dim that has no value here";
    return std::nullopt;
  }
  std::uint64_t bytes_of(const ir::Type* type) {
    const auto* t = ir::as<ir::TensorType>(type);
    if (!t || !t->has_shape) {
      if (t) out_.unknown = "a tensor whose shape is known only when it runs";
      return 0;
    }
    double bytes = double(t->dtype.bytes());
    for (const ir::Expr* e : t->shape) bytes *= double(dim(e).value_or(0));
    return std::uint64_t(std::clamp(bytes, 0.0, 1.8e19));
  }
  // The kernel's parameters correspond to the arguments, then to the results.
  std::unordered_map<const ir::Var*, std::int64_t> shape_variables(const KernelCall& call) {
    std::unordered_map<const ir::Var*, std::int64_t> vars;
    std::vector<const ir::Type*> types = call.arguments;
    types.insert(types.end(), call.results.begin(), call.results.end());
    for (std::size_t i = 0; i < call.kernel->params.size() && i < types.size(); ++i) {
      const ir::Buffer* buffer = call.kernel->params[i].buffer;
      const auto* t = ir::as<ir::TensorType>(types[i]);
      if (!buffer || !t || !t->has_shape) continue;
      for (std::size_t d = 0; d < buffer->shape.size() && d < t->shape.size(); ++d)
        if (const auto* v = ir::as<ir::Var>(buffer->shape[d]))
          if (const auto value = dim(t->shape[d])) vars.emplace(v, *value);
    }
    return vars;
  }

  const DimSizes& dims_;
  BindingCost& out_;
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
  BindingCost cost;
  Costing costing(dims, cost);
  bool found = false;
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      support::poll();
      if (!descends(session.context().origins(), b, binding)) continue;
      found = true;
      if (const auto call = kernel_call(build.legal, b->value)) costing.add(*call);
    }
  return found ? std::optional(std::move(cost)) : std::nullopt;
}

}  // namespace rldb::debug
