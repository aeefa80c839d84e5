// FuseOpsByPattern(patterns=[("cutlass.conv2d", pattern), ...], bind_constants=True, annotate_codegen=False): bindings
// of dataflow blocks matched by a pattern become a private function with the attributes Composite and Primitive.
//
// The patterns are tried in order; a match of one is a call for the next. Values matched by a wildcard or a variable
// become arguments. With annotate_codegen each function becomes the local function of one for its code generator, the
// first part of the pattern's name. Python functions (`check`, `attrs_getter`) cannot be expressed and are refused.
#include <algorithm>

#include "passes/common.h"
#include "passes/fusion/codegen_name.h"
#include "passes/fusion/group_bindings.h"
#include "passes/pattern/named_pattern.h"
#include "passes/signature/body_copier.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/pattern.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

// ---- groups ----

class PatternGroups {
 public:
  PatternGroups(Context& ctx, const NamedPattern& pattern) : ctx_(ctx), pattern_(pattern) {}

  void visit(const SeqExpr* s) {
    for (const BindingBlock* block : s->blocks) {
      for (const Binding* b : block->bindings) {
        support::poll();
        if (const auto* branch = as<If>(b->value)) {
          visit(branch->then_branch);
          visit(branch->else_branch);
        }
        if (b->is_match_cast()) continue;
        bound_[b->var] = b->value;
        block_of_[b->var] = block;
        if (block->is_dataflow()) try_match(b, block);
      }
    }
  }
  BindingGroups take() { return std::move(groups_); }

 private:
  static bool is_computed(const PatternMatch::Part& part) {
    return part.pattern->kind == PatternKind::Call || part.pattern->kind == PatternKind::TupleGetItem;
  }

  void try_match(const Binding* b, const BindingBlock* block) {
    if (!isa<Call>(b->value)) return;
    PatternMatch found;
    if (!match(pattern_.pattern, b->value, bound_, found)) return;
    std::vector<const Var*> members{b->var};
    for (const PatternMatch::Part& part : found.parts()) {
      if (!is_computed(part) || part.value == b->value) continue;
      if (!part.var || block_of_[part.var] != block) return;  // computed elsewhere
      if (is_taken(part.var)) return;
      members.push_back(part.var);
    }
    if (members.size() == 1 && is_taken(b->var)) return;
    const std::size_t group = groups_.attrs.size();
    const Span<NamedAttr> attrs = ctx_.with_attr({}, attr_name::Composite, ctx_.attr(std::string_view(pattern_.name)));
    groups_.attrs.push_back(ctx_.with_attr(attrs, attr_name::Primitive, ctx_.attr(true)));
    sizes_.push_back(0);
    for (const Var* v : members) {
      if (const auto old = groups_.of.find(v); old != groups_.of.end()) --sizes_[old->second];
      groups_.of[v] = group;
      ++sizes_[group];
    }
  }

  // Part of a match with several values; a value matched alone may still join a larger match.
  bool is_taken(const Var* v) const {
    const auto found = groups_.of.find(v);
    return found != groups_.of.end() && sizes_[found->second] > 1;
  }

  Context& ctx_;
  const NamedPattern& pattern_;
  BoundValues bound_;
  std::unordered_map<const Var*, const BindingBlock*> block_of_;
  BindingGroups groups_;
  std::vector<std::size_t> sizes_;  // by group
};

// Wraps the composite function as the local function of one for its code generator.
Result<const Function*> for_codegen(Context& ctx, const Function* composite, std::string_view symbol) {
  RLDB_TRY(const std::string_view codegen, codegen_name(find_attr(composite->attrs, attr_name::Composite)->string));
  const Function* local =
      BodyCopier(ctx, false).copy_function(composite, ctx.with_attr(composite->attrs, attr_name::Primitive, nullptr));
  const Binding* function = bind_new(ctx, "local_func", local, composite);
  BodyCopier signature(ctx, false);
  const Function* again = signature.copy_function(composite, {});
  std::vector<const Expr*> args(again->params.begin(), again->params.end());
  const Binding* output =
      bind_new(ctx, "output", ctx.call_typed(function->var, args, again->ret_type), composite->body->body);
  const Binding* bindings[] = {function, output};
  const BindingBlock* block = ctx.block(bindings);
  Span<NamedAttr> attrs = ctx.with_attr({}, attr_name::Codegen, ctx.attr(codegen));
  attrs = ctx.with_attr(attrs, attr_name::GlobalSymbol, ctx.attr(symbol));
  const Function* made =
      ctx.function(again->params, ctx.seq(std::span(&block, 1), output->var), again->ret_type, true, attrs);
  ctx.set_origin(made, composite);
  return made;
}

Result<const Module*> fuse_one(Context& ctx, const Module* module, const NamedPattern& pattern, bool lift_constants,
                               const std::vector<std::string>& entries) {
  ModuleBuilder builder(ctx, *module);
  FunctionTable table(ctx, module, builder);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || is_for_codegen(f)) continue;
    if (!entries.empty() && std::find(entries.begin(), entries.end(), e.name) == entries.end()) continue;
    PatternGroups groups(ctx, pattern);
    groups.visit(f->body);
    RLDB_TRY(const Function* made, group_bindings(ctx, f, groups.take(), table, lift_constants));
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

class CallRenamer : public Rewriter {
 public:
  CallRenamer(Context& ctx, const std::unordered_map<std::string_view, const GlobalVar*>& names)
      : Rewriter(ctx), names_(names) {}

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* g = as<GlobalVar>(e);
    const auto found = g ? names_.find(g->name) : names_.end();
    return found == names_.end() ? Rewriter::visit_expr(e) : found->second;
  }

 private:
  const std::unordered_map<std::string_view, const GlobalVar*>& names_;
};

// Composite functions that are called go to their code generators, under the name `<name>_<codegen>`.
Result<const Module*> annotate(Context& ctx, const Module* module) {
  ModuleBuilder builder(ctx, *module);
  std::unordered_map<std::string_view, const GlobalVar*> names;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    const Attr* composite = f ? find_attr(f->attrs, attr_name::Composite) : nullptr;
    if (!composite) continue;
    RLDB_TRY(const std::string_view codegen, codegen_name(composite->string));
    const std::string_view name = builder.unique_name(std::string(e.name) + "_" + std::string(codegen));
    RLDB_TRY(const Function* made, for_codegen(ctx, f, name));
    builder.remove(e.name);
    builder.set(name, made);
    names[e.name] = ctx.global_var(name, made->type);
  }
  if (names.empty()) return module;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (f && !names.count(e.name)) builder.set(e.name, CallRenamer(ctx, names).rewrite_function(f));
  }
  return builder.build();
}

}  // namespace

Result<const Module*> fuse_ops_by_pattern(PassEnv& env, const Module* module, const FuseOpsByPatternOptions& options) {
  RLDB_TRY(const std::vector<NamedPattern> patterns, parse_named_patterns(options.patterns.written));
  for (const std::string& name : options.entry_functions)
    if (!as<Function>(module->find(name))) return support::Failure(source::message(diag::PassNoFunction, name));
  for (const NamedPattern& p : patterns) {
    RLDB_TRY(module, fuse_one(env.ctx, module, p, !options.bind_constants, options.entry_functions));
  }
  return options.annotate_codegen ? annotate(env.ctx, module) : module;
}

}  // namespace rldb::passes
