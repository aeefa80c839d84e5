// The checks of dims: which operators get one, the kernels that they became, and the check before such a kernel runs.
#include "session/dim_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "rldb/ir/op_traits.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/session/dim_fault.h"

namespace rldb::session {

using ir::as;
using runtime::Error;
using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

constexpr std::string_view kMisfit = "the dims do not fit with ";  // the note, by which these faults are known
constexpr std::size_t kMostKnown = 4096;                           // dims that are remembered for one kernel

// The symbols in the types and values of a call's operands.
std::vector<const ir::Var*> symbols_of(const ir::Call* call) {
  std::vector<const ir::Var*> all;
  for (const ir::Expr* a : call->args) {
    ir::collect_vars(a, all);
    ir::collect_vars(a->type, all);
  }
  std::vector<const ir::Var*> out;
  for (const ir::Var* v : all) {
    const auto* prim = as<ir::PrimType>(v->type);
    if (prim && prim->dtype.is_integral() && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
  }
  return out;
}

const ir::Expr* with_dims(ir::Context& ctx, const ir::Expr* operand, const ir::VarMap& dims) {
  if (const auto* tuple = as<ir::Tuple>(operand)) {
    std::vector<const ir::Expr*> items;
    for (const ir::Expr* item : tuple->items) items.push_back(with_dims(ctx, item, dims));
    return ctx.tuple(items);
  }
  const bool value = operand->type->kind == ir::TypeKind::Shape || operand->type->kind == ir::TypeKind::Prim;
  if (value && !ir::isa<ir::Var>(operand)) return ir::substitute(ctx, operand, dims);
  if (!operand->type->has_vars) return dims.contains(as<ir::Var>(operand)) ? dims.at(as<ir::Var>(operand)) : operand;
  return ctx.var("operand", ir::substitute(ctx, operand->type, dims));
}

// The call as its inference sees it when the symbols have these values.
ir::Result<const ir::Call*> infer(ir::Context& ctx, const ir::Call* call, const std::vector<const ir::Var*>& symbols,
                                  const std::vector<std::int64_t>& values) {
  ir::VarMap dims;
  for (std::size_t i = 0; i < symbols.size(); ++i) dims[symbols[i]] = ctx.int_imm(symbols[i]->dtype(), values[i]);
  std::vector<const ir::Expr*> args;
  for (const ir::Expr* a : call->args) args.push_back(with_dims(ctx, a, dims));
  return ctx.call({call->callee, args, call->attrs, call->ty_args});
}

// Whether dims that have nothing in common fit. They are primes.
bool fits_any_dims(ir::Context& ctx, const ir::Call* call, const std::vector<const ir::Var*>& symbols) {
  std::vector<std::int64_t> values;
  for (std::int64_t n = 1009; values.size() < symbols.size(); n += 2) {
    bool prime = true;
    for (std::int64_t d = 3; d * d <= n && prime; d += 2) prime = n % d != 0;
    if (prime) values.push_back(n);
  }
  return infer(ctx, call, symbols, values).ok();
}

// How the memory for a result differs from the shape that it has; empty when it does not.
std::string other_shape(const ir::Type* result, const runtime::Tensor& memory) {
  const auto* type = as<ir::TensorType>(result);
  const auto shape = memory.shape();
  if (!type || !type->has_shape || type->shape.size() != shape.size()) return {};
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < shape.size(); ++i) dims.push_back(ir::const_int(type->shape[i]).value_or(shape[i]));
  if (std::ranges::equal(dims, shape)) return {};
  return fmt::format("the result has the shape ({}), but its types say ({})", fmt::join(dims, ", "),
                     fmt::join(shape, ", "));
}

class CheckedKernel : public runtime::Kernel {
 public:
  CheckedKernel(std::shared_ptr<runtime::Kernel> kernel, std::shared_ptr<DimChecks> checks, std::string name)
      : kernel_(std::move(kernel)), checks_(std::move(checks)), name_(std::move(name)) {}
  const runtime::KernelSignature& signature() const override { return kernel_->signature(); }
  void prepare() override { kernel_->prepare(); }
  Result<Value> run(PackedArgs args, std::span<const std::int64_t> variables) override {
    RLDB_TRY_VOID(checks_->check(name_, args));
    return kernel_->run(args, variables);
  }
  void look_for(runtime::NumericEvents events) override { kernel_->look_for(events); }
  std::optional<bool> may_have_written() const override { return kernel_->may_have_written(); }

 private:
  std::shared_ptr<runtime::Kernel> kernel_;
  std::shared_ptr<DimChecks> checks_;
  std::string name_;
};

}  // namespace

// Finds the operators, and the kernels that they became.
class RuleFinder {
 public:
  RuleFinder(ir::Context& ctx, DimChecks& checks) : ctx_(ctx), checks_(checks) {}

  void find(const ir::Module* before, const ir::Module* legal) {
    each_call(before, [&](const ir::Call* c) { look_at_operator(c); });
    if (operators_.empty()) return;
    each_call(legal, [&](const ir::Call* c) { look_at_kernel(c); });
    for (auto& [name, rule] : checks_.rules_)
      if (kernels_of_[rule.call] != 1) rule.result = 0;
  }

