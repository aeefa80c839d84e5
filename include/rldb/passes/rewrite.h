// Rewriting by patterns: every match is replaced by something else (TVM's relax.dpl: rewrite_call, rewrite_bindings,
// and the classes that are decorated with R.rewriter).
//
// A rule is two functions of one signature: `pattern`, whose parameters match anything of their types, and
// `replacement`. A pattern that returns a tuple matches its fields wherever they are computed, even far apart,
// provided that each is only read after the last of them. Users: ui (`:rewrite`, `rldb opt --rewriter`), tests.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>

#include "rldb/passes/pass.h"
#include "rldb/passes/pattern.h"

namespace rldb::passes {

// ---- by a C++ function ----
// The replacement of a matched value: a leaf or a call of leaves; the same pointer leaves it unchanged.
using CallRewriter = std::function<const ir::Expr*(const ir::Expr* matched, const PatternMatch& parts)>;
const ir::Function* rewrite_call(ir::Context& ctx, const Pattern& pattern, const CallRewriter& rewriter,
                                 const ir::Function* f);
// New values for variables of a dataflow block that a graph of patterns matched. Empty: leave this match.
using BindingsRewriter =
    std::function<std::unordered_map<const ir::Var*, const ir::Expr*>(const PatternGraph::Match& match)>;
const ir::Function* rewrite_bindings(ir::Context& ctx, const PatternGraph& graph, const BindingsRewriter& rewriter,
                                     const ir::Function* f);

// ---- by a module ----
struct RewriteRule {
  std::string name;                    // of its class
  const ir::Module* module = nullptr;  // where the replacement finds its helpers
  const ir::Function* pattern = nullptr;
  const ir::Function* replacement = nullptr;
};
// For a class with the functions `pattern` and `replacement`; the error names the reason why it is not a rule.
ir::Result<RewriteRule> rule_of(ir::Context& ctx, std::string_view name, const ir::Module* module);

struct Rewritten {
  const ir::Module* module = nullptr;  // the same pointer when nothing matched
  std::size_t count = 0;               // replaced matches
};
// In every Relax function, repeatedly until no rule matches; a value that two rules match goes to the first.
// Helper functions that replacements call are added. Rules that never terminate are an error.
ir::Result<Rewritten> apply_rules(PassEnv& env, const ir::Module* module, std::span<const RewriteRule> rules);

}  // namespace rldb::passes
