// The tests of ONNX: folders of a model with inputs and outputs (node, simple, pytorch-operator, pytorch-converted),
// and the models of `light`. Each runs on two engines, compared within the tolerances of ONNX's own tests.
#include <algorithm>
#include <filesystem>

#include "conformance/conformance.h"
#include "rldb/ir/scalar.h"
#include "rldb/onnx/model.h"
#include "rldb/session/session.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"

namespace rldb::conformance {

namespace fs = std::filesystem;

namespace {

// Whole vision models take the evaluator from a quarter of a minute (ShuffleNet) to some minutes (ResNet-50).
bool is_too_long(std::string_view group, std::string_view engine) { return group == "light" && engine == "eval"; }

void add_model(const fs::path& model, const std::string& group, const std::string& test, std::vector<Case>& cases) {
  for (const char* engine : {"jit", "eval"}) {
    if (is_too_long(group, engine)) continue;
    Case c;
    c.kind = Kind::Onnx;
    c.name = "onnx/" + group + "/" + test + " " + engine;
    c.group = group + " " + engine;
    c.path = model.string();
    c.engine = engine;
    if (group == "light") c.patience = 10;  // more than a hundred kernels are compiled
    cases.push_back(std::move(c));
  }
}

ir::Result<runtime::Value> tensor_in(const fs::path& path) {
  const auto bytes = support::read_file(path.string());
  return onnx::read_tensor(bytes.ok() ? *bytes : std::string());
}

// The files NAME_0.pb, NAME_1.pb, ...
std::vector<runtime::Value> tensors_in(const fs::path& folder, const std::string& name, std::string& why) {
  std::vector<runtime::Value> made;
  for (int i = 0; fs::exists(folder / (name + "_" + std::to_string(i) + ".pb")); ++i) {
    auto value = tensor_in(folder / (name + "_" + std::to_string(i) + ".pb"));
    if (!value.ok()) {
      why = value.error().text;
      return {};
    }
    made.push_back(*value);
  }
  return made;
}

std::string first_message(const source::Diagnostics& found) {
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) return d.message;
  return "no reason given";
}

// The name of an input whose value the translation asks for, or another name if it asks for a value that nodes compute;
// empty: it asks for none.
std::string asked_for(const std::string& message) {
  if (message.find("known") == std::string::npos) return {};
  const auto begin = message.rfind("(`"), end = message.rfind("`)");
  return begin < end && end != std::string::npos ? message.substr(begin + 2, end - begin - 2) : "a dim";
}

struct Data {
  std::vector<runtime::Value> inputs, outputs;
};

// The files have the bits of bfloat16 as uint16: the library that wrote them knows no such type.
runtime::Value in_dtype(const runtime::Value& v, runtime::DType wanted) {
  const runtime::Tensor& t = v.as_tensor();
  if (wanted != runtime::DType::BFloat16() || t.dtype() != runtime::DType::UInt(16)) return v;
  auto view = runtime::Tensor::view(t.storage(), t.byte_offset(), t.shape(), wanted);
  return view.ok() ? runtime::Value(*view) : v;
}

void give_input_dtypes(session::Session& session, Data& data) {
  std::string not_runnable;
  const auto params = session.program()->parameters("main", not_runnable);
  for (std::size_t i = 0; params && i < params->size() && i < data.inputs.size(); ++i)
    if (const auto* type = ir::as<ir::TensorType>((*params)[i].type))
      data.inputs[i] = in_dtype(data.inputs[i], type->dtype);
}

// Of a model of `light`, whose input is made up: i / n.
bool light_data(session::Session& session, const Case& c, Data& data, std::string& why) {
  std::string not_runnable;
  const auto params = session.program()->parameters("main", not_runnable);
  const auto* type = params && params->size() == 1 ? ir::as<ir::TensorType>(params->front().type) : nullptr;
  if (!type) {
    why = "it has not one input";
    return false;
  }
  std::vector<std::int64_t> shape;
  for (const ir::Expr* d : type->shape) shape.push_back(*ir::const_int(d));
  auto tensor = runtime::Tensor::empty(shape, type->dtype);
  const std::int64_t n = (*tensor)->element_count();
  for (std::int64_t i = 0; i < n; ++i)
    runtime::store_double((*tensor)->data() + std::size_t(i) * 4, type->dtype, double(float(i) / float(n)));
  data.inputs = {runtime::Value(*tensor)};
  const std::string stem = c.path.substr(0, c.path.size() - 5);
  data.outputs = tensors_in(fs::path(stem).parent_path(), fs::path(stem).filename().string() + "_output", why);
  return !data.outputs.empty();
}

// Loads the model, with those inputs as constants that the translation asks for.
bool load_with(session::Session& session, const Case& c, const std::vector<std::string>& names, Data& data,
               std::string& why) {
  for (int tries = 0; tries < 9; ++tries) {
    source::Diagnostics found;
    if (session.load_file(c.path, found)) break;
    why = first_message(found);
    const std::string asked = asked_for(why);
    if (asked.empty()) return false;
    const auto at = std::find(names.begin(), names.end(), asked);
    auto& bound = session.options().bound_inputs;
    const std::size_t before = bound.size();
    for (std::size_t i = 0; i < names.size() && i < data.inputs.size(); ++i)
      // A value that nodes compute: from inputs such as shapes and sizes.
      if (at == names.end() ? data.inputs[i].as_tensor().ndim() <= 1 : names[i] == asked)
        bound[names[i]] = data.inputs[i];
    if (bound.size() == before) return false;
  }
  why.clear();
  std::vector<runtime::Value> rest;
  for (std::size_t i = 0; i < data.inputs.size(); ++i)
    if (i >= names.size() || !session.options().bound_inputs.contains(names[i])) rest.push_back(data.inputs[i]);
  data.inputs = std::move(rest);
  if (session.program()) give_input_dtypes(session, data);
  return session.program() != nullptr;
}

std::string difference(const runtime::Value& actual, const Data& data, const Case& c) {
  runtime::Tolerance tolerance{1e-7, 1e-3, true};
  const bool quantised = c.name.find("quantize") != std::string::npos || c.name.find("qlinear") != std::string::npos;
  std::vector<runtime::Value> values{actual};
  if (actual.is(runtime::ValueKind::Tuple)) values = actual.as_tuple().fields;
  if (values.size() < data.outputs.size()) return "it gives fewer outputs";
  for (std::size_t i = 0; i < data.outputs.size(); ++i) {
    const bool small =
        data.outputs[i].as_tensor().dtype().is_integral() && data.outputs[i].as_tensor().dtype().bits <= 8;
    if (quantised && small) tolerance.atol = 1;
    const runtime::Value expected = values[i].is(runtime::ValueKind::Tensor)
                                        ? in_dtype(data.outputs[i], values[i].as_tensor().dtype())
                                        : data.outputs[i];
    if (const std::string d = runtime::compare(values[i], expected, tolerance); !d.empty()) return d;
  }
  return {};
}

Outcome run_data(session::Session& session, const Case& c, const Data& data) {
  source::Diagnostics found;
  const auto result = session.run("main", data.inputs, found);
  if (!result.ok) return failed(result.fault ? result.fault->error.message : first_message(found));
  const std::string d = difference(result.value, data, c);
  return d.empty() ? Outcome{true, {}} : failed(d);
}

Outcome run_light(const Case& c, session::Session& session) {
  source::Diagnostics found;
  if (!session.load_file(c.path, found)) return failed(first_message(found));
  Data data;
  std::string why = "its expected output is not there";
  return light_data(session, c, data, why) ? run_data(session, c, data) : failed(why);
}

}  // namespace

