// Criteria for passing: executables of the Relay VM, and programs compiled to it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "conformance/conformance.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/session/relay_code.h"
#include "rldb/support/file.h"

namespace rldb::conformance {

namespace {

using nlohmann::json;
using runtime::DType;
using runtime::Value;

std::string text_of(const std::string& path) {
  auto read = support::read_file(path);
  return read.ok() ? std::move(read).value() : std::string();
}

Value tensor_of(const json& j) {
  const DType dtype = *runtime::parse_dtype(j["dtype"].get<std::string>());
  auto t = runtime::Tensor::empty(j["shape"].get<std::vector<std::int64_t>>(), dtype).value();
  std::size_t at = 0;
  for (const json& e : j["data"]) {
    std::byte* to = t->data() + at++ * dtype.bytes();
    if (e.is_boolean())
      runtime::store_int(to, dtype, e.get<bool>());
    else if (e.is_number_integer())
      runtime::store_int(to, dtype, e.get<std::int64_t>());
    else
      runtime::store_double(to, dtype, e.is_string() ? std::stod(e.get<std::string>()) : e.get<double>());
  }
  return Value(t);
}

Value value_of(const json& j) {
  if (j.contains("dtype")) return tensor_of(j);
  std::vector<Value> fields;
  for (const json& f : j.contains("tuple") ? j["tuple"] : j["fields"]) fields.push_back(value_of(f));
  if (j.contains("tag")) return relay_vm::make_adt(j["tag"].get<std::int32_t>(), std::move(fields));
  return Value::of_tuple(std::move(fields));
}

// Empty: as expected.
std::string difference(const json& want, const Value& got, const relay_bytecode::Executable& exe,
                       const runtime::Tolerance& tolerance) {
  if (want.contains("dtype")) {
    const Value wanted = value_of(want);
    if (got.is(runtime::ValueKind::Tensor) && got.as_tensor().dtype() != wanted.as_tensor().dtype())
      return "a " + runtime::describe(got) + " instead of " + runtime::describe(wanted);
    return runtime::compare(got, wanted, tolerance);
  }
  const auto tag = relay_vm::tag_of(got);
  if (!tag) return "a " + runtime::describe(got) + " instead of a tuple or data type";
  if (want.contains("tag") && *tag != want["tag"].get<std::int32_t>()) return fmt::format("tag {}", *tag);
  if (want.contains("tuple") && *tag != 0) return fmt::format("tag {} instead of a tuple", *tag);
  if (want.contains("ctor")) {
    const auto found = exe.constructors.find(*tag);
    const std::string name = found == exe.constructors.end() ? fmt::format("tag {}", *tag) : found->second.name;
    if (name != want["ctor"].get<std::string>()) return "constructor " + name;
  }
  const json& fields = want.contains("tuple") ? want["tuple"] : want["fields"];
  const std::vector<Value>& values = got.as_tuple().fields;
  if (fields.size() != values.size()) return fmt::format("{} fields", values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::string d = difference(fields[i], values[i], exe, tolerance); !d.empty())
      return fmt::format("field {}: {}", i, d);
  return "";
}

std::string run_one(const json& c, const std::shared_ptr<const relay_vm::Program>& program, const std::string& function,
                    const runtime::Tolerance& tolerance) {
  std::vector<Value> inputs;
  for (const json& i : c["inputs"]) inputs.push_back(value_of(i));
  const relay_vm::Outcome o = relay_vm::call(program, function, inputs);
  const json& want = c["expected"];
  if (want.contains("error")) {
    if (!o.faulted()) return "ran, and should have failed";
    const bool fatal = want["error"] == "fatal";
    const bool fell = o.fault->instruction == "fatal";
    return fatal == fell ? "" : "failed otherwise: " + o.fault->error.message;
  }
  if (!o.finished()) return o.fault ? o.fault->function_name + ": " + o.fault->error.message : "stopped";
  return difference(want, o.value, program->executable(), tolerance);
}

// `NAME.json` beside `NAME.VERSION.ro`.
std::string about(const Case& c) {
  const std::size_t slash = c.path.rfind('/');
  return text_of(c.path.substr(0, c.path.find('.', slash)) + ".json");
}

Outcome run_good(const Case& c, const std::string& bytes, relay_bytecode::Executable exe) {
  const std::string text = relay_bytecode::as_text(exe);
  if (text != text_of(c.path.substr(0, c.path.size() - 3) + ".txt")) return failed("the listing differs: " + text);
  const auto written = relay_bytecode::serialise(exe);
  if (!written.ok() || *written != bytes) return failed("writing it again gives other bytes");
  relay_vm::Environment env;
  const json doc = json::parse(about(c));
  if (doc.contains("late_values")) {
    if (relay_vm::Program::link(std::make_shared<relay_bytecode::Executable>(exe), env).ok())
      return failed("links without its late constant");
    for (const auto& [name, value] : doc["late_values"].items()) env.late_constants[name] = value_of(value);
  }
  auto program = relay_vm::Program::link(std::make_shared<relay_bytecode::Executable>(std::move(exe)), env);
  if (!program.ok()) return failed(program.error().message);
  for (const json& run : doc["cases"])
    if (std::string wrong = run_one(run, *program, "main", {}); !wrong.empty()) return failed(wrong);
  return {true, {}};
}

Outcome run_wrong(relay_bytecode::Executable exe) {
  auto program = relay_vm::Program::link(std::make_shared<relay_bytecode::Executable>(std::move(exe)), {});
  if (!program.ok()) return {true, {}};
  auto scalar = runtime::Tensor::empty({}, DType::Int(32)).value();
  const std::vector<Value> inputs{Value(scalar)};
  relay_vm::Machine machine(*program);
  if (!machine.start("main", inputs).ok()) return {true, {}};
  return machine.run().faulted() ? Outcome{true, {}} : failed("ran without an error");
}

struct Silent : runtime::Output {
  void write(std::string_view) override {}
};

}  // namespace

Outcome run_relay_program(const Case& c) {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const json doc = json::parse(about(c));
  const auto read = [&](std::string text, const frontend::RelayOptions& options) {
    return frontend::parse_relay(ctx, sources, sources.add(c.path, std::move(text)), found, options).module;
  };
  frontend::RelayOptions options;
  if (doc["prelude"].get<bool>()) options.initial = read(std::string(frontend::relay_prelude()), {});
  const relay::Module* m = read(text_of(c.path), options);
  relay::Typing typing;
  if (!m || !relay::infer_types(ctx, m, typing, found)) return failed(found.first_error("no diagnostic"));
  session::Options engine;
  engine.engine = c.engine == "jit" ? session::Engine::Jit : session::Engine::Eval;
  Silent silent;
  const auto program = session::RelayCode::compile(ctx, m, engine, &silent, found, doc["function"].get<std::string>());
  if (!program) return failed(found.first_error("no diagnostic"));
  runtime::Tolerance tolerance;
  tolerance.rtol = doc["rtol"].get<double>();
  tolerance.atol = doc["atol"].get<double>();
  for (const json& run : doc["cases"])
    if (std::string wrong = run_one(run, program->linked(), doc["function"].get<std::string>(), tolerance);
        !wrong.empty())
      return failed(wrong);
  return {true, {}};
}

Outcome run_relay_executable(const Case& c) {
  const std::string bytes = text_of(c.path);
  auto exe = relay_bytecode::load(bytes);
  if (c.outcome == "either") return {true, {}};
  if (!exe.ok()) return c.outcome == "ok" ? failed(exe.error().message) : Outcome{true, {}};
  if (c.outcome == "ok") return run_good(c, bytes, std::move(exe).value());
  return c.outcome == "reject" ? failed("accepted") : run_wrong(std::move(exe).value());
}

}  // namespace rldb::conformance
