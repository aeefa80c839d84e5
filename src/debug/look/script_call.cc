#include "debug/look/script_call.h"

#include <fmt/format.h>

#include "rldb/bytecode/builtin/absent.h"
#include "rldb/ir/operator_text.h"

namespace rldb::debug {

using runtime::ErrorKind;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

namespace {

// A call as text: values with a literal form are written out, tensors are named operands.
class Spelling {
 public:
  Result<std::string> call(std::string_view name, std::span<const expression::CallArgument> arguments) {
    std::string text = fmt::format("{}(", name);
    for (const expression::CallArgument& a : arguments) {
      std::string spelled = a.literal;
      if (spelled.empty()) {
        RLDB_TRY(spelled, spell(a.value));
      }
      text += fmt::format("{}{}{}{}", text.back() == '(' ? "" : ", ", a.keyword, a.keyword.empty() ? "" : "=", spelled);
    }
    return text + ")";
  }
  std::vector<Value> operands;

 private:
  Result<std::string> spell(const Value& v) {
    switch (v.kind()) {
      case ValueKind::Int:
        return fmt::format("{}", v.as_int());
      case ValueKind::Bool:
        return std::string(v.as_int() != 0 ? "True" : "False");
      case ValueKind::Float:
        return fmt::format("{:#.17g}", v.as_float());
      case ValueKind::Null:
        return std::string("None");
      case ValueKind::String:
      case ValueKind::DType:
        return runtime::describe(v.is(ValueKind::String) ? v : Value::of_string(runtime::to_string(v.as_dtype())));
      case ValueKind::Shape:
        return fmt::format("[{}]", fmt::join(v.as_shape(), ", "));
      case ValueKind::Tuple: {
        std::string fields;
        for (const Value& f : v.as_tuple().fields) {
          RLDB_TRY(const std::string field, spell(f));
          fields += field + ", ";
        }
        return "(" + fields + ")";
      }
      case ValueKind::Tensor:
      case ValueKind::Function:
        operands.push_back(v);
        return ir::operand_name(operands.size() - 1);
      case ValueKind::Storage:
      case ValueKind::Object:
        break;
    }
    return runtime::fail(ErrorKind::Unsupported, fmt::format("{} is not an argument of a call", runtime::describe(v)));
  }
};

Result<Value> call_function_of_module(session::Session& session, const std::string& text, std::vector<Value> operands,
                                      const session::Session::EntryRunner& run) {
  std::vector<std::pair<std::string, Value>> scope;
  for (std::size_t i = 0; i < operands.size(); ++i) scope.emplace_back(ir::operand_name(i), std::move(operands[i]));
  source::Diagnostics found;
  if (auto value = session.evaluate_with(text, scope, found, run)) return *std::move(value);
  support::poll_cause();
  return runtime::fail(ErrorKind::Unsupported, found.first_error(text));
}

}  // namespace

expression::CallHook script_calls(session::Session& session, const session::Session::EntryRunner& run) {
  return [&session, &run](std::string_view name, std::span<const expression::CallArgument> arguments) -> Result<Value> {
    Spelling spelling;
    RLDB_TRY(const std::string text, spelling.call(name, arguments));
    const runtime::PackedInfo* operators = session.registry().find(builtin::CallOperator);
    if (!name.starts_with("R.") || !operators)
      return call_function_of_module(session, text, std::move(spelling.operands), run);
    std::vector<Value> all{Value::of_string(text)};
    all.insert(all.end(), spelling.operands.begin(), spelling.operands.end());
    return operators->function->native(all);
  };
}

}  // namespace rldb::debug
