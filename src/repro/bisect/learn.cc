// Pairs the operands of two versions of a module, to find values that became constants between them.
#include "repro/bisect/learn.h"

#include <algorithm>
#include <unordered_map>

#include "repro/compare/match.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

bool is_constant(const ir::Expr* e) { return as<ir::Constant>(e) || as<ir::MetaConstant>(e); }

void flat_operands(const ir::Expr* e, std::vector<const ir::Expr*>& out) {
  if (const auto* tuple = as<ir::Tuple>(e)) {
    for (const ir::Expr* item : tuple->items) flat_operands(item, out);
  } else {
    out.push_back(e);
  }
}

// The operands of a binding, tuples flattened; the kernel of an indirect call comes first.
std::vector<const ir::Expr*> operands_of(const ir::Binding* b) {
  std::vector<const ir::Expr*> out;
  if (const auto* call = as<ir::Call>(b->value)) {
    for (const ir::Expr* arg : call->args) flat_operands(arg, out);
  } else {
    flat_operands(b->value, out);
  }
  return out;
}

std::string_view callee_of(const ir::Binding* b) {
  const auto* call = as<ir::Call>(b->value);
  if (!call) return {};
  const ir::Expr* callee = call->callee;
  if (!as<ir::GlobalVar>(callee) && !call->args.empty() && as<ir::GlobalVar>(call->args[0])) callee = call->args[0];
  if (const auto* g = as<ir::GlobalVar>(callee)) return g->name;
  const auto* o = as<ir::Op>(callee);
  return o ? o->name : std::string_view();
}

// In order; calls made only for their effects are all named `_`.
using Named = std::unordered_map<std::string_view, std::vector<const ir::Binding*>>;
Named by_name(const ir::Function* f) {
  Named out;
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* b = as<ir::Binding>(n)) out[b->var->name].push_back(b);
    return true;
  });
  return out;
}

class Pairing {
 public:
  Pairing(const ir::Module* before, const ir::Module* now) : before_(before), now_(now) {}

  std::vector<Replaced> run() {
    for (const ir::ModuleEntry& e : now_->entries) {
      const auto* f = as<ir::Function>(e.function);
      const auto* old = f ? as<ir::Function>(before_->find(e.name)) : nullptr;
      if (!old) continue;
      name_ = e.name;
      const Named known = by_name(old);
      for (const auto& [name, bindings] : by_name(f)) {
        const auto it = known.find(name);
        if (it == known.end() || it->second.size() != bindings.size()) continue;
        for (std::size_t i = 0; i < bindings.size(); ++i) pair(it->second[i], bindings[i]);
      }
      add(old->body->body, f->body->body);
    }
    return std::move(out_);
  }

 private:
  void pair(const ir::Binding* before, const ir::Binding* now) {
    if (is_constant(now->value)) {
      add(is_constant(before->value) ? before->value : before->var, now->value);
      return;
    }
    if (stem(callee_of(before)) != stem(callee_of(now))) return;
    const auto a = operands_of(before), b = operands_of(now);
    if (a.size() != b.size()) return;
    for (std::size_t i = 0; i < a.size(); ++i) add(a[i], b[i]);
  }

  void add(const ir::Expr* before, const ir::Expr* now) {
    if (is_constant(now)) out_.push_back({name_, before, now});
  }

  const ir::Module* before_;
  const ir::Module* now_;
  std::string name_;
  std::vector<Replaced> out_;
};

bool has_type(const Value& v, const ir::TensorType* t) {
  if (!v.is(ValueKind::Tensor) || !t) return false;
  const runtime::Tensor& tensor = v.as_tensor();
  if (tensor.dtype() != t->dtype || std::size_t(tensor.ndim()) != t->shape.size()) return false;
  for (std::size_t i = 0; i < t->shape.size(); ++i)
    if (const auto* n = as<ir::IntImm>(t->shape[i]); !n || n->value != tensor.shape()[i]) return false;
  return true;
}

// Values of a program's expressions, from a run.
class Values {
 public:
  Values(session::Session& session, const Program& program) : session_(session), program_(program) {}

  std::optional<Value> of(const std::string& function, const ir::Expr* e) {
    if (const auto* c = as<ir::Constant>(e)) return *c->value;
    const auto* v = as<ir::Var>(e);
    if (!v) return std::nullopt;
    if (auto argument = argument_of(program_, function, v)) return argument;
    if (!trace_) trace_ = record(session_, program_);
    for (const Event& event : trace_->events)
      if (event.function == function && event.value.is(ValueKind::Tensor) &&
          std::find(event.names.begin(), event.names.end(), v->name) != event.names.end())
        return event.value;
    return std::nullopt;
  }

  static std::optional<Value> argument_of(const Program& program, const std::string& function, const ir::Var* v) {
    const auto* f = function == program.function ? as<ir::Function>(program.module->find(function)) : nullptr;
    for (std::size_t i = 0; f && i < f->params.size() && i < program.args.size(); ++i)
      if (f->params[i] == v) return program.args[i];
    return std::nullopt;
  }

 private:
  session::Session& session_;
  const Program& program_;
  std::optional<Trace> trace_;
};

}  // namespace

std::vector<Replaced> replaced_by_constants(const ir::Module* before, const ir::Module* now) {
  return Pairing(before, now).run();
}

ConstantValues learn_constants(session::Session& session, const Program& before, const ir::Module* now,
                               const std::vector<const ir::TensorType*>& types) {
  ConstantValues out(types.size());
  Values values(session, before);
  for (const Replaced& r : replaced_by_constants(before.module, now)) {
    const auto* m = as<ir::MetaConstant>(r.now);
    if (!m || m->index < 0 || std::size_t(m->index) >= types.size()) continue;
    const auto index = std::size_t(m->index);
    if (out[index]) continue;
    if (auto v = values.of(r.function, r.before); v && has_type(*v, types[index])) out[index] = std::move(v);
  }
  return out;
}

std::optional<std::vector<Value>> bound_arguments(const Program& before, const ir::Module* now) {
  const auto* f = as<ir::Function>(before.module->find(before.function));
  if (!f) return std::nullopt;
  const auto* later = as<ir::Function>(now->find(before.function));
  const auto is_still_there = [&](const ir::Var* p) {
    return later && std::any_of(later->params.begin(), later->params.end(),
                                [&](const ir::Var* q) { return q->name == p->name; });
  };
  std::vector<Value> args = before.args;
  bool bound = false;
  for (const Replaced& r : replaced_by_constants(before.module, now)) {
    const auto* c = as<ir::Constant>(r.now);
    if (!c || r.function != before.function) continue;
    for (std::size_t i = 0; i < f->params.size() && i < args.size(); ++i) {
      if (f->params[i] != r.before || is_still_there(f->params[i])) continue;
      args[i] = *c->value;
      bound = true;
    }
  }
  if (!bound) return std::nullopt;
  return args;
}

}  // namespace rldb::repro