 private:
  template <class Look>
  static void each_call(const ir::Module* module, Look look) {
    for (const ir::ModuleEntry& e : module->entries) {
      if (!ir::isa<ir::Function>(e.function)) continue;
      ir::walk(e.function, [&](const ir::Node* n) {
        if (const auto* call = as<ir::Call>(n)) look(call);
        return true;
      });
    }
  }

  void look_at_operator(const ir::Call* c) {
    const op::Row* row = op::row_of(c->callee);
    if (!row || row->has(op::Trait::CallTir)) return;
    const std::vector<const ir::Var*> symbols = symbols_of(c);
    if (!symbols.empty() && !fits_any_dims(ctx_, c, symbols)) operators_.emplace(c->id, c);
  }

  void look_at_kernel(const ir::Call* c) {
    const op::Row* row = op::row_of(c->callee);
    if (!row || !row->has(op::Trait::CallTir) || c->args.size() < 2) return;
    const auto* kernel = as<ir::GlobalVar>(c->args[0]);
    const ir::Call* call = kernel ? operator_of(c->id) : nullptr;
    if (!call) return;
    ++kernels_of_[call];
    std::vector<const ir::Type*> types;
    const auto add = [&](const ir::Type* t) {
      if (const auto* tuple = as<ir::TupleType>(t)) {
        types.insert(types.end(), tuple->fields.begin(), tuple->fields.end());
      } else {
        types.push_back(t);
      }
    };
    add(c->args[1]->type);
    const std::size_t result = types.size();
    add(c->type);
    DimChecks::Rule rule{call, symbols_of(call), {}, result, {}};
    for (const ir::Var* symbol : rule.symbols)
      if (!find_place(symbol, types, rule.places)) return;
    checks_.rules_.emplace(kernel->name, std::move(rule));
  }

  static bool find_place(const ir::Var* symbol, const std::vector<const ir::Type*>& types,
                         std::vector<DimChecks::Place>& out) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto* t = as<ir::TensorType>(types[i]);
      if (!t) continue;
      const auto found = std::find(t->shape.begin(), t->shape.end(), symbol);
      if (found == t->shape.end()) continue;
      out.push_back({symbol, i, std::size_t(found - t->shape.begin())});
      return true;
    }
    return false;
  }

  const ir::Call* operator_of(std::uint32_t id) const {
    for (const std::uint32_t from : ctx_.origins().get(id)) {
      if (const auto it = operators_.find(from); it != operators_.end()) return it->second;
      if (const ir::Call* further = operator_of(from)) return further;
    }
    return nullptr;
  }

  ir::Context& ctx_;
  DimChecks& checks_;
  std::unordered_map<std::uint32_t, const ir::Call*> operators_;
  std::unordered_map<const ir::Call*, int> kernels_of_;
};

std::shared_ptr<DimChecks> DimChecks::of(ir::Context& ctx, const ir::Module* before, const ir::Module* legal) {
  std::shared_ptr<DimChecks> checks(new DimChecks(ctx));
  RuleFinder(ctx, *checks).find(before, legal);
  return checks->rules_.empty() ? nullptr : checks;
}

runtime::KernelTable DimChecks::checked(const std::shared_ptr<DimChecks>& checks, runtime::KernelTable kernels) {
  runtime::KernelTable out;
  const auto own = std::make_shared<const runtime::KernelTable>(std::move(kernels));
  for (const std::string_view name : own->names()) {
    std::shared_ptr<runtime::Kernel> kernel(own, own->find(name));
    if (checks->rules_.contains(name)) kernel = std::make_shared<CheckedKernel>(kernel, checks, std::string(name));
    out.set(std::string(name), std::move(kernel));
  }
  return out;
}

bool dims_do_not_fit(const Error& error) {
  return error.kind == ErrorKind::ShapeMismatch &&
         std::any_of(error.notes.begin(), error.notes.end(),
                     [](const std::string& note) { return note.starts_with(kMisfit); });
}

Result<Unit> DimChecks::check(std::string_view kernel, PackedArgs args) {
  const auto found = rules_.find(kernel);
  if (found == rules_.end()) return Unit{};
  Rule& rule = found->second;
  std::vector<std::int64_t> values;
  std::string dims;
  for (const Place& p : rule.places) {
    if (p.argument >= args.size() || !args[p.argument].is(ValueKind::Tensor)) return Unit{};
    const auto shape = args[p.argument].as_tensor().shape();
    if (p.dim >= shape.size()) return Unit{};
    values.push_back(shape[p.dim]);
    dims += fmt::format("{}{} = {}", dims.empty() ? "" : ", ", p.symbol->name, values.back());
  }
  if (rule.known.contains(values)) return Unit{};
  const std::string note = std::string(kMisfit) + dims;
  const auto call = infer(ctx_, rule.call, rule.symbols, values);
  if (!call.ok()) return support::Failure(Error{ErrorKind::ShapeMismatch, call.error().text, {note}});
  if (rule.result != 0 && rule.result < args.size() && args[rule.result].is(ValueKind::Tensor)) {
    std::string other = other_shape((*call)->type, args[rule.result].as_tensor());
    if (!other.empty()) {
      const std::string_view name = as<ir::Op>(rule.call->callee)->name;
      return support::Failure(Error{ErrorKind::ShapeMismatch, fmt::format("`{}`: {}", name, other), {note}});
    }
  }
  if (rule.known.size() < kMostKnown) rule.known.insert(std::move(values));
  return Unit{};
}

}  // namespace rldb::session
