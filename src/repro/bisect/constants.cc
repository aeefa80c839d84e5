// Fills in constants that a dump printed without data, with types inferred from their uses.
#include "repro/bisect/constants.h"

#include <fmt/format.h>

#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/tensor_file.h"

namespace rldb::repro {

using ir::as;

namespace {

bool is_static(const ir::TensorType* t) {
  if (!t || !t->has_shape || t->dtype.is_void()) return false;
  for (const ir::Expr* d : t->shape)
    if (!as<ir::IntImm>(d)) return false;
  return true;
}

class Types {
 public:
  explicit Types(const ir::Module* module) : module_(module) {}

  MissingConstants run() {
    for (const ir::ModuleEntry& entry : module_->entries)
      if (const auto* f = as<ir::Function>(entry.function))
        ir::walk(f->body, [&](const ir::Node* n) {
          if (const auto* c = as<ir::Call>(n)) visit_call(c);
          if (const auto* b = as<ir::Binding>(n)) guess(b);
          if (const auto* m = as<ir::MetaConstant>(n)) learn(m, m->type);
          return true;
        });
    for (std::size_t i = 0; i < out_.types.size() && out_.unknown.empty(); ++i)
      if (met_[i] && !out_.types[i]) out_.unknown = fmt::format("constant {}", i);
    return std::move(out_);
  }

 private:
  void learn(const ir::Expr* e, const ir::Type* type) {
    const auto* m = as<ir::MetaConstant>(e);
    if (!m || m->index < 0 || m->index > 1'000'000) return;
    const auto index = std::size_t(m->index);
    if (index >= out_.types.size()) {
      out_.types.resize(index + 1);
      out_.guesses.resize(index + 1);
      met_.resize(index + 1);
    }
    met_[index] = true;
    if (const auto* t = as<ir::TensorType>(type); is_static(t)) out_.types[index] = t;
  }

  // An elementwise operation mostly has one type throughout.
  void guess(const ir::Binding* b) {
    const auto* call = as<ir::Call>(b->value);
    const auto* type = as<ir::TensorType>(b->var->type);
    if (!call || !as<ir::Op>(call->callee) || !is_static(type)) return;
    for (const ir::Expr* arg : call->args) {
      learn(arg, nullptr);
      const auto* m = as<ir::MetaConstant>(arg);
      if (m && m->index >= 0 && std::size_t(m->index) < out_.guesses.size()) out_.guesses[std::size_t(m->index)] = type;
    }
  }

  // The kernel's parameters give the type of each argument.
  void visit_call(const ir::Call* c) {
    const bool indirect = ir::as<ir::Op>(c->callee) && op::is_call_with(c, op::Trait::CallTir) && c->args.size() >= 2;
    const auto* g = as<ir::GlobalVar>(indirect ? c->args[0] : c->callee);
    const ir::Expr* found = g ? module_->find(g->name) : nullptr;
    const auto* type = found ? as<ir::FuncType>(found->type) : nullptr;
    if (!type) return;
    const auto* tuple = indirect ? as<ir::Tuple>(c->args[1]) : nullptr;
    const auto args = tuple ? tuple->items : indirect ? c->args.subspan(1, 1) : c->args;
    for (std::size_t i = 0; i < args.size() && i < type->params.size(); ++i) learn(args[i], type->params[i]);
  }

  const ir::Module* module_;
  MissingConstants out_;
  std::vector<bool> met_;
};

class Fill : public ir::Rewriter {
 public:
  Fill(ir::Context& ctx, const std::vector<const ir::TensorType*>& types, const ConstantValues& known,
       std::uint64_t seed)
      : Rewriter(ctx), types_(types), known_(known), seed_(seed) {}
  bool failed = false;

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const auto* m = as<ir::MetaConstant>(e);
    if (!m) return default_expr(e);
    const auto index = std::size_t(m->index);
    const ir::TensorType* t = types_[index];
    if (index < known_.size() && known_[index]) return ctx_.constant_typed(*known_[index], t);
    std::vector<std::int64_t> shape;
    for (const ir::Expr* d : t->shape) shape.push_back(as<ir::IntImm>(d)->value);
    auto made = runtime::random_tensor(std::move(shape), t->dtype, seed_ + std::uint64_t(m->index) * 7919);
    failed = failed || !made.ok();
    return made.ok() ? static_cast<const ir::Expr*>(ctx_.constant_typed(std::move(made).value(), t)) : e;
  }

  const std::vector<const ir::TensorType*>& types_;
  const ConstantValues& known_;
  std::uint64_t seed_;
};

}  // namespace

MissingConstants missing_constants(const ir::Module* module) { return Types(module).run(); }

const ir::Module* fill_constants(ir::Context& ctx, const ir::Module* module,
                                 const std::vector<const ir::TensorType*>& types, const ConstantValues& known,
                                 std::uint64_t seed) {
  ir::ModuleBuilder builder(ctx, *module);
  for (const ir::ModuleEntry& entry : module->entries)
    if (const auto* f = as<ir::Function>(entry.function)) {
      Fill fill(ctx, types, known, seed);
      builder.set(entry.name, fill.rewrite_function(f));
      if (fill.failed) return nullptr;
    }
  return builder.build();
}

}  // namespace rldb::repro
