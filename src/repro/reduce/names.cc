// Renames functions, parameters and bindings: `x`, `y`, ... for parameters, `a`, `b`, ... for bindings.
#include "repro/reduce/names.h"

#include <map>
#include <set>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

using Taken = std::set<std::string, std::less<>>;

// Names with a meaning in a module's text, besides its functions.
const Taken kWords = {"I", "R", "T", "cls", "Module", "as", "if", "in", "is", "or"};

// The next free name of a series: its letters first, then its stem with a number.
class Row {
 public:
  Row(std::string_view letters, std::string_view stem, Taken& taken) : letters_(letters), stem_(stem), taken_(taken) {}

  std::string next() {
    for (;;) {
      const std::size_t i = at_++;
      std::string name =
          i < letters_.size() ? std::string(1, letters_[i]) : std::string(stem_) + std::to_string(i - letters_.size());
      if (taken_.insert(name).second) return name;
    }
  }

 private:
  std::string_view letters_, stem_;
  Taken& taken_;
  std::size_t at_ = 0;
};

constexpr std::string_view kOfParameters = "xyzw", kOfBindings = "abcdefgh";

class Rename : public ir::Rewriter {
 public:
  Rename(ir::Context& ctx, const std::map<const ir::Var*, const ir::Var*>& by) : Rewriter(ctx), by_(by) {
    for (const auto& [from, to] : by) remap(from, to);
  }

  const ir::Function* run(const ir::Function* f) {
    std::vector<const ir::Var*> params;
    for (const ir::Var* p : f->params) params.push_back(renamed(p));
    const auto* body = as<ir::SeqExpr>(rewrite(f->body));
    return body ? ctx_.function(params, body, f->ret_type, f->is_pure, f->attrs) : f;
  }

 private:
  const ir::Var* renamed(const ir::Var* v) const {
    const auto it = by_.find(v);
    return it == by_.end() ? v : it->second;
  }

  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    if (!by_.contains(b->var)) return default_binding(b);
    const ir::Expr* value = rewrite(b->value);
    const ir::Var* var = renamed(b->var);
    return {b->is_match_cast() ? ctx_.match_cast(var, value, b->cast_type) : ctx_.binding(var, value)};
  }

  const std::map<const ir::Var*, const ir::Var*>& by_;
};

void add_types_names(const ir::Type* type, Taken& out) {
  std::vector<const ir::Var*> vars;
  ir::collect_vars(type, vars);
  for (const ir::Var* v : vars) out.emplace(v->name);
}

// The names of variables that stay: symbolic dims, and those of the other group.
Taken names_besides(const ir::Module* module, const ir::Function* f, const std::vector<const ir::Var*>& renamed) {
  Taken out = kWords;
  for (const ir::ModuleEntry& e : module->entries) out.emplace(e.name);
  const std::set<const ir::Var*> go(renamed.begin(), renamed.end());
  const auto add = [&](const ir::Var* v) {
    if (!go.contains(v)) out.emplace(v->name);
    add_types_names(v->type, out);
  };
  for (const ir::Var* p : f->params) add(p);
  add_types_names(f->ret_type, out);
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* v = as<ir::Var>(n)) add(v);
    return true;
  });
  return out;
}

const ir::Function* with_names(ir::Context& ctx, const ir::Module* module, const ir::Function* f,
                               const std::vector<const ir::Var*>& vars, std::string_view letters,
                               std::string_view stem) {
  Taken taken = names_besides(module, f, vars);
  Row row(letters, stem, taken);
  std::map<const ir::Var*, const ir::Var*> by;
  for (const ir::Var* v : vars) {
    const std::string name = row.next();
    if (name == v->name) continue;
    by[v] = v->is_dataflow() ? ctx.dataflow_var(name, v->type) : ctx.var(name, v->type);
  }
  return by.empty() ? f : Rename(ctx, by).run(f);
}

