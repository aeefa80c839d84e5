// Smaller models, by the listing of each one that a change makes.
#include "rldb/onnx/smaller.h"

#include <doctest/doctest.h>

#include <sstream>

#include "onnx/model_text.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/text.h"

using namespace rldb;
using rldb::onnx::ModelChanges;
using rldb::onnx::ModelRef;

namespace {

// A model with the types of its values; its inputs have been 0, 1, 2, ... in a run.
struct Read {
  ir::Context ctx;
  ModelRef model;
  rldb::onnx::Seen seen;

  explicit Read(std::string_view text, const rldb::onnx::Tensors& of_run = {}) {
    ops::install(ctx);
    source::Diagnostics found;
    model = rldb::onnx::read_model("model.onnx", rldb::onnx::test::model_bytes(text), found);
    REQUIRE(model);
    model = rldb::onnx::to_reduce(model, {}, found);
    REQUIRE(model);
    const auto made = rldb::onnx::to_relax(ctx, model, {}, {}, found);
    REQUIRE(made);
    seen.values = rldb::onnx::seen_values(*made, of_run);
  }
};

// The lines of inputs, initialisers, nodes and outputs, without numbers of nodes.
std::string lines_of(const rldb::onnx::Model& model) {
  std::string text;
  std::istringstream listing(rldb::onnx::listing(model));
  for (std::string whole; std::getline(listing, whole);) {
    std::string_view line = support::trim(whole);
    if (line.starts_with("[")) line.remove_prefix(line.find(' ') + 1);
    const bool head =
        line.starts_with("onnx model") || line.starts_with("opset") || line == "graph" || line.starts_with("graph ");
    if (!line.empty() && !head) text += (text.empty() ? "" : "; ") + std::string(line);
  }
  return text;
}

// Of the changes that apply.
std::vector<std::string> results_of(const ModelChanges& changes) {
  std::vector<std::string> all;
  for (const auto& c : changes)
    if (const auto made = c.make(); made.model) all.push_back(lines_of(*made.model));
  return all;
}

using Texts = std::vector<std::string>;

runtime::Value numbers(std::vector<std::int64_t> shape) {
  auto made = runtime::Tensor::empty(std::move(shape), runtime::DType::Float(32));
  REQUIRE(made.ok());
  for (std::int64_t i = 0; i < (*made)->element_count(); ++i)
    runtime::store_double((*made)->data() + 4 * i, runtime::DType::Float(32), double(i));
  return runtime::Value(*made);
}

constexpr std::string_view kChain =
    "opset 17\n"
    "input x: float[2, 3]\n"
    "init w: float[3] = 1 2 3\n"
    "a = Mul(x, w)\n"
    "b = Relu(a)\n"
    "c = Softmax(b) {axis = 1}\n"
    "output c\n";

}  // namespace

TEST_CASE("smaller models: outputs of earlier nodes, the middle first") {
  Read r(kChain);
  CHECK(results_of(rldb::onnx::earlier_outputs(r.model, r.seen)) ==
        Texts{"input x: float[2, 3]; initializer w: float[3]; a = Mul(x, w); b = Relu(a); output b: float[2, 3]",
              "input x: float[2, 3]; initializer w: float[3]; a = Mul(x, w); output a: float[2, 3]"});
  r.seen.results = {"a"};
  CHECK(results_of(rldb::onnx::earlier_outputs(r.model, r.seen)).size() == 1);
}

TEST_CASE("smaller models: nodes become inputs") {
  Read r(kChain);
  CHECK(results_of(rldb::onnx::values_for_nodes(r.model, r.seen, 2)) ==
        Texts{"input b: float[2, 3]; c = Softmax(b) {axis = 1}; output c: ?"});
  CHECK(results_of(rldb::onnx::values_for_nodes(r.model, r.seen, 1)) ==
        Texts{"input a: float[2, 3]; b = Relu(a); c = Softmax(b) {axis = 1}; output c: ?",
              "input b: float[2, 3]; c = Softmax(b) {axis = 1}; output c: ?"});
}

TEST_CASE("smaller models: nodes that give shapes become initialisers") {
  Read r(
      "opset 17\n"
      "input x: float[2, 3]\n"
      "input y: float[6]\n"
      "s = Shape(x)\n"
      "z = Reshape(y, s)\n"
      "output z\n");
  CHECK(results_of(rldb::onnx::values_for_nodes(r.model, r.seen, 1)) ==
        Texts{"input y: float[6]; initializer s: int64[2]; z = Reshape(y, s); output z: ?"});
}

TEST_CASE("smaller models: an operand of the same type, attributes, constants") {
  Read r(kChain);
  CHECK(results_of(rldb::onnx::operands_for_nodes(r.model, r.seen)) ==
        Texts{"input x: float[2, 3]; b = Relu(x); c = Softmax(b) {axis = 1}; output c: ?",
              "input x: float[2, 3]; initializer w: float[3]; a = Mul(x, w); c = Softmax(a) {axis = 1}; output c: ?",
              "input x: float[2, 3]; initializer w: float[3]; a = Mul(x, w); b = Relu(a); output b: ?"});
  CHECK(results_of(rldb::onnx::fewer_attributes(r.model, r.seen)).back() ==
        "input x: float[2, 3]; initializer w: float[3]; a = Mul(x, w); b = Relu(a); c = Softmax(b); output c: ?");
  CHECK(results_of(rldb::onnx::fewer_constants(r.model, r.seen)) ==
        Texts{"input x: float[2, 3]; input w: float[3]; a = Mul(x, w); b = Relu(a); c = Softmax(b) {axis = 1}; "
              "output c: ?"});
}

