// The example programs of docs/examples, run on every engine and compared with values computed here, in double, from
// the formulas and not with the program's own operators.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "rldb/session/session.h"

using namespace rldb;
using runtime::Value;
using session::Engine;
using session::Session;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view text) override { text_ += text; }
  std::string text_;
};

std::string example(const char* name) { return std::string(RLDB_SOURCE_DIR "/docs/examples/") + name; }

// Deterministic numbers in [-1, 1).
Value tensor(std::vector<std::int64_t> shape, unsigned salt) {
  auto t = runtime::Tensor::empty(std::move(shape), runtime::DType::Float(32));
  REQUIRE(t.ok());
  for (std::int64_t i = 0; i < (*t)->element_count(); ++i) {
    const double v = std::sin(double(i) * 12.9898 + salt * 78.233);
    runtime::store_double((*t)->data() + std::size_t(i) * 4, runtime::DType::Float(32), v);
  }
  return Value(std::move(t).value());
}

double at(const Value& v, std::int64_t i) { return v.as_tensor().at(i); }

// rows x inner times inner x columns
std::vector<double> matmul(const std::vector<double>& a, const std::vector<double>& b, std::size_t rows,
                           std::size_t inner, std::size_t columns) {
  std::vector<double> c(rows * columns, 0);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < columns; ++j) c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
  return c;
}

std::vector<double> numbers(const Value& v) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < v.as_tensor().element_count(); ++i) out.push_back(at(v, i));
  return out;
}

void check_close(const Value& got, const std::vector<double>& wanted) {
  REQUIRE(got.is(runtime::ValueKind::Tensor));
  REQUIRE(got.as_tensor().element_count() == std::int64_t(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(at(got, std::int64_t(i)) == doctest::Approx(wanted[i]).epsilon(1e-4));
}

void on_every_engine(const char* file, const char* function, const std::vector<Value>& args,
                     const std::function<void(const Value&)>& check) {
  for (const Engine engine : {Engine::Jit, Engine::Eval, Engine::Vm}) {
    CAPTURE(to_string(engine));
    Quiet quiet;
    session::Options options;
    options.engine = engine;
    Session session(options, &quiet);
    source::Diagnostics d;
    const bool loaded = session.load_file(example(file), d);
    REQUIRE_MESSAGE(loaded, source::render(d, session.sources()));
    const session::RunResult result = session.run(function, args, d);
    REQUIRE_MESSAGE(result.ok, source::render(d, session.sources()));
    check(result.value);
  }
}

}  // namespace

TEST_CASE("the MLP at batch 1, 7 and 0") {
  for (const std::int64_t n : {1, 7, 0}) {
    CAPTURE(n);
    const std::vector<Value> args{tensor({n, 4}, 1), tensor({4, 8}, 2), tensor({8}, 3), tensor({8, 3}, 4),
                                  tensor({3}, 5)};
    const auto rows = std::size_t(n);
    std::vector<double> h = matmul(numbers(args[0]), numbers(args[1]), rows, 4, 8);
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = std::max(0.0, h[i] + at(args[2], std::int64_t(i % 8)));
    std::vector<double> y = matmul(h, numbers(args[3]), rows, 8, 3);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += at(args[4], std::int64_t(i % 3));
    on_every_engine("mlp.py", "main", args, [&](const Value& v) {
      CHECK(v.as_tensor().shape() == std::vector<std::int64_t>{n, 3});
      check_close(v, y);
    });
  }
}

TEST_CASE("the attention block at length 1, 7 and 0") {
  for (const std::int64_t n : {1, 7, 0}) {
    CAPTURE(n);
    const auto rows = std::size_t(n);
    const std::vector<Value> args{tensor({n, 8}, 1), tensor({8, 8}, 2), tensor({8, 8}, 3),
                                  tensor({8, 8}, 4), tensor({8, 8}, 5), tensor({8}, 6)};
    const std::vector<double> x = numbers(args[0]);
    std::vector<double> h(x.size());
    for (std::size_t i = 0; i < rows; ++i) {
      double squares = 0;
      for (std::size_t j = 0; j < 8; ++j) squares += x[i * 8 + j] * x[i * 8 + j];
      for (std::size_t j = 0; j < 8; ++j)
        h[i * 8 + j] = x[i * 8 + j] / std::sqrt(squares / 8 + 1e-5) * at(args[5], std::int64_t(j));
    }
    const auto q = matmul(h, numbers(args[1]), rows, 8, 8);
    const auto k = matmul(h, numbers(args[2]), rows, 8, 8);
    const auto v = matmul(h, numbers(args[3]), rows, 8, 8);
    std::vector<double> mixed(x.size(), 0);
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t i = 0; i < rows; ++i) {
        std::vector<double> weights(rows);
        double total = 0;
        for (std::size_t j = 0; j < rows; ++j) {
          double score = 0;
          for (std::size_t c = 0; c < 4; ++c) score += q[i * 8 + head * 4 + c] * k[j * 8 + head * 4 + c];
          total += weights[j] = std::exp(score * 0.5);
        }
        for (std::size_t j = 0; j < rows; ++j)
          for (std::size_t c = 0; c < 4; ++c)
            mixed[i * 8 + head * 4 + c] += weights[j] / total * v[j * 8 + head * 4 + c];
      }
    std::vector<double> y = matmul(mixed, numbers(args[4]), rows, 8, 8);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
    on_every_engine("attention.py", "main", args, [&](const Value& got) { check_close(got, y); });
  }
}

