// The programs of `relay/vm`, translated to Relax and run: each case gives the expected values on its engine.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "conformance/conformance.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/verifier.h"
#include "rldb/relay/to_relax.h"
#include "rldb/runtime/value.h"
#include "rldb/session/session.h"

namespace rldb::conformance {

namespace {

using nlohmann::json;
using runtime::Value;

Value tensor_of(const json& j) {
  const auto dtype = runtime::parse_dtype(j.at("dtype").get<std::string>()).value();
  auto made = runtime::Tensor::empty(j.at("shape").get<std::vector<std::int64_t>>(), dtype);
  RLDB_CHECK(made.ok(), "a tensor of the corpus fits into memory");
  std::byte* to = (*made)->data();
  for (const json& element : j.at("data")) {
    if (element.is_boolean())
      runtime::store_int(to, dtype, element.get<bool>());
    else if (element.is_number_integer() && !dtype.is_float())
      runtime::store_int(to, dtype, element.get<std::int64_t>());
    else if (element.is_string())
      runtime::store_double(to, dtype, std::stod(element.get<std::string>()));
    else
      runtime::store_double(to, dtype, element.get<double>());
    to += dtype.bytes();
  }
  return Value(std::move(*made));
}

Value value_of(const json& j) {
  if (j.contains("dtype")) return tensor_of(j);
  std::vector<Value> fields;
  if (j.contains("ctor")) fields.push_back(Value::of_string(j.at("ctor").get<std::string>()));
  for (const json& f : j.contains("tuple") ? j.at("tuple") : j.at("fields")) fields.push_back(value_of(f));
  return Value::of_tuple(std::move(fields));
}

const ir::Module* translate(const Case& c, session::Session& session, source::Diagnostics& found) {
  relay::Context ctx;
  frontend::RelayOptions options;
  if (c.initial == "prelude") {
    const auto file = session.sources().add("prelude", std::string(frontend::relay_prelude()));
    options.initial = frontend::parse_relay(ctx, session.sources(), file, found).module;
  }
  std::ifstream in(c.path);
  const auto file = session.sources().add(c.path, std::string((std::istreambuf_iterator<char>(in)), {}));
  const relay::Module* m = frontend::parse_relay(ctx, session.sources(), file, found, options).module;
  relay::Typing typing;
  if (!m || !relay::infer_types(ctx, m, typing, found)) return nullptr;
  const ir::Module* made = relay::to_relax(session.context(), ctx, *m, typing, found);
  return made && ir::verify(session.context(), made, found) ? made : nullptr;
}

std::string difference(session::Session& session, const json& program, const json& wanted,
                       const std::vector<Value>& inputs) {
  source::Diagnostics found;
  const auto result = session.run(program.at("function").get<std::string>(), inputs, found);
  if (wanted.contains("error")) {
    if (result.ok) return "no error: " + runtime::format_brief(result.value);
    const bool shape = wanted.at("error") == "shape";
    const bool as_wanted =
        result.fault &&
        (result.fault->error.kind == (shape ? runtime::ErrorKind::ShapeMismatch : runtime::ErrorKind::AssertFailed));
    const std::string said = found.first_error("no diagnostic");
    // The evaluator has diagnostics and no fault.
    return as_wanted || said.find(shape ? "broadcast" : "no arm") != std::string::npos ? "" : "another error: " + said;
  }
  if (!result.ok) return found.first_error("no diagnostic");
  runtime::Tolerance tolerance;
  tolerance.rtol = program.value("rtol", 1e-5);
  tolerance.atol = program.value("atol", 1e-5);
  return runtime::compare(result.value, value_of(wanted), tolerance);
}

}  // namespace

Outcome run_relay_translated(const Case& c) {
  std::ifstream in(c.values);
  const json program = json::parse(in);
  session::Options options;
  options.quick_kernels = false;
  options.engine = c.engine == "jit" ? session::Engine::Jit : session::Engine::Eval;
  session::Session session(options);
  source::Diagnostics found;
  const ir::Module* module = translate(c, session, found);
  if (!module) return failed(found.first_error("no diagnostic"));
  session.set_program(module);
  for (const json& one : program.at("cases")) {
    std::vector<Value> inputs;
    for (const json& input : one.at("inputs")) inputs.push_back(value_of(input));
    const std::string why = difference(session, program, one.at("expected"), inputs);
    if (!why.empty()) return failed(why);
  }
  return {true, {}};
}

}  // namespace rldb::conformance
