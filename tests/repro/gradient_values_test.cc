// Gradients against finite differences: `main_adjoint` of small programs, element by element.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "repro/loaded.h"
#include "rldb/session/session.h"

using namespace rldb;
using namespace rldb::repro_test;
using runtime::Value;

namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-5;

struct Program {
  std::string_view params;  // of float64; others get no gradient
  std::string_view body;    // its last line binds `g`, a scalar
};

// Away from kinks: a step does not cross a point where a rule switches branches (the inputs are fixed).
const Program kPrograms[] = {
    {R"(x: R.Tensor((2, 3), "float64"), y: R.Tensor((3,), "float64"))",
     "g = R.sum(R.divide(R.multiply(R.add(x, y), x), R.add(R.exp(y), x)))"},
    {R"(x: R.Tensor((2, 3), "float64"), y: R.Tensor((2, 1), "float64"))",
     "g = R.sum(R.subtract(R.maximum(x, y), R.minimum(y, R.multiply(x, x))))"},
    {R"(x: R.Tensor((4,), "float64"), y: R.Tensor((4,), "float64"))", "g = R.sum(R.power(R.exp(x), y))"},
    {R"(x: R.Tensor((6,), "float64"))",
     "g = R.sum(R.add(R.multiply(R.sin(x), R.cos(x)), R.multiply(R.tanh(x), R.sigmoid(R.erf(R.abs(x))))))"},
    {R"(x: R.Tensor((6,), "float64"))",
     "p = R.add(R.square(x), R.const(1.0, \"float64\"))\n"
     "g = R.sum(R.negative(R.multiply(R.sqrt(p), R.multiply(R.rsqrt(p), R.log(p)))))"},
    {R"(x: R.Tensor((6,), "float64"))", "g = R.sum(R.multiply(R.clip(x, -0.4, 0.5), x))"},
    {R"(x: R.Tensor((2, 3, 4), "float64"))",
     "m = R.mean(x, axis=[1])\nv = R.variance(x, axis=[0, -1])\nw = R.variance(x, axis=[2], keepdims=True)\n"
     "g = R.add(R.sum(R.multiply(m, m)), R.add(R.sum(R.exp(v)), R.sum(R.multiply(w, x))))"},
    {R"(x: R.Tensor((2, 3, 4), "float64"))",
     "p = R.permute_dims(x, axes=[2, 0, 1])\nq = R.reshape(p, R.shape([8, 3]))\nr = R.expand_dims(q, axis=[1])\n"
     "s = R.squeeze(R.multiply(r, r), axis=[1])\nt = R.broadcast_to(s, R.shape([2, 8, 3]))\n"
     "g = R.sum(R.multiply(R.flatten(R.tril(t)), R.flatten(R.exp(t))))"},
    {R"(x: R.Tensor((6, 2), "float64"), y: R.Tensor((2, 2), "float64"))",
     "s = R.split(x, [1, 4], axis=0)\na = s[0]\nb = s[2]\nc = R.concat((a, y, b, a), axis=0)\ng = R.sum(R.multiply(c, "
     "R.multiply(c, c)))"},
    {R"(x: R.Tensor((2, 3, 4), "float64"), w: R.Tensor((4, 5), "float64"), v: R.Tensor((5,), "float64"), u: R.Tensor((3,), "float64"))",
     "a = R.matmul(x, w)\nb = R.matmul(a, v)\nc = R.matmul(u, a)\nd = R.matmul(v, v)\n"
     "g = R.add(R.sum(R.multiply(b, b)), R.add(R.sum(R.sin(c)), d))"},
    {R"(x: R.Tensor((4, 3), "float64"), i: R.Tensor((2,), "int64"))",
     "t = R.take(x, R.const([1, 3], \"int64\"), axis=0)\ng = R.sum(R.multiply(t, t))"},
    {R"(x: R.Tensor((3, 4), "float64"), y: R.Tensor((3, 4), "float64"))",
     "a = R.nn.softmax(x, axis=0)\nb = R.nn.log_softmax(y)\ng = R.add(R.sum(R.multiply(a, x)), "
     "R.nn.cross_entropy_with_logits(b, y))"},
    {R"(x: R.Tensor((3, 4), "float64"))",
     "a = R.nn.relu(x)\nb = R.nn.leakyrelu(x, alpha=0.2)\nc = R.nn.silu(x)\nd = R.nn.gelu(x)\n"
     "g = R.sum(R.add(R.multiply(a, x), R.add(R.multiply(b, c), R.multiply(d, x))))"},
    {R"(x: R.Tensor((1, 2, 7, 6), "float64"), w: R.Tensor((3, 2, 3, 2), "float64"))",
     "c = R.nn.conv2d(x, w, strides=[2, 1], padding=[1, 0, 2, 1])\ng = R.sum(R.multiply(c, c))"},
    {R"(x: R.Tensor((2, 4, 5, 5), "float64"), w: R.Tensor((6, 2, 3, 2), "float64"))",
     "c = R.nn.conv2d(x, w, groups=2, strides=[1, 2], padding=[1, 1])\ng = R.sum(R.multiply(c, c))"},
    {R"(x: R.Tensor((1, 2, 7, 7), "float64"), w: R.Tensor((3, 2, 2, 3), "float64"))",
     "c = R.nn.conv2d(x, w, dilation=[2, 2], padding=[1, 1])\ng = R.sum(R.multiply(c, c))"},
    {R"(x: R.Tensor((3, 4), "float64"))",
     "a = R.cumsum(x, axis=-1)\nb = R.cumsum(x)\nc = R.cumsum(x, axis=0, dtype=\"float64\")\n"
     "g = R.add(R.sum(R.multiply(a, c)), R.sum(R.multiply(b, b)))"},
    {R"(x: R.Tensor((2, 4, 6, 5), "float64"), w: R.Tensor((6, 2, 3, 2), "float64"))",
     "c = R.nn.conv2d(x, w, strides=[2, 1], padding=[1, 0, 2, 1], groups=2)\ng = R.sum(R.multiply(c, c))"},
    {R"(x: R.Tensor((1, 4, 6, 7), "float64"), w: R.Tensor((4, 1, 2, 2), "float64"))",
     "c = R.nn.conv2d(x, w, dilation=[1, 2], groups=4)\ng = R.sum(R.multiply(c, c))"},
    {R"(x: R.Tensor((2, 3, 2), "float64"))",
     "a = R.cumsum(x, axis=1)\nb = R.cumsum(x, axis=-1, exclusive=True)\nc = R.reshape(R.cumsum(x), R.shape([2, 3, "
     "2]))\n"
     "d = R.reshape(R.cumsum(R.sin(x), exclusive=True), R.shape([2, 3, 2]))\n"
     "g = R.sum(R.multiply(R.multiply(a, b), R.multiply(c, d)))"},
    {R"(x: R.Tensor((1, 2, 5, 6), "float64"))",
     "a = R.nn.avg_pool2d(x, pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 1], ceil_mode=True)\n"
     "b = R.nn.avg_pool2d(x, pool_size=[3, 2], strides=[2, 2], padding=[1, 1, 1, 1], ceil_mode=True, "
     "count_include_pad=True)\n"
     "c = R.nn.avg_pool2d(x, pool_size=[2, 2], strides=[2, 1], dilation=[2, 3], padding=[1, 1, 1, 1])\n"
     "d = R.nn.avg_pool2d(x, pool_size=[2, 3], layout=\"NHWC\", padding=[0, 1, 1, 0])\n"
     "g = R.add(R.add(R.sum(R.multiply(a, a)), R.sum(R.multiply(b, b))), R.add(R.sum(R.multiply(c, c)), "
     "R.sum(R.exp(d))))"},
    {R"(x: R.Tensor((1, 2, 5, 6), "float64"))",
     "a = R.nn.max_pool2d(x, pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 1], ceil_mode=True)\n"
     "b = R.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 1], dilation=[2, 3], padding=[1, 1, 1, 1])\n"
     "g = R.add(R.sum(R.multiply(a, a)), R.sum(R.exp(b)))"},
    {R"(x: R.Tensor((2, 3, 4), "float64"), y: R.Tensor((3, 1), "float64"))",
     "a = R.sum(x, axis=[0, -1])\nb = R.mean(x, axis=[-2], keepdims=True)\nc = R.concat((x, x), axis=-1)\n"
     "s = R.split(c, 2, axis=-1)\nd = s[1]\nw = R.where(R.greater(x, y), x, y)\nu = R.maximum(y, x)\n"
     "g = R.add(R.add(R.sum(R.multiply(a, a)), R.sum(R.multiply(b, d))), R.sum(R.multiply(R.exp(w), u)))"},
    {R"(x: R.Tensor((2, 1, 3, 2), "float64"), y: R.Tensor((4, 2, 3), "float64"))",
     "a = R.matmul(x, y)\nb = R.permute_dims(a, axes=[-1, 0, 1, -2])\ng = R.sum(R.multiply(b, b))"},
    {R"(x: R.Tensor((3, 4), "float64"))",
     "t = R.take(x, R.const([1, 3, 1], \"int64\"), axis=-1)\nf = R.take(R.flatten(x), R.const([5, 5], \"int64\"))\n"
     "s = R.triu(R.nn.softmax(x, axis=0), k=1)\ng = R.add(R.sum(R.multiply(t, t)), R.add(R.sum(R.exp(f)), "
     "R.sum(R.multiply(s, x))))"},
    {R"(x: R.Tensor((3, 4), "float64"))",
     "a = R.take(x, R.const([2, 5, -3], \"int64\"), axis=-1, mode=\"clip\")\n"
     "b = R.take(x, R.const([[-1, 3], [1, 7]], \"int32\"), axis=0, mode=\"wrap\")\n"
     "c = R.take(x, R.const([0, -1], \"int64\"), axis=0, mode=\"nan\")\nd = R.multiply(R.take(x, R.const(1, "
     "\"int64\"), axis=1), R.take(R.flatten(x), 2))\n"
     "g = R.add(R.add(R.sum(R.multiply(a, a)), R.sum(R.exp(b))), R.add(R.sum(R.sin(c)), R.sum(R.multiply(d, d))))"},
    {R"(x: R.Tensor((3, 4, 2), "float64"), w: R.Tensor((4,), "float32"), t: R.Tensor((3, 2), "int64"))",
     "p = R.nn.log_softmax(x, axis=1)\nt = R.const([[0, 3], [1, 1], [2, 0]], \"int64\")\n"
     "v = R.const([0.5, 2.0, 1.0, 3.0], \"float64\")\na = R.nn.nll_loss(p, t, v, reduction=\"mean\", ignore_index=1)\n"
     "b = R.nn.nll_loss(p, t, reduction=\"sum\")\nc = R.nn.nll_loss(p, t, v, reduction=\"none\")\n"
     "g = R.add(R.add(a, b), R.sum(R.multiply(c, c)))"},
    {R"(x: R.Tensor((1, 2, 4, 4), "float64"))",
     "c = R.nn.avg_pool2d(x, pool_size=[2, 2], strides=[2, 2])\ng = R.sum(R.multiply(c, c))"},
    {R"(x: R.Tensor((3,), "float64"), t: R.Tuple(R.Tensor((3,), "float64"), R.Tensor((3,), "float64")))",
     "a = t[0]\nu = (a, x)\nb = u[0]\ng = R.sum(R.multiply(b, R.multiply(a, x)))"},
    {R"(x: R.Tensor((3,), "float64"))",
     "s = R.grad.start_checkpoint(x)\na = R.sin(s)\nb = R.exp(a)\ne = R.grad.end_checkpoint(b)\ng = "
     "R.sum(R.multiply(e, a))"},
};