void add_onnx(const std::string& root, std::vector<Case>& cases) {
  for (const char* group : {"node", "simple", "pytorch-operator", "pytorch-converted"})
    for (const fs::path& p : support::sorted_entries(fs::path(root) / group))
      if (fs::exists(p / "model.onnx")) add_model(p / "model.onnx", group, p.filename().string(), cases);
  for (const fs::path& p : support::sorted_entries(fs::path(root) / "light"))
    if (p.extension() == ".onnx") add_model(p, "light", p.stem().string(), cases);
}

Outcome run_onnx(const Case& c) {
  session::Options options;
  options.engine = c.engine == "eval" ? session::Engine::Eval : session::Engine::Jit;
  options.quick_kernels = false;
  const fs::path folder = fs::path(c.path).parent_path();
  if (folder.filename() == "light") {
    session::Session session(options);
    return run_light(c, session);
  }
  const auto bytes = support::read_file(c.path);
  source::Diagnostics found;
  const auto model = onnx::read_model(c.path, bytes.ok() ? *bytes : std::string(), found);
  if (!model) return failed(first_message(found));
  Outcome outcome = failed("it has no data");
  for (int k = 0; fs::exists(folder / ("test_data_set_" + std::to_string(k))); ++k) {
    const fs::path set = folder / ("test_data_set_" + std::to_string(k));
    session::Session session(options);
    Data data;
    std::string why;
    data.inputs = tensors_in(set, "input", why);
    // A refused operator is the better reason.
    if (!load_with(session, c, onnx::input_names(*model), data, why)) return failed(why);
    data.outputs = tensors_in(set, "output", why);
    if (!why.empty()) return failed(why);
    outcome = run_data(session, c, data);
    if (!outcome.passed) break;
  }
  return outcome;
}

}  // namespace rldb::conformance
