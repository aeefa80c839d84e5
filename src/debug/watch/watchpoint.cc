// Making a watchpoint: its activation, and whether its names and indices exist.
#include <fmt/format.h>

#include <algorithm>

#include "debug/look/values.h"
#include "debug/watch/numeric.h"
#include "debug/watch/watched.h"
#include "rldb/expression/expression.h"
#include "rldb/ir/type.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"

namespace rldb::debug {

using runtime::Result;
using runtime::Tensor;
using runtime::Value;

namespace {

// The names of a function that have memory, or will have: variables, parameters, symbols.
class FunctionNames {
 public:
  FunctionNames(const CodeMap& map, FunctionIndex function)
      : map_(map), function_(function), entry_(map.executable().functions[std::size_t(function)]) {}

  bool knows(std::string_view name) const {
    const auto all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
  }
  // Its bindings are there, but none of them, and nothing of which they are other names, has a register.
  bool has_no_memory(std::string_view name) const {
    bool bound = false;
    for (const int i : map_.find_bindings(entry_.name, name, -1)) {
      bound = true;
      const ir::Binding* b = map_.binding(i).binding;
      if (!b) return false;
      for (const ir::Var* v = b->var; v; v = map_.alias_of(v)) {
        const bool is_kept = map_.has_variable(function_, v->id) || map_.binding_of_variable(v) < 0;
        if (is_kept) return false;
      }
    }
    const auto& all = map_.variables(function_);
    return bound && std::none_of(all.begin(), all.end(), [&](const UserVariable& v) { return v.name == name; });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all = entry_.param_names;
    for (const UserVariable& v : map_.variables(function_)) all.push_back(v.name);
    for (const UserBinding& b : map_.bindings())
      if (b.function == entry_.name && !b.name.empty()) all.push_back(b.name);
    if (const bytecode::FunctionDebug* debug = map_.executable().debug.function(function_))
      for (const bytecode::SlotDebug& s : debug->slots) all.push_back(s.text);
    return all;
  }
  // A tensor of zeros in place of a value that is not computed yet, if its shape is written; null: not known.
  support::Ref<Tensor> stand_in(std::string_view name) const {
    constexpr std::int64_t kMost = 4 << 20;  // elements
    const int i = map_.find_binding(entry_.name, name, -1);
    const ir::Binding* b = i < 0 ? nullptr : map_.binding(i).binding;
    const ir::Var* var = b ? b->var : i < 0 ? parameter(name) : nullptr;
    const auto* type = var ? ir::as<ir::TensorType>(var->type) : nullptr;
    if (!type || !type->has_shape || type->shape_var || type->dtype.bytes() == 0) return {};
    std::vector<std::int64_t> dims;
    std::int64_t count = 1;
    for (const ir::Expr* d : type->shape) {
      const auto* known = ir::as<ir::IntImm>(d);
      if (!known || known->value < 0 || known->value > kMost || (count *= known->value) > kMost) return {};
      dims.push_back(known->value);
    }
    auto t = Tensor::empty(std::move(dims), type->dtype);
    return t.ok() ? *std::move(t) : support::Ref<Tensor>();
  }

 private:
  const ir::Var* parameter(std::string_view name) const {
    const ir::Module* written = map_.written_module();
    const auto* f = written ? ir::as<ir::Function>(written->find(entry_.name)) : nullptr;
    for (std::size_t i = 0; f && i < f->params.size(); ++i)
      if (f->params[i]->name == name) return f->params[i];
    return nullptr;
  }

