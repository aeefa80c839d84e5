// Coverage of random programs: counts the parts of a module, and runs its pipeline with the rewrites counted.
#include "rldb/repro/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "repro/borrow.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/visitor.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/support/check.h"

namespace rldb::repro {

using ir::as;

namespace {

constexpr std::size_t kWidth = 116;  // of a line

// The parts of a module that are counted.
class Reader {
 public:
  explicit Reader(Coverage& out) : out_(out) {}

  void read(const ir::Module* module) {
    for (const ir::ModuleEntry& e : module->entries) {
      if (as<ir::PrimFunc>(e.function)) seen_.insert("kernel");
      if (as<ir::Function>(e.function)) {
        name_ = e.name;
        if (++functions_ > 1) seen_.insert("several functions");
        ir::walk(e.function, [&](const ir::Node* n) {
          look(n);
          return true;
        });
      }
    }
    for (const std::string& s : seen_) ++out_.constructs[s];
  }

 private:
  void look(const ir::Node* n) {
    if (const auto* call = as<ir::Call>(n)) look_at_call(call);
    if (as<ir::If>(n)) seen_.insert("if");
    if (as<ir::Tuple>(n)) seen_.insert("tuple");
    if (as<ir::Constant>(n)) seen_.insert("constant");
    if (const auto* block = as<ir::BindingBlock>(n); block && block->is_dataflow()) seen_.insert("dataflow block");
    if (const auto* b = as<ir::Binding>(n)) {
      if (b->is_match_cast()) seen_.insert("match_cast");
      if (const auto* t = as<ir::TensorType>(b->var->type)) look_at_type(t);
    }
  }

  void look_at_call(const ir::Call* call) {
    if (const auto* op = as<ir::Op>(call->callee)) {
      ++out_.operators[std::string(op::short_name(op->name))];
      if (op->name == op::CallTirInplace) seen_.insert("in-place kernel");
    }
    const auto* callee = as<ir::GlobalVar>(call->callee);
    if (callee) seen_.insert(callee->name == name_ ? "recursion" : "call of a function");
  }

  void look_at_type(const ir::TensorType* t) {
    ++out_.dtypes[to_string(t->dtype)];
    if (!t->has_shape) return;
    bool symbolic = false, fixed = false;
    for (const ir::Expr* d : t->shape) (as<ir::IntImm>(d) ? fixed : symbolic) = true;
    if (symbolic) seen_.insert(fixed ? "static and symbolic dims in one tensor" : "symbolic dims");
  }

  Coverage& out_;
  std::set<std::string> seen_;
  std::string_view name_;
  std::size_t functions_ = 0;
};

std::string lines_of(const Coverage::Counts& counts) {
  std::vector<std::pair<std::string, std::size_t>> all(counts.begin(), counts.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out, line;
  for (const auto& [name, count] : all) {
    const std::string item = fmt::format("{} {}", name, count);
    if (!line.empty() && line.size() + item.size() > kWidth) {
      out += "\n  " + line;
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + item;
  }
  return out + (line.empty() ? "" : "\n  " + line);
}

}  // namespace

void cover(session::Session& session, const ir::Module* module, const std::string& pipeline, Coverage& out) {
  ++out.programs;
  Reader(out).read(module);
  auto passes = passes::parse_pipeline(pipeline);
  if (!passes.ok()) return;
  const Borrow borrow(session);
  session.set_program(module);
  for (const passes::PassInvocation& pass : *passes) {
    const ir::Module* before = session.module();
    const std::string name(pass.name());
    source::Diagnostics ignored;
    const passes::RewriteCounter counter;
    try {
      if (!session.run_passes(passes::to_string(pass), ignored)) return;
    } catch (const support::InternalError&) {
      return;  // the oracle reports it
    }
    if (session.module() != before) ++out.passes[name];
    if (counter.asked() > 0) out.rewrites[name] += std::size_t(counter.asked());
  }
}

std::string to_string(const Coverage& c) {
  std::string text = fmt::format("coverage of {} programs", c.programs);
  text += fmt::format("\ncalls of operators: {} valid, {} refused by type inference", c.solved, c.refused);
  text += "\nconstructs, by programs:" + lines_of(c.constructs);
  text += "\ndtypes, by values:" + lines_of(c.dtypes);
  text += fmt::format("\noperators, by calls ({}):", c.operators.size()) + lines_of(c.operators);
  text += fmt::format("\npasses, by programs that they changed ({}):", c.passes.size()) + lines_of(c.passes);
  text += "\nrewrites, by passes:" + lines_of(c.rewrites);
  std::string missing;
  for (const std::string_view name : generated_operators())
    if (!c.operators.contains(std::string(op::short_name(name))))
      missing += (missing.empty() ? "" : ", ") + std::string(op::short_name(name));
  if (!missing.empty()) text += "\noperators that no program called: " + missing;
  return text;
}

}  // namespace rldb::repro
