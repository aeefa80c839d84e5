// Devices with memory of their own, packed functions that call back, and functions of the module called by name: the
// same on every engine.
#include <doctest/doctest.h>

#include "rldb/session/session.h"

using namespace rldb;
using session::Engine;
using session::Session;

namespace {

struct Output : runtime::Output {
  void write(std::string_view text) override { all += text; }
  std::string all;
};

std::string problems(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& each : d.all()) text += each.message + "\n";
  return text;
}

struct Room {
  Output printed;
  std::unique_ptr<Session> session;
  explicit Room(Engine engine, session::Options options = {}) {
    options.engine = engine;
    session = std::make_unique<Session>(options, &printed);
  }
  std::string run(const std::string& text, const std::vector<std::string>& inputs) {
    source::Diagnostics d;
    if (!session->load_text("text", text, d)) return problems(d);
    auto args = session->arguments("main", inputs, d);
    if (!args) return problems(d);
    std::vector<runtime::Value> values;
    for (const session::Argument& a : *args) values.push_back(a.value);
    const session::RunResult result = session->run("main", values, d);
    return result.ok ? runtime::format_brief(result.value) : "failed: " + problems(d);
  }
};

constexpr Engine kEngines[] = {Engine::Eval, Engine::Vm, Engine::Jit};

const std::string kCopies = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0, "global")]})
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32", "llvm:0")):
        a = R.to_vdevice(x, "cuda:0")
        b = R.call_pure_packed("vm.builtin.copy", a, sinfo_args=(R.Tensor((4,), "float32", "cuda:0"),))
        R.call_packed("custom_inplace_update", a)
        return (x, a, b)
)";

}  // namespace

TEST_CASE("devices: a copy on another device is memory of its own") {
  for (const Engine engine : kEngines) {
    Room room(engine);
    const std::string got = room.run(kCopies, {"4xf32=zeros"});
    CAPTURE(got);
    CHECK(got.find("Tensor[(4,), \"float32\"]") != std::string::npos);
    CHECK(got.find("Tensor[(4,), \"float32\", \"cuda:0\"]") != std::string::npos);
    CHECK(got.find("[0. 0. 0. 0.]") != std::string::npos);
    CHECK(got.find("[1. 1. 1. 1.]") != std::string::npos);
    const auto uses = runtime::device_uses();
    REQUIRE(uses.size() == 1);
    CHECK(to_string(uses[0].device) == "cuda:0");
    CHECK(uses[0].copies_in == 1);
    CHECK(uses[0].bytes_in == 16);
    runtime::reset_device_traffic();
  }
}

TEST_CASE("devices: kernels run where their tensors are, and their results are there") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})
    @R.function
    def main(x: R.Tensor((2,), "float32", "cuda:1"), y: R.Tensor((2,), "float32", "llvm:0")):
        a = R.add(x, x)
        b = R.to_vdevice(a, "llvm:0")
        c = R.multiply(b, y)
        d = R.to_vdevice(c, "cuda:0")
        return (a, d, c)
)";
  for (const Engine engine : kEngines) {
    Room room(engine);
    const std::string got = room.run(text, {"2xf32=1,2", "2xf32=5,6"});
    CAPTURE(got);
    CHECK(got.find("\"cuda:1\"") != std::string::npos);
    CHECK(got.find("\"cuda:0\"") != std::string::npos);
    CHECK(got.find("[10. 24.]") != std::string::npos);
  }
}

TEST_CASE("devices: hints become copies, and determine where parameters are") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        w = R.multiply(x, x)
        y = R.hint_on_device(w, R.device(2, 0))
        z = R.add(y, y)
        o = R.hint_on_device(z, R.device(1, 0))
        p = R.add(o, o)
        return (z, p)
)";
  for (const Engine engine : kEngines) {
    Room room(engine);
    const std::string got = room.run(text, {"2xf32=1,2"});
    CAPTURE(got);
    CHECK(got.find("[0] Tensor[(2,), \"float32\", \"cuda:0\"] [2. 8.]") != std::string::npos);
    CHECK(got.find("[1] Tensor[(2,), \"float32\"]") != std::string::npos);
    CHECK(got.find("16.]") != std::string::npos);
  }
}

TEST_CASE("devices: a tensor of another device is refused, with both") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})
    @T.prim_func
    def add(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32"), C: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.block("b"):
                v = T.axis.spatial(2, i)
                C[v] = A[v] + B[v]
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0"), y: R.Tensor((2,), "float32", "cuda:0")):
        cls = M
        z = R.call_tir(cls.add, (x, y), R.Tensor((2,), "float32", "llvm:0"))
        return z
)";
  const std::string sorting = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})
    @R.function
    def main(x: R.Tensor((2,), "float32", "cuda:0")):
        z = R.call_pure_packed("testing.host", x, sinfo_args=(R.Tensor((2,), "float32", "cuda:0"),))
        return z
)";
  for (const Engine engine : kEngines) {
    Room room(engine);
    CHECK(room.run(text, {}) == "failed: `add`: argument 1 (`B`): it is on cuda:0, but argument 0 is on cpu\n");
    Room other(engine);
    other.session->registry().register_function(
        "testing.host", [](runtime::PackedArgs a) -> runtime::Result<runtime::Value> { return a[0]; });
    CHECK(other.run(sorting, {}) ==
          "failed: `testing.host`: argument 0 is on cuda:0, but the function computes on cpu\n");
  }
}

