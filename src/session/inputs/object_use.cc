// Follows a parameter, and the names that it gets, through the calls of a function.
#include "session/inputs/object_use.h"

#include <algorithm>
#include <unordered_set>

#include "rldb/bytecode/runtime_function.h"
#include "session/inputs/made_up.h"

namespace rldb::session {

using ir::as;

namespace {

constexpr int kMostCalls = 4;  // functions that pass it on to another

// The packed function that a call names, and its arguments; empty: it names none.
ObjectCall packed_call(const ir::Call* c) {
  ObjectCall out;
  const ir::Expr* callee = c->callee;
  std::vector<const ir::Expr*> args(c->args.begin(), c->args.end());
  if (!as<ir::ExternFunc>(callee) && !args.empty() && as<ir::ExternFunc>(args[0])) {
    callee = args[0];
    args.erase(args.begin());
    if (args.size() == 1 && as<ir::Tuple>(args[0])) {  // results are passed as arguments after these
      const auto items = as<ir::Tuple>(args[0])->items;
      args.assign(items.begin(), items.end());
    }
  }
  if (const auto* f = as<ir::ExternFunc>(callee)) out.name = f->symbol;
  out.args = std::move(args);
  return out;
}

bool gives_the_cache_back(std::string_view name) {
  return name == runtime_function::KvCacheAppend || name == runtime_function::KvCacheUpdate;
}

class UseFinder {
 public:
  UseFinder(const ir::Module* module, ObjectUse& out, int depth) : module_(module), out_(out), depth_(depth) {}

  void run(const ir::Function* f, const ir::Var* parameter) {
    names_.insert(parameter);
    sequence(f->body);
    if (!out_.cast && names_.contains(f->body->body) && !open(f->ret_type)) out_.cast = f->ret_type;
  }

 private:
  static bool open(const ir::Type* t) { return t->kind == ir::TypeKind::Any || t->kind == ir::TypeKind::Func; }

  void sequence(const ir::SeqExpr* s) {
    for (const ir::BindingBlock* block : s->blocks)
      for (const ir::Binding* b : block->bindings) binding(b);
  }

  void binding(const ir::Binding* b) {
    if (b->is_match_cast()) {
      if (!names_.contains(b->value)) return;
      if (!open(b->cast_type) && !out_.cast) out_.cast = b->cast_type;
      names_.insert(b->var);
      return;
    }
    if (names_.contains(b->value)) names_.insert(b->var);
    if (const auto* branch = as<ir::If>(b->value)) {
      if (const auto* s = as<ir::SeqExpr>(branch->then_branch)) sequence(s);
      if (const auto* s = as<ir::SeqExpr>(branch->else_branch)) sequence(s);
    }
    if (const auto* c = as<ir::Call>(b->value)) call(c, b->var);
  }

  void call(const ir::Call* c, const ir::Var* result) {
    if (names_.contains(c->callee)) out_.only_passed_on = false;
    ObjectCall packed = packed_call(c);
    const auto it =
        std::find_if(packed.args.begin(), packed.args.end(), [&](const ir::Expr* a) { return names_.contains(a); });
    if (it == packed.args.end()) return;
    packed.place = std::size_t(it - packed.args.begin());
    const auto* g = as<ir::GlobalVar>(c->callee);
    const auto* f = g ? as<ir::Function>(module_->find(g->name)) : nullptr;
    if (f && depth_ < kMostCalls && packed.place < f->params.size()) {
      UseFinder(module_, out_, depth_ + 1).run(f, f->params[packed.place]);
      return;
    }
    out_.only_passed_on = false;
    if (gives_the_cache_back(packed.name)) names_.insert(result);
    out_.calls.push_back(std::move(packed));
  }

  const ir::Module* module_;
  ObjectUse& out_;
  int depth_;
  std::unordered_set<const ir::Node*> names_;  // expressions that are the parameter's value
};

}  // namespace

ObjectUse use_of_object(const ir::Module* module, const ir::Function* f, const ir::Var* parameter) {
  ObjectUse out;
  UseFinder(module, out, 0).run(f, parameter);
  return out;
}

const ir::Type* type_it_is_used_as(const ir::Module* module, const ir::Function* f, const ir::Var* parameter) {
  if (parameter->type->kind == ir::TypeKind::Any) return use_of_object(module, f, parameter).cast;
  return shape_it_is_cast_to(f, parameter);
}

}  // namespace rldb::session
