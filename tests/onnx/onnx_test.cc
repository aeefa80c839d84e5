// Translations of ONNX models, by values and by text; places; damaged models.
//
// cases/*.txt: `# MODEL` (model_text.h), `# INPUTS` as in session/value_table.h, and the results: `# VALUES` on two
// engines, `# RELAX` (if the case has it: the module), `# TABLE` (if the case has it: the operators), `# ERRORS`.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "onnx/model_text.h"
#include "onnx/operators.h"
#include "rldb/ir/printer.h"
#include "session/value_table.h"

namespace onnx_pb = ::onnx;
using namespace rldb;

namespace {

// A file of its own for a model, for as long as it is in scope.
class ModelFile {
 public:
  explicit ModelFile(std::string_view bytes) {
    char name[] = "/tmp/rldb_onnx_XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream(path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  }
  ~ModelFile() { std::filesystem::remove_all(folder_); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;
  std::string path() const { return folder_ + "/model.onnx"; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

std::string errors_of(const source::Diagnostics& found) {
  std::string text;
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) text += d.message + "\n";
  return text;
}

std::string values_of(session::Session& session, const std::string& inputs) {
  source::Diagnostics found;
  const auto* main = ir::as<ir::Function>(session.module()->find("main"));
  const std::vector<std::string> cells = golden::cells_of(inputs, ';');
  std::vector<runtime::Value> args;
  for (std::size_t i = 0; i < main->params.size(); ++i)
    args.push_back(value_table::input_of(main->params[i]->type, i < cells.size() ? cells[i] : ""));
  const session::RunResult result = session.run("main", args, found);
  return result.ok ? value_table::text_of(result.value) : "! " + std::string(support::trim(errors_of(found)));
}

session::Options options_of(const golden::Case& c, session::Engine engine) {
  session::Options options;
  options.engine = engine;
  options.bind_params = c.find("PARAMS") == nullptr;
  return options;
}

void run_case(golden::Case& c) {
  const golden::Part* model = c.find("MODEL");
  REQUIRE(model);
  const ModelFile file(rldb::onnx::test::model_bytes(model->text));
  std::string values;
  for (const session::Engine engine : {session::Engine::Jit, session::Engine::Eval}) {
    CAPTURE(c.name);
    session::Session session(options_of(c, engine));
    source::Diagnostics found;
    if (!session.load_file(file.path(), found)) {
      c.set("ERRORS", {}, std::string(support::trim(errors_of(found))));
      c.remove("VALUES");
      c.remove("RELAX");
      break;
    }
    c.remove("ERRORS");
    if (c.find("RELAX")) c.set("RELAX", {}, std::string(support::trim(ir::print(session.module(), {}))));
    const std::string made = values_of(session, c.find("INPUTS") ? c.find("INPUTS")->text : "");
    // The engines word the error of a run differently.
    const bool both_fail = made.starts_with("! ") && values.starts_with("! ");
    if (!values.empty() && !both_fail) CHECK(made == values);
    values = made;
    c.set("VALUES", {}, values);
  }
  if (!c.find("TABLE")) return;
  source::Diagnostics ignored;
  const auto read = rldb::onnx::read_model(file.path(), rldb::onnx::test::model_bytes(model->text), ignored);
  c.set("TABLE", {}, std::string(support::trim(rldb::onnx::operator_table(*read))));
}

constexpr std::string_view kSmall =
    "opset 17\n"
    "input x: float[2, 3]\n"
    "init w: float[3] = 1 2 3\n"
    "/layer1/Mul: y = Mul(x, w)\n"
    "z = Relu(y)\n"
    "output z\n";

}  // namespace

TEST_CASE("tests/onnx/cases: models by value and by text") { golden::check_cases("onnx/cases", run_case); }

TEST_CASE("bindings have the places of their nodes") {
  const ModelFile file(rldb::onnx::test::model_bytes(kSmall));
  session::Session session;
  source::Diagnostics found;
  REQUIRE(session.load_file(file.path(), found));
  const rldb::onnx::Translation* model = session.program()->onnx();
  REQUIRE(model);
  REQUIRE(model->nodes.size() == 2);
  CHECK(model->nodes[0].label == "/layer1/Mul");
  CHECK(model->nodes[1].label == "#1");
  const ir::Var* y = model->values.at("y");
  const source::Span place = model->nodes[0].place;
  const source::Buffer* listing = session.sources().find(place.file);
  REQUIRE(listing);
  CHECK(listing->line(listing->line_column(place.begin).line).find("/layer1/Mul: y = Mul(x, w)") != std::string::npos);
  CHECK(session.context().span_of(y) == place);
}

TEST_CASE("every operator has one row, and the bodies are known by their names") {
  for (const rldb::onnx::OperatorRow& row : rldb::onnx::operator_rows()) {
    CAPTURE(row.name);
    CHECK(rldb::onnx::operator_row(std::string(row.domain), std::string(row.name)) == &row);
    CHECK((row.body != nullptr || !row.target.empty()));
  }
}

TEST_CASE("damaged models are errors") {
  const std::string good = rldb::onnx::test::model_bytes(kSmall);
  // Each truncation, and each byte changed.
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int change : {-1, 0x01, 0x80, 0xff}) {
      std::string bytes = good;
      if (change < 0)
        bytes.resize(at);
      else
        bytes[at] = char(bytes[at] ^ change);
      source::Diagnostics found;
      ir::Context ctx;
      ops::install(ctx);
      const auto model = rldb::onnx::read_model("model.onnx", bytes, found);
      if (!model) {
        CHECK(found.has_errors());
        continue;
      }
      const auto made = rldb::onnx::to_relax(ctx, model, {}, {}, found);
      CHECK((made != nullptr) == !found.has_errors());
    }
}

namespace {

// The errors of a model of a Softmax whose parts are changed.
template <class Change>
std::string errors_with(Change&& change) {
  onnx_pb::ModelProto model;
  REQUIRE(
      model.ParseFromString(rldb::onnx::test::model_bytes("opset 17\ninput x: float[2, 3]\ninit w: float[1] = 1\n"
                                                          "t = Mul(x, w)\ny = Softmax(t) {axis = 1}\noutput y\n")));
  change(model);
  source::Diagnostics found;
  const auto read = rldb::onnx::read_model("model.onnx", model.SerializeAsString(), found);
  ir::Context ctx;
  ops::install(ctx);
  if (read) rldb::onnx::to_relax(ctx, read, {}, {}, found);
  return std::string(support::trim(errors_of(found)));
}

}  // namespace

TEST_CASE("an attribute whose kind is not that of its value is an error, one without a kind is none") {
  const auto axis = [](onnx_pb::ModelProto& m) { return m.mutable_graph()->mutable_node(1)->mutable_attribute(0); };
  const std::string wrong = "node #1: `Softmax` cannot be translated: its attribute `axis` is of another kind";
  CHECK(errors_with([](auto&) {}) == "");
  CHECK(errors_with([&](auto& m) { axis(m)->clear_type(); }) == "");
  CHECK(errors_with([&](auto& m) { axis(m)->clear_i(); }) == "");
  CHECK(errors_with([&](auto& m) { axis(m)->set_type(onnx_pb::AttributeProto::FLOAT); }) == wrong);
  CHECK(errors_with([&](auto& m) {
          axis(m)->clear_i();
          axis(m)->set_f(1);
        }) == wrong);
}

TEST_CASE(
    "names that are given twice are errors, an input with an initialiser and a domain that is imported twice none") {
  const std::string no_model = "`model.onnx` is not an ONNX model: ";
  CHECK(errors_with([](auto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); }) ==
        no_model + "two inputs of a graph are called `x`");
  CHECK(errors_with([](auto& m) { *m.mutable_graph()->add_initializer() = m.graph().initializer(0); }) ==
        no_model + "two initialisers of a graph are called `w`");
  const auto function = [](auto& m) { m.add_functions()->set_name("F"); };
  CHECK(errors_with([&](auto& m) {
          function(m);
          function(m);
        }) == no_model + "two of its functions are called `F`");
  CHECK(errors_with([&](auto& m) {
          function(m);
          function(m);
          m.mutable_functions(1)->set_overload("other");
        }) == "");
  CHECK(errors_with([&](auto& m) {
          function(m);
          m.mutable_functions(0)->add_input("a");
          m.mutable_functions(0)->add_input("a");
        }) == no_model + "two inputs of the function `F` are called `a`");
  CHECK(errors_with([](auto& m) {
          m.mutable_graph()->add_input()->set_name("w");
          m.add_opset_import()->set_version(13);
        }) == "");
}

TEST_CASE("elements that are more than an axis has, and pieces that it has not, are errors of the run") {
  const auto run = [](const std::string& model, const std::string& inputs) {
    const ModelFile file(rldb::onnx::test::model_bytes(model));
    session::Session session;
    source::Diagnostics found;
    REQUIRE(session.load_file(file.path(), found));
    return values_of(session, inputs);
  };
  const std::string topk = "opset 11\ninput x: float[3]\ninput k: int64[1]\nv, i = TopK(x, k)\noutput v\n";
  CHECK(run(topk, "1 3 2; 4").find("(4 vs. 3)") != std::string::npos);
  CHECK(run(topk, "1 3 2; -2").find("(-2 vs. 0)") != std::string::npos);
  const std::string halves = "opset 13\ninput x: float[n]\na, b = Split(x)\noutput b\n";
  CHECK(run(halves, "3:").find("(3 vs. 2)") != std::string::npos);
  const std::string quarters = "opset 18\ninput x: float[n]\na, b, c, d = Split(x) {num_outputs = 4}\noutput d\n";
  CHECK(run(quarters, "5:").find("(-1 vs. 0)") != std::string::npos);
  CHECK(run(quarters, "7:") == "float32(1) 6");
}

namespace {

// A field of bytes, as protobuf writes it.
std::string bytes_field(int number, const std::string& bytes) {
  std::string out(1, char(number << 3 | 2));
  std::size_t size = bytes.size();
  for (; size > 127; size >>= 7) out += char(size | 128);
  return out + char(size) + bytes;
}

// The values of a model's run with zeros, or its errors.
std::string read_and_run(const std::string& bytes) {
  const ModelFile file(bytes);
  session::Session session;
  source::Diagnostics found;
  return session.load_file(file.path(), found) ? values_of(session, "512: 0") : errors_of(found);
}

// A weight of 2 KiB and one of 12 bytes.
onnx_pb::ModelProto model_with_weights() {
  onnx_pb::ModelProto model;
  REQUIRE(
      model.ParseFromString(rldb::onnx::test::model_bytes("opset 17\n"
                                                          "input x: float[512]\n"
                                                          "init large: float[512]\n"
                                                          "init small: float[3] = 1 2 3\n"
                                                          "y = Add(x, large)\n"
                                                          "z = ReduceSum(y)\n"
                                                          "w = Mul(z, small)\n"
                                                          "output w\n")));
  auto& large = *model.mutable_graph()->mutable_initializer(0);
  const std::vector<float> twos(512, 2);
  large.clear_float_data();
  large.set_raw_data(twos.data(), twos.size() * sizeof(float));
  return model;
}

template <class Change>
std::string changed_weights(Change&& change) {
  onnx_pb::ModelProto model = model_with_weights();
  change(*model.mutable_graph());
  return read_and_run(model.SerializeAsString());
}

}  // namespace

TEST_CASE("large weights are read past protobuf, and give the same errors") {
  const std::string values = changed_weights([](onnx_pb::GraphProto&) {});
  CAPTURE(values);
  CHECK(values.starts_with("float32(3)"));
  CHECK(changed_weights([](onnx_pb::GraphProto& g) {
          g.mutable_initializer(0)->set_dims(0, 511);
        }).find("`large` cannot be read: its dims need 2044 bytes, and it has 2048") != std::string::npos);
  CHECK(changed_weights([](onnx_pb::GraphProto& g) {
          g.mutable_initializer(0)->set_data_type(8);
        }).find("its elements are of string") != std::string::npos);
  // Of two initialisers of a name the later one counts.
  const std::string later = changed_weights([](onnx_pb::GraphProto& g) {
    auto& again = *g.add_initializer();
    again = g.initializer(0);
    const std::vector<float> threes(512, 3);
    again.set_raw_data(threes.data(), threes.size() * sizeof(float));
  });
  CHECK(later != values);
}

TEST_CASE("of two lists of bytes of a weight the last one counts, as for protobuf") {
  onnx_pb::ModelProto model = model_with_weights();
  const std::string weight = model.graph().initializer(0).SerializeAsString();
  model.mutable_graph()->mutable_initializer()->DeleteSubrange(0, 1);
  const std::string graph = model.graph().SerializeAsString();
  model.clear_graph();
  const std::string twice = bytes_field(5, weight + bytes_field(9, "123"));
  CHECK(read_and_run(model.SerializeAsString() + bytes_field(7, graph + twice))
            .find("`large` cannot be read: its dims need 2048 bytes, and it has 3") != std::string::npos);
}

TEST_CASE("a tensor's data is a file of the model's folder") {
  onnx_pb::ModelProto model;
  REQUIRE(model.ParseFromString(rldb::onnx::test::model_bytes(kSmall)));
  auto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_data_location(onnx_pb::TensorProto::EXTERNAL);
  auto& location = *w.add_external_data();
  location.set_key("location");
  const auto load = [&](const std::string& where) {
    location.set_value(where);
    const ModelFile file(model.SerializeAsString());
    const float data[] = {4, 5, 6};
    std::ofstream(file.folder() + "/w.bin", std::ios::binary).write(reinterpret_cast<const char*>(data), sizeof data);
    std::filesystem::create_symlink("/etc/hostname", file.folder() + "/link.bin");
    session::Session session;
    source::Diagnostics found;
    return session.load_file(file.path(), found) ? values_of(session, "1") : errors_of(found);
  };
  CHECK(load("w.bin") == "float32(2, 3) 4 5 6 4 5 6");
  CHECK(load("../w.bin").find("not a file of the model's folder") != std::string::npos);
  CHECK(load("/etc/hostname").find("not a file of the model's folder") != std::string::npos);
  CHECK(load("link.bin").find("a link to outside") != std::string::npos);
  CHECK(load("absent.bin").find("is not there") != std::string::npos);
}

TEST_CASE("of a file with the data of many tensors only a tensor's own part is read") {
  onnx_pb::ModelProto model;
  REQUIRE(model.ParseFromString(rldb::onnx::test::model_bytes(kSmall)));
  auto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_data_location(onnx_pb::TensorProto::EXTERNAL);
  const auto entry = [&](const std::string& key, std::uint64_t value) {
    auto& e = *w.add_external_data();
    e.set_key(key);
    e.set_value(std::to_string(value));
  };
  constexpr std::uint64_t kAt = std::uint64_t(1) << 36;  // the file has a hole: read as a whole it would fill memory
  entry("offset", kAt);
  entry("length", 3 * sizeof(float));
  auto& location = *w.add_external_data();
  location.set_key("location");
  location.set_value("w.bin");
  const auto load = [&](std::uint64_t size) {
    const ModelFile file(model.SerializeAsString());
    const std::string data = file.folder() + "/w.bin";
    const float numbers[] = {4, 5, 6};
    {
      std::ofstream out(data, std::ios::binary);
      out.seekp(std::streamoff(kAt));
      out.write(reinterpret_cast<const char*>(numbers), sizeof numbers);
    }
    std::filesystem::resize_file(data, size);
    session::Session session;
    source::Diagnostics found;
    return session.load_file(file.path(), found) ? values_of(session, "1") : errors_of(found);
  };
  CHECK(load(kAt + 4096) == "float32(2, 3) 4 5 6 4 5 6");
  CHECK(load(kAt + 8).find("its data ends after the end of its file") != std::string::npos);
  CHECK(load(kAt - 8).find("its data begins after the end of its file") != std::string::npos);
  CHECK(load(kAt + 4).find("its data ends") != std::string::npos);
}

TEST_CASE("a table shows the nodes that are refused for another reason than their operator") {
  const std::string bytes = rldb::onnx::test::model_bytes(
      "opset 18\n"
      "input x: float[2, m, m]\n"
      "input y: float[2, 3, 3]\n"
      "/a/Det: d = Det(x)\n"
      "/b/Det: e = Det(y)\n"
      "output d\n"
      "output e\n");
  source::Diagnostics found;
  const auto model = rldb::onnx::read_model("model.onnx", bytes, found);
  REQUIRE(model);
  std::vector<rldb::onnx::NodeRefusal> refusals;
  rldb::onnx::Options options;
  options.refusals = &refusals;
  ir::Context ctx;
  ops::install(ctx);
  CHECK(rldb::onnx::to_relax(ctx, model, {}, options, found) == nullptr);
  REQUIRE(refusals.size() == 1);
  CHECK(rldb::onnx::operator_table(*model, refusals) ==
        "Det                       18      2 refused, at least 1 of them (node /a/Det): the size of axis 2 of an "
        "operand must be known: it is R.Tensor((2, m, m), dtype=\"float32\")\n");
}
