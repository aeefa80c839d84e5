// ConvertToDataflow(min_size=2): runs of at least that many pure bindings become dataflow blocks; existing blocks stay.
// Variables then used only inside their block become dataflow variables.
#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Extractor : public Rewriter {
 public:
  Extractor(Context& ctx, std::size_t min_size) : Rewriter(ctx), min_size_(min_size) {}

 protected:
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    const SeqExpr* made = default_seq(s);
    std::vector<const BindingBlock*> blocks;
    std::vector<const Binding*> run;
    bool changed = false;
    const auto flush = [&] {
      if (run.empty()) return;
      const bool dataflow = run.size() >= min_size_;
      changed = changed || dataflow;
      blocks.push_back(ctx_.block(run, dataflow));
      run.clear();
    };
    for (const BindingBlock* block : made->blocks) {
      if (block->is_dataflow()) {
        // Bindings right before a block join it; those after it must be long enough for a block of their own.
        changed = changed || !run.empty();
        run.insert(run.end(), block->bindings.begin(), block->bindings.end());
        blocks.push_back(ctx_.block(run, true));
        run.clear();
        continue;
      }
      for (const Binding* b : block->bindings) {
        if (is_pure(b->value)) {
          run.push_back(b);
          continue;
        }
        flush();
        blocks.push_back(ctx_.block(std::span(&b, 1)));
      }
    }
    flush();
    return changed ? make_seq(ctx_, blocks, made->body, s) : made;
  }

 private:
  static bool is_pure(const Expr* value) {
    if (isa<If>(value)) return false;
    const auto* call = as<Call>(value);
    return !call || ops::is_pure_call(call);
  }

  std::size_t min_size_;
};

}  // namespace

Result<const Module*> convert_to_dataflow(PassEnv& env, const Module* module, const PassOptions& options) {
  const std::int64_t min_size = int_option(options, 0, "min_size", 2);
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    const Function* made = Extractor(env.ctx, std::size_t(std::max<std::int64_t>(min_size, 1))).rewrite_function(f);
    return made == f ? f : canonicalize(env.ctx, made);
  });
}

}  // namespace rldb::passes