TEST_CASE("RFC 0089, section 3: the user-facing module") {
  const std::vector<Value> args{tensor({2, 3}, 1), tensor({3, 4}, 2)};
  std::vector<double> y = matmul(numbers(args[0]), numbers(args[1]), 2, 3, 4);
  for (double& v : y) v = std::exp(v) + 1;  // custom_inplace_update adds one
  on_every_engine("rfc_user_facing.py", "relax_func", args, [&](const Value& v) { check_close(v, y); });
}

TEST_CASE("RFC 0089, D0: Relax, TensorIR and packed functions in one program") {
  const std::vector<Value> args{tensor({2, 3}, 1), tensor({3, 2}, 2)};
  const std::vector<double> c = matmul(numbers(args[0]), numbers(args[1]), 2, 3, 2);
  const std::vector<double> y{2 * c[0], 2 * c[1], 2 * c[0], 2 * c[1], 2 * c[2], 2 * c[3], 2 * c[2], 2 * c[3]};
  on_every_engine("rfc_cross_level.py", "relax_func", args, [&](const Value& v) { check_close(v, y); });
}

TEST_CASE("RFC 0089, D1: symbolic shapes, shapes as values, shapes known at run time only") {
  auto x = runtime::Tensor::empty({2, 2, 2}, runtime::DType::Float(32));
  REQUIRE(x.ok());
  const double data[] = {3, 1, 1, 2, 3, 3, 0, 2};
  for (std::size_t i = 0; i < 8; ++i) runtime::store_double((*x)->data() + i * 4, runtime::DType::Float(32), data[i]);
  const Value input(*x);
  on_every_engine("rfc_shapes.py", "shape_example", {input}, [&](const Value& v) {
    REQUIRE(v.is(runtime::ValueKind::Tuple));
    REQUIRE(v.as_tuple().fields.size() == 3);
    check_close(v.as_tuple().fields[0], {1, std::exp(1.0), std::exp(2.0), std::exp(3.0)});
    check_close(v.as_tuple().fields[1], {3, 1, 1, 2, 3, 3, 0, 2});
    CHECK(v.as_tuple().fields[2].as_shape() == std::vector<std::int64_t>{8});
  });
}

TEST_CASE("RFC 0089, D2: two dataflow blocks with an effect between them") {
  const std::vector<Value> args{tensor({1, 784}, 1), tensor({128, 784}, 2), tensor({128}, 3), tensor({128, 128}, 4)};
  std::vector<double> h(128), y(128);
  for (std::int64_t j = 0; j < 128; ++j) {
    double sum = at(args[2], j);
    for (std::int64_t k = 0; k < 784; ++k) sum += at(args[0], k) * at(args[1], j * 784 + k);
    h[std::size_t(j)] = std::max(0.0, sum) + 1;
  }
  for (std::int64_t j = 0; j < 128; ++j) {
    double sum = at(args[2], j);
    for (std::int64_t k = 0; k < 128; ++k) sum += h[std::size_t(k)] * at(args[3], j * 128 + k);
    y[std::size_t(j)] = sum;
  }
  for (const Engine engine : {Engine::Jit, Engine::Eval}) {
    Quiet quiet;
    session::Options options;
    options.engine = engine;
    Session session(options, &quiet);
    source::Diagnostics d;
    REQUIRE(session.load_file(example("rfc_dataflow.py"), d));
    const session::RunResult result = session.run("main", args, d);
    REQUIRE_MESSAGE(result.ok, source::render(d, session.sources()));
    REQUIRE(result.value.as_tensor().element_count() == 128);
    for (std::size_t j = 0; j < 128; ++j)
      CHECK(std::abs(at(result.value, std::int64_t(j)) - y[j]) < 1e-3 * (1 + std::abs(y[j])));
  }
}

TEST_CASE("RFC 0089, section 4.3: the running example, and its stages by name") {
  const std::vector<Value> args{tensor({2, 3}, 1)};
  std::vector<double> y;
  for (const double v : numbers(args[0])) y.push_back(std::exp(v));
  on_every_engine("rfc_build.py", "relax_function", args, [&](const Value& v) { check_close(v, y); });

  Quiet quiet;
  Session session({}, &quiet);
  source::Diagnostics d;
  REQUIRE(session.load_file(example("rfc_build.py"), d));
  const auto text = [&] { return ir::print(session.module()); };
  REQUIRE(session.run_passes("ToNonDataflow,RemovePurityChecking,CallTIRRewrite", d));
  CHECK(text().find("call_tir") == std::string::npos);  // C0: explicit allocation
  CHECK(text().find("R.builtin.alloc_tensor") != std::string::npos);
  REQUIRE(session.run_passes("StaticPlanBlockMemory,LowerAllocTensor,KillAfterLastUse", d));
  CHECK(text().find("R.memory.alloc_storage") != std::string::npos);
  CHECK(text().find("R.memory.kill_tensor") != std::string::npos);
  REQUIRE(session.run_passes("LowerRuntimeBuiltin,ComputePrimValue,VMShapeLower", d));
  CHECK(text().find("vm.builtin.alloc_shape_heap") != std::string::npos);  // C1: the shape heap
  CHECK(text().find("vm.builtin.match_shape") != std::string::npos);
}
