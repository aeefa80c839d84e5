// BindSymbolicVars(binding_map={"n": 16}, func_name=f): symbolic variables of signatures get values, throughout the
// function. Without func_name, in every function that has them; a name that no function has is an error.
#include <charconv>

#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

struct NamedDim {
  std::string name;
  std::int64_t value = 0;
  bool used = false;
};

// {"n": 16, m: 4}
std::optional<std::vector<NamedDim>> parse_map(std::string_view text) {
  std::vector<NamedDim> dims;
  const std::optional<std::vector<KeyValue>> items = split_dict(text);
  if (!items) return std::nullopt;
  for (const KeyValue& item : *items) {
    NamedDim d;
    d.name = item.key;
    const std::string_view value = unquote(item.value);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), d.value);
    if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
    dims.push_back(std::move(d));
  }
  return dims;
}

class Binder : public Rewriter {
 public:
  using Rewriter::Rewriter;
  void bind(const Var* v, std::int64_t value) { remap(v, ctx_.int_imm(v->dtype(), value)); }
};

}  // namespace

Result<const Module*> bind_symbolic_vars(PassEnv& env, const Module* module, const PassOptions& options) {
  const PassOption* map = find_option(options, 0, "binding_map");
  const PassOption* only = find_option(options, 1, "func_name");
  std::optional<std::vector<NamedDim>> dims;
  if (map) dims = parse_map(map->value);
  if (!dims) {
    return Failure(message(diag::PassOptionValue, "binding_map", "a dictionary `{name: integer}`",
                           map ? std::string_view(map->value) : "nothing"));
  }
  const std::string_view wanted = only ? unquote(only->value) : std::string_view();
  RLDB_TRY(const Module* made,
           map_functions(env, module, [&](std::string_view name, const Function* f) -> Result<const Function*> {
             if (!wanted.empty() && name != wanted) return f;
             std::vector<const Var*> vars;
             for (const Var* p : f->params) collect_vars(p->type, vars);
             Binder binder(env.ctx);
             for (const Var* v : vars) {
               for (NamedDim& d : *dims) {
                 if (d.name != v->name) continue;
                 binder.bind(v, d.value);
                 d.used = true;
               }
             }
             return binder.rewrite_function(f);
           }));
  for (const NamedDim& d : *dims) {
    if (d.used) continue;
    return Failure(message(diag::PassUnsupported, "symbolic variable `" + d.name + "`",
                           "it is in no signature that was searched"));
  }
  return made;
}

}  // namespace rldb::passes
