// The rules that operators have by their class, for every row of the tables: a new operator is tested here without a
// line of test. Each is called on float tensors of one shape; what type inference refuses is left out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "repro/loaded.h"
#include "rldb/fusion/op_pattern.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op_class.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/op_info.h"
#include "rldb/repro/validate.h"

using namespace rldb;
using namespace rldb::repro_test;
using op::Class;
using runtime::Value;

namespace {

bool is_of(const ops::OpInfo& info, std::initializer_list<Class> classes) {
  const op::Row* row = op::find(info.name);
  return row && std::find(classes.begin(), classes.end(), op::class_of(row->id)) != classes.end();
}

constexpr std::initializer_list<Class> kByElement = {Class::Elementwise, Class::FloatFunction, Class::Predicate,
                                                     Class::Conversion,  Class::Broadcasting,  Class::Comparison,
                                                     Class::ChannelWise};

std::vector<const ops::OpInfo*> by_element() {
  std::vector<const ops::OpInfo*> out;
  for (const ops::OpInfo& info : ops::all())
    if (is_of(info, kByElement) && info.legalize) out.push_back(&info);
  return out;
}

// Of integers only.
bool is_of_bits(const ops::OpInfo& info) {
  return info.short_name().ends_with("_shift") || info.short_name().starts_with("bitwise_");
}

// `R.op(x, x, ...)`, with `operands` for the tensors; other arguments have a plain value.
std::string call_text(const ops::OpInfo& info, const std::vector<std::string>& operands,
                      std::string_view dtype = "float32") {
  std::string args;
  std::size_t next = 0;
  for (const ops::ParamInfo& p : info.params) {
    std::string value;
    if (p.is_attr && info.attrs[std::size_t(p.index)].type == ops::AttrType::DType &&
        info.attrs[std::size_t(p.index)].required)
      value = fmt::format("\"{}\"", dtype);
    else if (!p.is_attr && info.args[std::size_t(p.index)].kind == ops::ArgKind::Tensor)
      value = operands[std::min(next++, operands.size() - 1)];
    else if (!p.is_attr)
      value = p.name == "min" ? "0.2" : "0.9";
    else
      continue;
    args += (args.empty() ? "" : ", ") + value;
  }
  return fmt::format("R.{}({})", info.short_name(), args);
}

std::string module_text(std::string_view params, std::string_view result, const std::vector<std::string>& lines) {
  std::string body;
  for (const std::string& l : lines) body += "            " + l + "\n";
  return fmt::format(
      "@I.ir_module\nclass Module:\n    @R.function\n    def main({}){}:\n        with R.dataflow():\n{}            "
      "R.output(g)\n        return g\n",
      params, result, body);
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

struct Run {
  Quiet quiet;
  session::Session session{on_the_machine(), &quiet};
  source::Diagnostics d;

  bool load(const std::string& text) { return session.load_text("case.py", text, d); }
  bool passes(const std::string& pipeline) { return session.run_passes(pipeline, d); }
  std::string text() { return ir::print(session.module()); }
  std::string errors() const {
    std::string out;
    for (const source::Diagnostic& each : d.all()) out += each.message + "\n";
    return out;
  }
};

void check_same(Run& r, const ir::Module* before, std::string_view what) {
  const repro::Validation v = repro::validate_versions(r.session, before, r.session.module());
  CHECK_MESSAGE(v.difference.empty(), what, ": ", v.difference);
  CHECK_MESSAGE(v.compared.size() == 1, what, " was not compared");
}

int pattern_of(Class c) {
  using namespace fusion;
  static constexpr int kPatterns[] = {
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) pattern,
#include "rldb/ir/op/class.def"
  };
  return kPatterns[std::size_t(c)];
}

// ---- gradients ----

std::optional<double> value_of(session::Session& s, const std::vector<Value>& args) {
  source::Diagnostics d;
  const session::RunResult r = s.run("main", args, d);
  return r.ok ? std::optional(r.value.as_tensor().at(0)) : std::nullopt;
}

// Whether the gradients are what differences are; nullopt: the operator has no value there.
std::optional<std::string> gradient_fault(const ops::OpInfo& info, double from) {
  constexpr double kStep = 1e-5;
  Run r;
  const std::string call = call_text(info, {"x", "y", "z"}, "float64");
  std::string params;
  for (const std::string name : {"x", "y", "z"})
    if (call.find(name + ",") != call.npos || call.find(name + ")") != call.npos)
      params += (params.empty() ? "" : ", ") + name + ": R.Tensor((3,), \"float64\")";
  // Channels are the last axis.
  const std::string made = is_of(info, {Class::ChannelWise}) ? call.substr(0, call.size() - 1) + ", axis=0)" : call;
  if (!r.load(module_text(params, "", {"a = " + made, "g = R.sum(R.astype(a, \"float64\"))"}))) return std::string();
  const auto arguments = r.session.arguments("main", {}, r.d);
  REQUIRE(arguments);
  std::vector<Value> args;
  for (const session::Argument& a : *arguments) args.push_back(a.value);
  for (std::size_t k = 0; k < args.size(); ++k)
    for (int i = 0; i < 3; ++i)
      reinterpret_cast<double*>(args[k].as_tensor().data())[i] = from + 0.07 * i + 0.31 * double(k);
  const auto at = value_of(r.session, args);
  if (!at || !std::isfinite(*at)) return std::nullopt;
  if (!r.passes("Gradient(\"main\")"))
    return op::reason(op::Column::Gradient, info.name).empty() ? "is not differentiated: " + r.errors() : "";
  const session::RunResult adjoint = r.session.run("main_adjoint", args, r.d);
  if (!adjoint.ok) return r.errors();
  const Value& gradients = adjoint.value.as_tuple().fields[1];
  for (std::size_t k = 0; k < args.size(); ++k) {
    auto* data = reinterpret_cast<double*>(args[k].as_tensor().data());
    for (int i = 0; i < 3; ++i) {
      const double before = data[i];
      data[i] = before + kStep;
      const double up = *value_of(r.session, args);
      data[i] = before - kStep;
      const double down = *value_of(r.session, args);
      data[i] = before;
      const double wanted = (up - down) / (2 * kStep);
      const double got = gradients.as_tuple().fields[k].as_tensor().at(i);
      if (!(std::fabs(got - wanted) <= 1e-5 * (1 + std::fabs(wanted))))
        return fmt::format("operand {}, element {}: {} vs {}", k, i, got, wanted);
    }
  }
  return std::string();
}

}  // namespace

