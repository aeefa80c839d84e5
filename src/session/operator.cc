// Operators compiled when they run: `rldb.call_operator`, the function behind operators whose operands' types are open
// (RFC 0089 section 4.2: facts not in the types are left to the run time). The operator's text is parsed over the
// operands' actual types and built like an entry at the prompt; programs are kept by text and types.
#include <fmt/format.h>

#include "rldb/bytecode/builtin/absent.h"
#include "rldb/frontend/parse.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/operator_text.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/by_host.h"
#include "rldb/runtime/copy.h"
#include "rldb/support/cancel.h"
#include "session/engines.h"

namespace rldb::session {

using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::string_view kOperatorFunction = "__operator__";

// The operator's text with its operands spelled out: values that a legalisation reads (dims, numbers, names) are
// literals, tensors are names.
class Spelling {
 public:
  Result<std::string> text(std::string text, PackedArgs operands) {
    for (std::size_t i = operands.size(); i-- > 0;) {
      RLDB_TRY(const std::string spelled, spell(operands[i]));
      const std::string name = ir::operand_name(i);
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + spelled.size()))
        text.replace(at, name.size(), spelled);
    }
    return text;
  }
  std::vector<std::pair<std::string, Value>> tensors;

 private:
  Result<std::string> spell(const Value& v) {
    switch (v.kind()) {
      case ValueKind::Tensor:
        tensors.emplace_back(fmt::format("tensor_{}_", tensors.size()), v);
        return tensors.back().first;
      case ValueKind::Tuple: {
        std::string fields;
        for (const Value& f : v.as_tuple().fields) {
          RLDB_TRY(const std::string field, spell(f));
          fields += field + ", ";
        }
        return fields.empty() ? std::string("R.tuple()") : "(" + fields + ")";
      }
      case ValueKind::Shape:
        return fmt::format("R.shape([{}])", fmt::join(v.as_shape(), ", "));
      case ValueKind::Int:
        return fmt::format("R.prim_value({})", v.as_int());
      case ValueKind::Bool:
        return fmt::format("R.prim_value({})", v.as_int() != 0 ? "True" : "False");
      case ValueKind::Float:
        return fmt::format("R.prim_value(T.float64({:.17g}))", v.as_float());
      case ValueKind::DType:
        return fmt::format("R.dtype(\"{}\")", runtime::to_string(v.as_dtype()));
      case ValueKind::Null:
      case ValueKind::String:
      case ValueKind::Storage:
      case ValueKind::Function:
      case ValueKind::Object:
        break;
    }
    // A value that the program has killed is its own fault.
    const auto kind = v.is_null() ? ErrorKind::TypeMismatch : ErrorKind::Unsupported;
    return runtime::fail(kind, fmt::format("{} is not an operand of an operator", runtime::describe(v)));
  }
};

}  // namespace

// On the host: operands on a device are copied, and the results return to it.
Result<Value> Session::call_operator(PackedArgs args) {
  if (args.empty() || !args[0].is(ValueKind::String))
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("{} needs an operator's text", builtin::CallOperator));
  if (const std::string differ = runtime::devices_differ(args.subspan(1)); !differ.empty())
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("`{}`: {}", builtin::CallOperator, differ));
  return runtime::by_host(builtin::CallOperator, args.subspan(1), [&](PackedArgs given) -> Result<Value> {
    Spelling spelling;
    RLDB_TRY(const std::string text, spelling.text(args[0].as_string(), given));
    std::vector<Value> operands;
    std::string key = fmt::format("{} {} {}", int(options_.engine), options_.check_bounds, text);
    std::vector<NamedValue> names;
    for (auto& [name, value] : spelling.tensors) {
      names.push_back({name, value, ctx_->var(name, type_of_value(*ctx_, value))});
      key += " " + ir::print_type(names.back().var->type);
      operands.push_back(value);
    }
    // A loop over growing shapes would otherwise keep a program for each.
    constexpr std::size_t kMostPrograms = 256;
    const auto known = engines_->operators.find(key);
    std::shared_ptr<const Build> program = known == engines_->operators.end() ? nullptr : known->second;
    Diagnostics found;
    const auto failed = [&]() -> support::Failure<runtime::Error> {
      support::poll_cause();
      runtime::Error error{ErrorKind::Unsupported, found.first_error(text), {}};
      for (const source::Diagnostic& d : found.all())
        for (const auto& note : d.notes) error.notes.push_back(note.text);
      return support::Failure(std::move(error));
    };
    if (!program) {
      program = build_operator(text, names, found);
      if (!program) return failed();
      if (engines_->operators.size() >= kMostPrograms) engines_->operators.clear();
      engines_->operators.emplace(std::move(key), program);
    }
    RunResult result = run_build(*program, kOperatorFunction, operands, found);
    if (result.fault) return support::Failure(std::move(result.fault->error));
    if (!result.ok) return failed();
    return std::move(result.value);
  });
}

std::shared_ptr<const Build> Session::build_operator(const std::string& text, const std::vector<NamedValue>& names,
                                                     Diagnostics& out) {
  const source::FileId file = sources_.add("<operator>", text);
  frontend::Environment env;
  for (const NamedValue& n : names) env.values.push_back({n.name, n.var});
  const auto parsed = frontend::parse_input(*ctx_, sources_, file, env, out);
  if (!parsed.ok || parsed.items.size() != 1 || !parsed.items[0].value) return nullptr;
  std::vector<const ir::Var*> params;
  for (const NamedValue& n : names) params.push_back(n.var);
  const ir::Var* result = ctx_->var("result", parsed.items[0].value->body->type);
  std::vector<const ir::BindingBlock*> blocks(parsed.items[0].value->blocks.begin(),
                                              parsed.items[0].value->blocks.end());
  const std::vector<const ir::Binding*> bindings{ctx_->binding(result, parsed.items[0].value->body)};
  blocks.push_back(ctx_->block(bindings));
  const std::vector<ir::NamedAttr> attrs{ctx_->named(attr_name::GlobalSymbol, ctx_->attr(kOperatorFunction))};
  ir::ModuleBuilder builder(*ctx_);
  builder.set(kOperatorFunction, ctx_->function(params, ctx_->seq(blocks, result), result->type, false, attrs));
  return build_module(builder.build(), out);
}

}  // namespace rldb::session