  const CodeMap& map_;
  FunctionIndex function_;
  const bytecode::FunctionEntry& entry_;
};

source::Message no_such_name(const std::string& where, std::string_view name, const std::vector<std::string>& all) {
  source::Message m = source::message(diag::NoSuchThing, "value in " + where, name);
  const std::vector<std::string_view> views(all.begin(), all.end());
  if (const std::string_view near = source::nearest(name, views); !near.empty())
    m.hint = fmt::format("did you mean `{}`?", near);
  return m;
}

// The function whose names the expression has. Nullopt: diagnosed.
std::optional<FunctionIndex> function_with(const CodeMap& map, const std::vector<std::string>& names,
                                           const session::Session& session, source::Diagnostics& out) {
  const bytecode::Executable& exe = map.executable();
  std::vector<FunctionIndex> found;
  std::vector<std::string> all;
  for (FunctionIndex f = 0; f < FunctionIndex(exe.functions.size()); ++f) {
    if (exe.functions[std::size_t(f)].kind != bytecode::FunctionKind::Bytecode) continue;
    const FunctionNames known(map, f);
    if (std::all_of(names.begin(), names.end(),
                    [&](const std::string& n) { return known.knows(n) || session.find_value(n); }))
      found.push_back(f);
    for (std::string& n : known.names()) all.push_back(std::move(n));
  }
  if (!found.empty()) return found.size() == 1 ? found[0] : FunctionIndex(-1);
  for (const std::string& n : names)
    if (std::find(all.begin(), all.end(), n) == all.end() && !session.find_value(n)) {
      out.add({}, no_such_name("the program", n, all));
      return std::nullopt;
    }
  out.add({}, source::message(diag::NotWatchable, fmt::join(names, ", "), "no function has all of these names"));
  return std::nullopt;
}

}  // namespace

bool Debugger::Impl::check_watch(const Breakpoint& b, const CodeMap& map, const vm::Machine* m,
                                 source::Diagnostics& out) const {
  const FunctionIndex function = map.executable().find_function(b.function);
  if (function < 0) return true;
  const FunctionNames known(map, function);
  for (const std::string& name : watched_names(b.spec)) {
    if (!known.knows(name) && !session.find_value(name)) {
      out.add({}, no_such_name(fmt::format("function `{}`", b.function), name, known.names()));
      return false;
    }
    if (!known.has_no_memory(name)) continue;
    out.add({}, source::message(diag::NotWatchable, name,
                                "it has no memory in what runs: it was fused, merged or folded into other code"));
    return false;
  }
  if (storage_operand(b.spec)) return true;
  // The indices, on the values that are there and on zeros in the written shapes of the others.
  std::optional<ValueFinder> finder;
  if (m) finder.emplace(*this, *m, map, b.frame, 0, false);
  bool unknown = false;
  const auto lookup = [&](std::string_view name) -> Result<Value> {
    if (finder)
      if (auto v = finder->held(name); v.ok()) return v;
    if (auto zeros = known.stand_in(name)) return Value(std::move(zeros));
    unknown = true;
    return runtime::fail(runtime::ErrorKind::UnknownFunction, fmt::format("`{}` has no value here", name));
  };
  const auto value = expression::evaluate_text(b.spec, lookup);
  if (value.ok() || unknown) return true;
  out.add({}, source::message(diag::NotWatchable, b.spec, value.error().message));
  return false;
}

const Breakpoint* Debugger::add_watchpoint(std::string_view expression, int frame, bool every_activation,
                                           source::Diagnostics& out) {
  Impl& d = *impl_;
  Breakpoint b;
  b.kind = PointKind::Watch;
  b.spec = expression;
  b.every_activation = every_activation;
  if (!is_expression(storage_operand(expression).value_or(expression), out)) return nullptr;
  std::size_t index = 0;
  const bool running = d.run && d.last.kind != StopKind::Finished;
  if (running && frame_index(d.run->machine(), machine_frame(frame), index)) {
    const vm::Frame& f = d.run->machine().frames()[index];
    b.frame = index;
    b.entered = f.entered;
    b.function = d.run->code().function_name(f.pc);
    if (!d.check_watch(b, d.run->code(), &d.run->machine(), out)) return nullptr;
  } else if (const auto map = d.current_code()) {
    const std::vector<std::string> names = watched_names(expression);
    const auto function = function_with(*map, names, d.session, out);
    if (!function) return nullptr;
    if (every_activation && *function < 0) {
      out.add({}, source::message(diag::NotWatchable, expression, "more than one function has these names")
                      .with_hint("stop in one of them first"));
      return nullptr;
    }
    Breakpoint in_function = b;
    if (*function >= 0) in_function.function = map->executable().functions[std::size_t(*function)].name;
    if (!d.check_watch(in_function, *map, nullptr, out)) return nullptr;
    if (every_activation) b.function = in_function.function;
  }
  b.number = d.next_number++;
  return &(d.breakpoints[b.number] = std::move(b));
}

}  // namespace rldb::debug