std::string text_of(const Program& p) {
  std::string body;
  for (const char c : p.body) body += c == '\n' ? std::string("\n            ") : std::string(1, c);
  return fmt::format(
      "@I.ir_module\nclass Module:\n    @R.function\n    def main({}) -> R.Tensor((), \"float64\"):\n"
      "        with R.dataflow():\n            {}\n            R.output(g)\n        return g\n",
      p.params, body);
}

std::string errors(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& each : d.all()) text += each.message + "\n";
  return text;
}

// Every tensor below a value, in order.
void tensors_of(const Value& v, std::vector<Value>& out) {
  if (v.is(runtime::ValueKind::Tensor)) out.push_back(v);
  if (!v.is(runtime::ValueKind::Tuple)) return;
  for (const Value& field : v.as_tuple().fields) tensors_of(field, out);
}

double run_main(session::Session& s, const std::vector<Value>& args) {
  source::Diagnostics d;
  const session::RunResult r = s.run("main", args, d);
  REQUIRE_MESSAGE(r.ok, errors(d));
  return r.value.as_tensor().at(0);
}

}  // namespace

TEST_CASE("gradients are what differences of values are") {
  for (const Program& p : kPrograms) {
    Quiet quiet;
    session::Options options;
    options.engine = session::Engine::Eval;
    session::Session s(options, &quiet);
    source::Diagnostics d;
    const std::string text = text_of(p);
    INFO(text);
    REQUIRE_MESSAGE(s.load_text("case.py", text, d), errors(d));
    const auto made = s.arguments("main", {}, d);
    REQUIRE_MESSAGE(made, errors(d));
    REQUIRE_MESSAGE(s.run_passes("Gradient(\"main\")", d), errors(d));
    std::vector<Value> args, inputs, gradients;
    for (const session::Argument& a : *made) args.push_back(a.value);
    for (const Value& a : args) tensors_of(a, inputs);
    const session::RunResult r = s.run("main_adjoint", args, d);
    REQUIRE_MESSAGE(r.ok, errors(d));
    tensors_of(r.value, gradients);
    REQUIRE(gradients.size() == inputs.size() + 1);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const runtime::Tensor& x = inputs[k].as_tensor();
      const runtime::Tensor& got = gradients[k + 1].as_tensor();
      REQUIRE(got.shape() == x.shape());
      if (!x.dtype().is_float()) continue;
      auto* at = reinterpret_cast<double*>(x.data());
      for (std::int64_t i = 0; i < x.element_count(); ++i) {
        const double before = at[i];
        at[i] = before + kStep;
        const double up = run_main(s, args);
        at[i] = before - kStep;
        const double down = run_main(s, args);
        at[i] = before;
        const double wanted = (up - down) / (2 * kStep);
        CHECK_MESSAGE(std::fabs(got.at(i) - wanted) <= kTolerance * (1 + std::fabs(wanted)), "input ", k, ", element ",
                      i, ": ", got.at(i), " against ", wanted);
      }
    }
  }
}