TEST_CASE("classes: the gradient of every operator on elements is what differences of values are") {
  for (const ops::OpInfo* info : by_element()) {
    if (is_of_bits(*info)) continue;
    int tried = 0;
    for (const double from : {0.23, -0.53, 1.41, 7.3}) {
      const auto fault = gradient_fault(*info, from);
      if (!fault) continue;
      ++tried;
      CHECK_MESSAGE(fault->empty(), info->name, " near ", from, ": ", *fault);
    }
    CHECK_MESSAGE(tried > 0, info->name, " has no value anywhere");
  }
}

TEST_CASE("classes: a layout passes through every operator on elements") {
  const std::string params =
      "x: R.Tensor((1, 4, 6, 6), \"float32\"), v: R.Tensor((4, 4, 3, 3), \"float32\"), w: R.Tensor((4, 4, 3, 3), "
      "\"float32\"), c: R.Tensor((4,), \"float32\")";
  std::size_t wanted = 0;
  const auto convert = [&](const ops::OpInfo& info) -> std::optional<std::size_t> {
    Run r;
    const bool channels = is_of(info, {Class::ChannelWise});
    const std::string call =
        call_text(info, channels ? std::vector<std::string>{"a", "c"} : std::vector<std::string>{"a"});
    const std::string on = channels ? call.substr(0, call.size() - 1) + ", axis=1)" : call;
    if (!r.load(module_text(params, "",
                            {"s = R.multiply(R.nn.conv2d(x, v), R.const(0.05, \"float32\"))",
                             fmt::format("a = R.astype(s, \"{}\")", is_of_bits(info) ? "int32" : "float32"),
                             "b = " + on, "e = R.astype(b, \"float32\")", "g = R.nn.conv2d(e, w)"})))
      return std::nullopt;
    const ir::Module* before = r.session.module();
    REQUIRE_MESSAGE(r.passes("ConvertLayout({\"relax.nn.conv2d\": [\"NHWC\", \"OHWI\"]})"), r.errors());
    const std::size_t moves = count(r.text(), "R.permute_dims(");
    check_same(r, before, info.name);
    return moves;
  };
  wanted = *convert(*ops::find("nn.relu"));
  for (const ops::OpInfo* info : by_element())
    if (const auto moves = convert(*info)) CHECK_MESSAGE(*moves == wanted, info->name, " is not followed");
}