using Pick = std::vector<const ir::Var*> (*)(const ir::Function*);
const ir::Module* renamed(ir::Context& ctx, const ir::Module* module, Pick pick, std::string_view letters,
                          std::string_view stem) {
  ir::ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = as<ir::Function>(e.function);
    const ir::Function* made = f ? with_names(ctx, module, f, pick(f), letters, stem) : nullptr;
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : nullptr;
}

using FunctionNames = std::map<std::string_view, std::string, std::less<>>;

class RenameFunctions : public ir::Rewriter {
 public:
  RenameFunctions(ir::Context& ctx, const FunctionNames& names) : Rewriter(ctx), names_(names) {}

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const auto* g = as<ir::GlobalVar>(e);
    if (!g) return Rewriter::visit_expr(e);
    const auto found = names_.find(g->name);
    return found == names_.end() ? g : ctx_.global_var(ctx_.str(found->second), g->type);
  }
  const FunctionNames& names_;
};

// A symbol equal to the name follows it.
const ir::Expr* under_name(ir::Context& ctx, const ir::Expr* function, std::string_view old, const std::string& fresh) {
  const auto* kernel = as<ir::PrimFunc>(function);
  const ir::Attr* symbol = kernel ? ir::find_attr(kernel->attrs, attr_name::GlobalSymbol) : nullptr;
  if (!symbol || symbol->string != old) return function;
  const auto attrs = ctx.with_attr(kernel->attrs, attr_name::GlobalSymbol, ctx.attr(fresh));
  return ctx.prim_func(kernel->params, kernel->ret_type, kernel->body, attrs, kernel->s_tir);
}

FunctionNames shorter_names(const ir::Module* module) {
  Taken taken = kWords;
  for (const ir::ModuleEntry& e : module->entries) taken.emplace(e.name);
  Row kernels("", "kernel", taken), functions("fgh", "f", taken);
  FunctionNames names;
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = as<ir::Function>(e.function);
    if (f && !f->is_private()) continue;
    if (!f && !as<ir::PrimFunc>(e.function)) continue;
    constexpr std::size_t kShort = 8;  // about the length of `kernel0`: a short name is better than a number
    if (e.name.size() > kShort) names[e.name] = (f ? functions : kernels).next();
  }
  return names;
}

}  // namespace

const ir::Module* plain_parameters(ir::Context& ctx, const ir::Module* module) {
  return renamed(
      ctx, module,
      [](const ir::Function* f) { return std::vector<const ir::Var*>(f->params.begin(), f->params.end()); },
      kOfParameters, "p");
}

const ir::Module* plain_bindings(ir::Context& ctx, const ir::Module* module) {
  const auto bindings = [](const ir::Function* f) {
    std::vector<const ir::Var*> vars;
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* b = as<ir::Binding>(n);
      if (b && b->var->name != "_") vars.push_back(b->var);  // calls made only for their effects have no name
      return true;
    });
    return vars;
  };
  return renamed(ctx, module, bindings, kOfBindings, "v");
}

const ir::Module* plain_functions(ir::Context& ctx, const ir::Module* module) {
  const FunctionNames names = shorter_names(module);
  if (names.empty()) return nullptr;
  ir::ModuleBuilder builder(ctx);
  builder.set_attrs(module->attrs);
  builder.set_global_infos(module->global_infos, module->vdevices);
  builder.set_name(module->name);
  for (const ir::ModuleEntry& e : module->entries) {
    const ir::Expr* function = e.function;
    if (const auto* f = as<ir::Function>(function)) function = RenameFunctions(ctx, names).rewrite_function(f);
    if (const auto* f = as<ir::PrimFunc>(function)) function = RenameFunctions(ctx, names).rewrite_prim_func(f);
    const auto found = names.find(e.name);
    if (found == names.end())
      builder.set(e.name, function);
    else
      builder.set(ctx.str(found->second), under_name(ctx, function, e.name, found->second));
  }
  return builder.build();
}

}  // namespace rldb::repro