TEST_CASE("devices: what the host computes returns to the device, by copies that are counted") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})
    @R.function
    def main(x: R.Tensor((6,), "float32", "llvm:0")):
        y = R.to_vdevice(x, "cuda:0")
        u = R.unique(y, sorted=True, return_index=True, return_inverse=False, return_counts=False)
        z = R.nonzero(y)
        return (z, u)
)";
  for (const Engine engine : kEngines) {
    Room room(engine);
    runtime::reset_device_traffic();
    const std::string got = room.run(text, {"6xf32=1,2,0,2,1,0"});
    CAPTURE(got);
    CHECK(got.find("Tensor[(3,), \"float32\", \"cuda:0\"] [0. 1. 2.]") != std::string::npos);
    CHECK(got.find("Tensor[(1, 4), \"int64\", \"cuda:0\"] [[0 1 3 4]]") != std::string::npos);
    const auto uses = runtime::device_uses();
    REQUIRE(uses.size() == 1);
    CHECK(uses[0].copies_in == 4);
    CHECK(uses[0].bytes_in == 24 + 12 + 24 + 32);
    CHECK(uses[0].copies_out == 2);
    CHECK(uses[0].bytes_out == 48);
  }
  runtime::reset_device_traffic();
}

TEST_CASE("devices: an operator that is compiled when it runs works on one device") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})
    @R.function
    def main(x: R.Tensor("float32"), y: R.Tensor("float32")):
        a = R.to_vdevice(x, "cuda:0")
        b = R.OPERANDS
        return b
)";
  const auto with = [&](const std::string& operands) {
    std::string made = text;
    return made.replace(made.find("OPERANDS"), 8, operands);
  };
  for (const Engine engine : {Engine::Vm, Engine::Jit}) {
    Room room(engine);
    const std::string got = room.run(with("concat((a, a), axis=0)"), {"2xf32=1,2", "2xf32=3,4"});
    CHECK(got.find("Tensor[(4,), \"float32\", \"cuda:0\"] [1. 2. 1. 2.]") != std::string::npos);
    const std::string both = room.run(with("concat((a, y), axis=0)"), {"2xf32=1,2", "2xf32=3,4"});
    CAPTURE(both);
    CHECK(both.find("`rldb.call_operator`: one tensor is on cuda:0, another on cpu") != std::string::npos);
  }
}

TEST_CASE("devices: those of the options are the run's") {
  session::Options options;
  options.devices = *runtime::parse_devices("cpu,sim:0");
  for (const Engine engine : {Engine::Vm, Engine::Jit}) {
    Room room(engine, options);
    CHECK(room.run(kCopies, {"4xf32=zeros"}).find("there is no device cuda:0; the devices are cpu, sim:0") !=
          std::string::npos);
  }
}

TEST_CASE("devices: names") {
  CHECK(to_string(*runtime::parse_devices("cpu,sim:0,cuda:1,llvm")) == "cpu,sim:0,cuda:1,cpu");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu,,sim"})
    CHECK_FALSE(runtime::parse_devices(bad));
}

TEST_CASE("packed functions: a function of the module by its name") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def my_add(a: R.Tensor(dtype="float32"), b: R.Tensor(dtype="float32")) -> R.Tensor(dtype="float32"):
        return R.add(a, b)
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        y = R.call_packed("my_add", x, x, sinfo_args=(R.Tensor((2,), "float32"),))
        z = R.call_pure_packed("custom_add", y, x, sinfo_args=(R.Tensor((2,), "float32"),))
        return z
)";
  for (const Engine engine : kEngines) {
    Room room(engine);
    CHECK(room.run(text, {"2xf32=1,2"}) == "Tensor[(2,), \"float32\"] [3. 6.]");
    source::Diagnostics notes;
    room.session->report_helpers(notes);
    CHECK(problems(notes) == "`custom_add` is built into rldb for the examples of RFC 0089\n");
  }
}

TEST_CASE("packed functions: they call functions of the program") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def double(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(a, a)
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        cls = M
        y = R.call_packed("testing.twice", cls.double, x, sinfo_args=(R.Tensor((2,), "float32"),))
        return y
)";
  for (const Engine engine : kEngines) {
    Room room(engine);
    room.session->registry().register_function(
        "testing.twice", [](runtime::PackedArgs a) -> runtime::Result<runtime::Value> {
          RLDB_TRY(const runtime::Value once, a[0].as_function().native(a.subspan(1)));
          return a[0].as_function().native({&once, 1});
        });
    CHECK(room.run(text, {"2xf32=1,2"}) == "Tensor[(2,), \"float32\"] [4. 8.]");
  }
}

TEST_CASE("tail calls: recursion that is a loop does not end at the limit of frames") {
  const std::string text = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def even(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        cls = M
        done = R.equal(n, R.const(0, "int64"))
        if done:
            r = R.const(True, "bool")
        else:
            m = R.subtract(n, R.const(1, "int64"))
            r = cls.odd(m)
        return r
    @R.function
    def odd(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        cls = M
        done = R.equal(n, R.const(0, "int64"))
        if done:
            r = R.const(False, "bool")
        else:
            m = R.subtract(n, R.const(1, "int64"))
            r = cls.even(m)
        return r
    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        cls = M
        r = cls.even(n)
        return r
)";
  Room room(Engine::Jit);
  CHECK(room.run(text, {"i64=200001"}) == "Tensor[(), \"bool\"] False");
  CHECK(room.run(text, {"i64=-1"}).find("stack overflow") != std::string::npos);
  Room evaluator(Engine::Eval);
  CHECK(evaluator.run(text, {"i64=100002"}) == "Tensor[(), \"bool\"] True");
}