TEST_CASE("smaller models: dims and their values become smaller together") {
  Read r(kChain, {{"x", numbers({2, 3})}});
  const ModelChanges changes = rldb::onnx::smaller_dims(r.model, r.seen);
  REQUIRE(!changes.empty());
  const auto made = changes[0].make();  // 3 becomes 1
  REQUIRE(made.model);
  CHECK(lines_of(*made.model) ==
        "input x: float[2, 1]; initializer w: float[1]; a = Mul(x, w); b = Relu(a); c = Softmax(b) {axis = 1}; output "
        "c: ?");
  const runtime::Tensor& x = made.inputs.at("x").as_tensor();
  CHECK(x.shape() == std::vector<std::int64_t>{2, 1});
  CHECK(x.at(1) == 3);
}

TEST_CASE("smaller models: symbols become numbers of a run") {
  Read r("opset 17\ninput x: float[n, 3]\ny = Relu(x)\noutput y\n", {{"x", numbers({2, 3})}});
  CHECK(results_of(rldb::onnx::fewer_symbols(r.model, r.seen)) ==
        Texts{"input x: float[2, 3]; y = Relu(x); output y: ?"});
}

TEST_CASE("smaller models: branches and functions in place of nodes") {
  Read branch(
      "opset 17\n"
      "input c: bool[]\n"
      "input x: float[2]\n"
      "graph yes\nt = Relu(x)\noutput t\nend\n"
      "graph no\ne = Neg(x)\noutput e\nend\n"
      "y = If(c) {then_branch = graph yes, else_branch = graph no}\n"
      "output y\n");
  CHECK(results_of(rldb::onnx::inlined_bodies(branch.model, branch.seen)) ==
        Texts{"input x: float[2]; y = Relu(x); output y: ?", "input x: float[2]; y = Neg(x); output y: ?"});
  Read function(
      "opset 17\nopset own 1\n"
      "input x: float[2]\n"
      "function own.Twice(a) -> b\nc = Relu(a)\nb = Add(c, c)\nend\n"
      "y = own.Twice(x)\n"
      "output y\n");
  CHECK(results_of(rldb::onnx::inlined_bodies(function.model, function.seen)) ==
        Texts{"input x: float[2]; y/c = Relu(x); y = Add(y/c, y/c); output y: ?"});
}

TEST_CASE("smaller models: files are read as they were written") {
  Read r(kChain);
  const auto bytes = rldb::onnx::model_file(*rldb::onnx::with_output_types(r.model, r.seen));
  REQUIRE(bytes.ok());
  source::Diagnostics found;
  const ModelRef back = rldb::onnx::read_model("back.onnx", *bytes, found);
  REQUIRE(back);
  CHECK(lines_of(*back) == lines_of(*rldb::onnx::with_output_types(r.model, r.seen)));
  const auto again = rldb::onnx::to_reduce(back, {}, found);
  REQUIRE(again);
  const auto same = rldb::onnx::model_file(*rldb::onnx::with_output_types(again, r.seen));
  REQUIRE(same.ok());
  CHECK(*same == *bytes);
  const auto file = rldb::onnx::tensor_file("x", numbers({2, 2}));
  REQUIRE(file.ok());
  const auto value = rldb::onnx::read_tensor(*file);
  REQUIRE(value.ok());
  CHECK(value->as_tensor().at(3) == 3);
}

TEST_CASE("smaller models: an operand of a node inside that gives a result of its graph") {
  Read r(
      "opset 17\n"
      "graph row\n"
      "input i: int64[]\n"
      "input on: bool[]\n"
      "input sum: float[2]\n"
      "next = Add(sum, x)\n"
      "go = Identity(on)\n"
      "output go: bool[]\n"
      "output next: float[2]\n"
      "end\n"
      "input x: float[2]\n"
      "input m: int64[]\n"
      "y = Loop(m, -, x) {body = graph row}\n"
      "output y\n");
  Texts inner;
  for (const std::string& text : results_of(rldb::onnx::operands_for_nodes(r.model, r.seen)))
    if (text.find("Loop") != std::string::npos) inner.push_back(text.substr(text.find("input i")));
  // `x` is a value of the graph around: it is not made a result.
  CHECK(
      inner ==
      Texts{
          "input i: int64[]; input on: bool[]; input sum: float[2]; go = Identity(on); output go: bool[]; output sum: "
          "float[2]; output y: ?",
          "input i: int64[]; input on: bool[]; input sum: float[2]; next = Add(sum, x); output on: bool[]; output "
          "next: float[2]; output y: ?"});
}
