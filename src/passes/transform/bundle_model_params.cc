// BundleModelParams: the parameters of a function after its first `num_input` become one, a tuple of all of them.
//
// A field of the tuple is read where it is first used: right before that binding, or before the `if` that uses it, so
// that a name is bound once for the whole sequence. Symbolic variables that only a bundled parameter binds stay bound:
// they appear in the tuple's type.
#include <unordered_map>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Bundler : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* bundle(const Function* f, std::size_t inputs, std::string_view name) {
    std::vector<const Var*> params(f->params.begin(), f->params.begin() + std::ptrdiff_t(inputs));
    std::vector<const Type*> types;
    for (std::size_t i = inputs; i < f->params.size(); ++i) {
      types.push_back(f->params[i]->type);
      field_[f->params[i]] = i - inputs;
    }
    tuple_ = ctx_.var(name, ctx_.tuple_type(types));
    params.push_back(tuple_);
    const SeqExpr* body = visit_seq(f->body);
    const Function* made = ctx_.function(params, body, f->ret_type, f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    ++depth_;
    const SeqExpr* made = default_seq(s);
    if (--depth_ == 0 && !field_.empty()) made = read_rest(s, made);
    return made;
  }

  const BindingBlock* visit_block(const BindingBlock* b) override {
    if (depth_ != 1) return default_block(b);
    const bool outer = std::exchange(dataflow_, b->is_dataflow());
    const BindingBlock* made = default_block(b);
    dataflow_ = outer;
    return made;
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out;
    if (depth_ == 1) {
      for (const Var* v : free_vars(b->value)) read(v, out);
      if (b->is_match_cast()) read_dims(b->cast_type, out);
    }
    for (const Binding* made : default_binding(b)) out.push_back(made);
    return out;
  }

 private:
  void read(const Var* v, std::vector<const Binding*>& out) {
    const auto found = field_.find(v);
    if (found == field_.end()) return;
    const Binding* get = bind_new(ctx_, v->name, *ctx_.tuple_get(tuple_, std::int64_t(found->second)), v);
    remap(v, get->var);
    field_.erase(found);
    out.push_back(get);
  }
  void read_dims(const Type* t, std::vector<const Binding*>& out) {
    std::vector<const Var*> used;
    collect_vars(t, used);
    for (const Var* v : used) read(v, out);
  }

  // Parameters that only the result names.
  const SeqExpr* read_rest(const SeqExpr* from, const SeqExpr* made) {
    std::vector<const Binding*> extra;
    for (const Var* v : free_vars(from->body)) read(v, extra);
    if (extra.empty()) return made;
    std::vector<const BindingBlock*> blocks(made->blocks.begin(), made->blocks.end());
    blocks.push_back(ctx_.block(extra, false));
    return make_seq(ctx_, blocks, rewrite(from->body), from);
  }

  const Var* tuple_ = nullptr;
  std::unordered_map<const Var*, std::size_t> field_;
  int depth_ = 0;
  bool dataflow_ = false;
};

}  // namespace

Result<const Module*> bundle_model_params(PassEnv& env, const Module* module, const PassOptions& options) {
  const PassOption* given = find_option(options, 0, "param_tuple_name");
  const std::string_view name = given ? unquote(given->value) : std::string_view("model_params");
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    const Attr* count = find_attr(f->attrs, fn_attr::kNumInput);
    if (!count || count->integer < 0 || std::size_t(count->integer) > f->params.size()) return f;
    return Bundler(env.ctx).bundle(f, std::size_t(count->integer), name);
  });
}

}  // namespace rldb::passes