TEST_CASE("classes: operators along axes follow the layout of their operand") {
  // Of `a`, (1, 4, 6, 6); the conversion of the operand and of the result of the last convolution is all that is left.
  const char* const lines[] = {
      "b = R.cumsum(a, axis=1)",
      "b = R.cumprod(a, axis=-1)",
      "b = R.sort(a, axis=1)",
      "b = R.astype(R.argsort(a, axis=2), \"float32\")",
      "t = R.topk(a, k=6, axis=-1)\nb = t[0]",
      "b = R.nn.pad(a, [0, 0, 0, 0, 1, 2, 3, 0])",
      "b = R.nn.pad(a, [0, 0, 0, 0, 1, 1, 2, 0], pad_mode=\"reflect\")",
      "t = R.nn.dropout(a)\nb = t[0]",
      "b = R.reverse_sequence(a, R.const([3], \"int64\"), seq_axis=2, batch_axis=0)",
      "b = R.take(a, R.const([3, 1, 0, 2], \"int64\"), axis=1)",
      "b = R.max(a, axis=[2], keepdims=True)",
      "b = R.astype(R.argmax(a, axis=1, keepdims=True), \"float32\")\nb = R.add(a, b)",
      "t = R.median(a, axis=[1], keepdims=True)\nm = t[0]\nb = R.add(a, m)",
      "b = R.where(R.greater(a, R.const(0.0, \"float32\")), a, R.zeros_like(a))",
      "b = R.ewise_fma(a, a, a)",
      "b = R.scatter_elements(a, R.astype(R.zeros_like(a), \"int64\"), a, axis=1)",
      "b = R.slice_scatter(a, a, 0, 6, 1, axis=2)",
      "b = R.image.resize2d(a, R.shape([8, 7]))",
      "b = R.image.grid_sample(a, R.multiply(y, R.const(0.3, \"float32\")))",
      "b = R.quantize(a, q, z, axis=1, out_dtype=\"int8\")\nb = R.dequantize(b, q, z, axis=1)",
      "b = R.ccl.allreduce(a)",
      "b = R.full_like(a, R.const(2.0, \"float32\"))",
  };
  for (const char* line : lines) {
    Run r;
    std::vector<std::string> body = {"a = R.nn.conv2d(x, v)"};
    for (std::string_view rest = line; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      body.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    body.push_back("g = R.nn.conv2d(b, w)");
    INFO(line);
    REQUIRE_MESSAGE(
        r.load(module_text("x: R.Tensor((1, 4, 8, 8), \"float32\"), v: R.Tensor((4, 4, 3, 3), \"float32\"), "
                           "w: R.Tensor((4, 4, 1, 1), \"float32\"), y: R.Tensor((1, 5, 4, 2), \"float32\"), "
                           "q: R.Tensor((4,), \"float32\"), z: R.Tensor((4,), \"int8\")",
                           "", body)),
        r.errors());
    const ir::Module* before = r.session.module();
    REQUIRE_MESSAGE(r.passes("ConvertLayout({\"relax.nn.conv2d\": [\"NHWC\", \"OHWI\"]})"), r.errors());
    CHECK_MESSAGE(count(r.text(), "R.permute_dims(") == 4, r.text());
    if (std::string_view(line).find("ccl") == std::string_view::npos) check_same(r, before, line);
  }
}

TEST_CASE("classes: convolutions and pooling of every number of dims take a requested layout") {
  struct Dims {
    const char *conv, *shape, *weights, *pool, *adaptive, *wanted;
  };
  const Dims all[] = {
      {"conv1d", "(2, 4, 9)", "(6, 4, 3)", "max_pool1d(a, pool_size=[2])", "adaptive_avg_pool1d(b, output_size=[3])",
       "[\"NWC\", \"WIO\"]"},
      {"conv3d", "(1, 4, 5, 6, 5)", "(6, 4, 3, 2, 2)", "avg_pool3d(a, pool_size=[2, 2, 1])",
       "adaptive_avg_pool3d(b, output_size=[1, 2, 2])", "[\"NDHWC\", \"DHWIO\"]"},
      {"conv1d_transpose", "(2, 4, 9)", "(4, 6, 3)", "avg_pool1d(a, pool_size=[2])",
       "adaptive_avg_pool1d(b, output_size=[3])", "[\"NWC\", \"WIO\"]"},
      {"conv3d_transpose", "(1, 4, 5, 6, 5)", "(4, 6, 3, 2, 2)", "max_pool3d(a, pool_size=[2, 2, 1])",
       "adaptive_avg_pool3d(b, output_size=[1, 2, 2])", "[\"NDHWC\", \"DHWOI\"]"},
  };
  for (const Dims& d : all) {
    INFO(d.conv);
    Run r;
    REQUIRE_MESSAGE(
        r.load(module_text(
            fmt::format("x: R.Tensor({}, \"float32\"), v: R.Tensor({}, \"float32\")", d.shape, d.weights), "",
            {fmt::format("a = R.nn.{}(x, v)", d.conv), fmt::format("b = R.nn.{}", d.pool),
             fmt::format("c = R.nn.{}", d.adaptive), "g = R.nn.relu(c)"})),
        r.errors());
    const ir::Module* before = r.session.module();
    REQUIRE_MESSAGE(r.passes(fmt::format("ConvertLayout({{\"relax.nn.{}\": {}}})", d.conv, d.wanted)), r.errors());
    CHECK_MESSAGE(count(r.text(), "R.permute_dims(") == 3, r.text());
    check_same(r, before, d.conv);
  }
}

TEST_CASE("classes: every operator on elements keeps the sharding of its operands") {
  ir::Context ctx;
  ops::install(ctx);
  const ir::Expr* dims[] = {ctx.i64(4), ctx.i64(6)};
  for (const ops::OpInfo* info : by_element()) {
    if (is_of(*info, {Class::ChannelWise})) continue;
    for (const ir::DType dtype : {ir::DType::Float(32), ir::DType::Int(32), ir::DType::Bool()}) {
      std::vector<const ir::Expr*> args;
      for (const ops::ArgInfo& a : info->args)
        args.push_back(a.kind == ops::ArgKind::Tensor
                           ? static_cast<const ir::Expr*>(
                                 ctx.var("x", ctx.dtensor(ctx.tensor(dims, dtype), ctx.attr("mesh[0]"), "S[1]")))
                           : ctx.float_imm(ir::DType::Float(32), 0.5));
      std::vector<ir::NamedAttr> attrs;
      for (const ops::AttrInfo& a : info->attrs)
        attrs.push_back(ctx.named(a.name, a.required ? ctx.attr(dtype) : ops::default_value(ctx, a)));
      const auto made = ctx.call(ir::CallSpec{ctx.op(info->name), args, attrs, {}});
      if (!made.ok()) {
        CHECK_MESSAGE(made.error().text.find("no rule") == std::string::npos, made.error().text);
        continue;
      }
      const auto* type = ir::as<ir::DTensorType>((*made)->type);
      REQUIRE_MESSAGE(type, info->name);
      CHECK_MESSAGE(type->placement == "S[1]", info->name);
    }
  }
}

TEST_CASE("classes: an operator that TVM overwrites an operand of may do so, and the values stay") {
  const std::string_view overwriting[] = {op::Add, op::Subtract, op::Multiply, op::Divide, op::NnSilu, op::NnRelu};
  for (std::string_view name : overwriting) CHECK(op::may_overwrite(op::find(name)->id));
  for (const ops::OpInfo* info : by_element()) {
    if (!op::may_overwrite(op::find(info->name)->id)) continue;
    Run r;
    const std::string_view dtype = is_of_bits(*info) ? "int32" : "float32";
    if (!r.load(module_text(fmt::format("x: R.Tensor((6,), \"{}\")", dtype), "",
                            {"a = R.abs(x)", "b = R.abs(a)", "g = " + call_text(*info, {"b", "x"})})))
      continue;
    const ir::Module* before = r.session.module();
    const auto* last = ir::as<ir::Function>(before->find("main"));
    const auto* type = ir::as<ir::TensorType>(last->ret_type);
    REQUIRE_MESSAGE(r.passes("DataflowUseInplaceCalls"), r.errors());
    if (type && to_string(type->dtype) == dtype)
      CHECK_MESSAGE(count(r.text(), "R.call_tir_inplace(") ==
                        std::count(std::begin(overwriting), std::end(overwriting), info->name),
                    info->name, ": ", r.text());
    check_same(r, before, info->name);
  }
}

TEST_CASE("classes: the kernel of an operator is at least as easy to fuse as its class says") {
  for (const ops::OpInfo* info : by_element()) {
    Run r;
    if (!r.load(module_text(
            "x: R.Tensor((4, 6), \"float32\"), c: R.Tensor((6,), \"float32\")", "",
            {"g = " + call_text(*info, is_of(*info, {Class::ChannelWise}) ? std::vector<std::string>{"x", "c"}
                                                                          : std::vector<std::string>{"x"})})))
      continue;
    REQUIRE_MESSAGE(r.passes("LegalizeOps,AnnotateTIROpPattern"), r.errors());
    const int bound = pattern_of(op::class_of(op::find(info->name)->id));
    const std::string text = r.text();
    const std::size_t at = text.find("\"op_pattern\": ");
    if (at == text.npos) continue;  // no kernel
    CHECK_MESSAGE(text[at + 14] - '0' <= bound, info->name, ": ", text);
  }
}
