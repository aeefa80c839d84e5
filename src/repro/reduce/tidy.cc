// Removes what a move of the reducer has made useless, and nothing else: a binding that nobody read before the move may
// be the one that the symptom depends on.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "repro/reduce/moves.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

using Vars = std::unordered_set<const ir::Var*>;

void note_reads(const ir::Node* n, Vars& out) {
  for (const ir::Var* v : ir::free_vars(n)) out.insert(v);
}

// Nothing but its value comes of it.
bool is_pure(const ir::Context& ctx, const ir::Expr* value) {
  bool pure = true;
  ir::walk(value, [&](const ir::Node* n) {
    if (const auto* call = as<ir::Call>(n)) {
      const auto* type = as<ir::FuncType>(call->callee->type);
      pure = pure && (as<ir::Op>(call->callee) ? !ctx.typer() || ctx.typer()->is_pure(*call) : type && type->pure);
    }
    return pure;
  });
  return pure;
}

// A match_cast may define dims that others read.
bool defines_symbols(const ir::Binding* b) {
  std::vector<const ir::Var*> symbols;
  if (b->is_match_cast()) ir::collect_vars(b->cast_type, symbols);
  return !symbols.empty();
}

class Sweep {
 public:
  Sweep(ir::Context& ctx, const std::set<std::string, std::less<>>& kept) : ctx_(ctx), kept_(kept) {}

  // Backwards, with the variables that are read behind it.
  const ir::SeqExpr* run(const ir::SeqExpr* body, Vars& read) {
    note_reads(body->body, read);
    std::vector<const ir::BindingBlock*> blocks;
    bool same = true;
    for (std::size_t i = body->blocks.size(); i-- > 0;) {
      const ir::BindingBlock* block = body->blocks[i];
      std::vector<const ir::Binding*> left;
      for (std::size_t k = block->bindings.size(); k-- > 0;)
        if (const ir::Binding* b = visit(block->bindings[k], read)) left.push_back(b);
      std::reverse(left.begin(), left.end());
      const bool unchanged = std::equal(left.begin(), left.end(), block->bindings.begin(), block->bindings.end());
      same = same && unchanged;
      if (!left.empty()) blocks.push_back(unchanged ? block : ctx_.block(left, block->is_dataflow()));
    }
    std::reverse(blocks.begin(), blocks.end());
    return same ? body : ctx_.seq(blocks, body->body);
  }

 private:
  // Null: it is not needed any more.
  const ir::Binding* visit(const ir::Binding* b, Vars& read) {
    const bool needed = read.contains(b->var) || kept_.contains(b->var->name) || defines_symbols(b);
    if (!needed && is_pure(ctx_, b->value)) return nullptr;
    const auto* branches = as<ir::If>(b->value);
    if (!branches || b->is_match_cast()) {
      note_reads(b, read);
      return b;
    }
    note_reads(branches->cond, read);
    const ir::SeqExpr* then_branch = run(branches->then_branch, read);
    const ir::SeqExpr* else_branch = run(branches->else_branch, read);
    if (then_branch == branches->then_branch && else_branch == branches->else_branch) return b;
    return ctx_.binding(b->var, ctx_.if_expr(branches->cond, then_branch, else_branch, branches->type));
  }

  ir::Context& ctx_;
  const std::set<std::string, std::less<>>& kept_;
};

void add_unread(const ir::SeqExpr* body, Vars& read, std::vector<const ir::Binding*>& out) {
  note_reads(body->body, read);
  for (std::size_t i = body->blocks.size(); i-- > 0;)
    for (std::size_t k = body->blocks[i]->bindings.size(); k-- > 0;) {
      const ir::Binding* b = body->blocks[i]->bindings[k];
      if (!read.contains(b->var)) out.push_back(b);
      if (const auto* branches = as<ir::If>(b->value)) {
        add_unread(branches->then_branch, read, out);
        add_unread(branches->else_branch, read, out);
      }
      note_reads(b, read);
    }
}

// Functions that are not reached any more from this one.
const ir::Module* without_left_functions(ir::Context& ctx, const ir::Module* before, const ir::Module* module,
                                         const std::string& name) {
  const std::string_view roots[] = {name};
  const ir::Module *old = ir::reachable_from(ctx, before, roots), *now = ir::reachable_from(ctx, module, roots);
  ir::ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ir::ModuleEntry& e : old->entries) {
    if (now->find(e.name) || !module->find(e.name)) continue;
    builder.remove(e.name);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace

bool is_called(const ir::Module* module, const std::string& name) {
  bool found = false;
  for (const ir::ModuleEntry& e : module->entries)
    ir::walk(e.function, [&](const ir::Node* n) {
      const auto* g = as<ir::GlobalVar>(n);
      found = found || (g && g->name == name);
      return !found;
    });
  return found;
}

std::vector<const ir::Binding*> unread_bindings(const ir::Function* f) {
  Vars read;
  std::vector<const ir::Binding*> out;
  add_unread(f->body, read, out);
  std::reverse(out.begin(), out.end());
  return out;
}

const ir::Module* tidy(ir::Context& ctx, const ir::Module* before, const ir::Module* module, const std::string& name) {
  const auto *f = as<ir::Function>(module->find(name)), *old = as<ir::Function>(before->find(name));
  if (!f || !old) return nullptr;
  std::set<std::string, std::less<>> kept;
  for (const ir::Binding* b : unread_bindings(old)) kept.emplace(b->var->name);
  Vars read;
  const ir::SeqExpr* body = Sweep(ctx, kept).run(f->body, read);
  const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
  const ir::Function* made = body == f->body ? f : ctx.function(params, body, f->ret_type, f->is_pure, f->attrs);
  if (!is_called(module, name)) made = without_unread_parameters(ctx, old, made);
  if (made != f) module = with_function(ctx, module, name, made);
  return without_left_functions(ctx, before, module, name);
}

}  // namespace rldb::repro
