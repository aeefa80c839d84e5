#include "repro/expected/keep.h"

#include <unordered_map>

#include "rldb/eval/eval.h"

namespace rldb::repro {

namespace {

// Variables, and the names in the model of what each holds: equal nodes are one binding.
using NamesOfVars = std::unordered_map<const ir::Var*, std::vector<std::string>>;

class Keeper : public eval::Watcher {
 public:
  explicit Keeper(NamesOfVars wanted) : wanted_(std::move(wanted)) {}
  runtime::Result<support::Unit> bound(const ir::Binding* b, const runtime::Value& value) override {
    keep(b->var, value);
    return support::Unit{};
  }
  // Nodes that give their operand as it is may have a parameter as their value.
  void keep_parameters(const ir::Function& f, const std::vector<runtime::Value>& arguments) {
    for (std::size_t i = 0; i < f.params.size() && i < arguments.size(); ++i) keep(f.params[i], arguments[i]);
  }
  onnx::Tensors kept;

 private:
  void keep(const ir::Var* var, const runtime::Value& value) {
    if (const auto found = wanted_.find(var); found != wanted_.end())
      for (const std::string& name : found->second) kept[name] = value;
  }
  NamesOfVars wanted_;
};

// Results that no binding of their own holds: sizes, which are tensors only where the program gives them.
void keep_results(const onnx::Model& model, const runtime::Value& result, onnx::Tensors& kept) {
  const std::vector<std::string> names = onnx::output_names(model);
  if (names.size() == 1) kept.try_emplace(names[0], result);
  if (names.size() < 2 || !result.is(runtime::ValueKind::Tuple)) return;
  const auto& fields = result.as_tuple().fields;
  for (std::size_t i = 0; i < names.size() && i < fields.size(); ++i) kept.try_emplace(names[i], fields[i]);
}

}  // namespace

KeptValues keep_values(session::Session& session, const onnx::Translation& model,
                       const std::vector<runtime::Value>& arguments, source::Diagnostics& out) {
  NamesOfVars wanted;
  for (const auto& [name, var] : model.values) wanted[var].push_back(name);
  Keeper keeper(std::move(wanted));
  keeper.keep_parameters(*model.function(), arguments);
  KeptValues made;
  made.run = session.run_watched(model.module, onnx::kEntry, arguments, keeper, out);
  made.values = std::move(keeper.kept);
  if (made.run.ok) keep_results(*model.model, made.run.value, made.values);
  return made;
}

}  // namespace rldb::repro
