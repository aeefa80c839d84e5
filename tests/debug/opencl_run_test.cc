// Stopped runs whose kernels run on a device: each state, forward and backward, is the evaluator's; values of the
// device are copied only when they are looked at.
#include "debug/helpers.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/runtime/tensor_place.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

namespace {

// Results that are written in place, seen through another shape, read by the host, and kept in memory that is used
// again.
constexpr const char* kOnDevice = R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True, private=True)
    def add(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("b"):
                i = T.axis.spatial(64, tx)
                B[i] = A[i] + T.float32(1)

    @T.prim_func(s_tir=True, private=True)
    def scale(A: T.Buffer((64,), "float32")):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("b"):
                i = T.axis.spatial(64, tx)
                A[i] = A[i] * T.float32(2)

    @T.prim_func(s_tir=True, private=True)
    def turn(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for ty in T.thread_binding(8, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                with T.sblock("b"):
                    i, j = T.axis.remap("SS", [ty, tx])
                    B[i, j] = A[j, i]

    @T.prim_func(s_tir=True, private=True)
    def large(A: T.Buffer((8, 8), "float32"), B: T.Buffer((), "bool")):
        for tx in T.thread_binding(1, thread="threadIdx.x"):
            with T.sblock("b"):
                i = T.axis.spatial(1, tx)
                B[()] = T.float32(10) < A[i, i]

    @R.function(pure=False)
    def main(x: R.Tensor((64,), "float32")) -> R.Tensor((8, 8), "float32"):
        cls = Module
        a = R.call_tir(cls.add, (x,), out_sinfo=R.Tensor((64,), "float32"))
        b = R.call_tir_inplace(cls.scale, (a,), out_sinfo=R.Tensor((64,), "float32"), inplace_indices=[0])
        c = R.call_tir(cls.add, (b,), out_sinfo=R.Tensor((64,), "float32"))
        d = R.call_pure_packed("vm.builtin.reshape", c, R.shape([8, 8]), sinfo_args=(R.Tensor((8, 8), "float32"),))
        e = R.call_tir(cls.turn, (d,), out_sinfo=R.Tensor((8, 8), "float32"))
        _ = R.print(e, format="e is {}")
        h = R.call_tir(cls.large, (e,), out_sinfo=R.Tensor((), "bool"))
        if h:
            f = R.call_tir(cls.turn, (e,), out_sinfo=R.Tensor((8, 8), "float32"))
        else:
            f = e
        g = R.call_tir(cls.turn, (f,), out_sinfo=R.Tensor((8, 8), "float32"))
        return g
)";

Value up_to_63() {
  std::vector<double> numbers(64);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = double(i);
  return f32({64}, numbers);
}

bool has_opencl() {
  static const bool has = [] {
    Fixture f(kOnDevice);
    f.session.options().engine = session::Engine::OpenCl;
    source::Diagnostics d;
    const std::vector<Value> args{up_to_63()};
    f.debugger.start("main", args, true, d);
    if (text_of(d).find("OpenCL cannot be used") == std::string::npos) return true;
    MESSAGE("skipped: no OpenCL device");
    return false;
  }();
  return has;
}

// Of each instruction, to the end and back to the start.
std::vector<std::string> device_states(session::Engine engine) {
  Fixture f(kOnDevice);
  f.session.options().engine = engine;
  f.start({up_to_63()});
  std::vector<std::string> all{f.state()};
  StopReport r;
  for (int i = 0; i < 500 && r.kind != StopKind::Finished; ++i) {
    r = f.debugger.step_instruction();
    all.push_back(r.kind == StopKind::Finished ? testing::show(r.value) : f.state());
  }
  REQUIRE(r.kind == StopKind::Finished);
  for (int i = 0; i < 500 && f.debugger.last_stop().time > 0; ++i) {
    f.debugger.reverse_step_instruction();
    all.push_back(f.state());
    if (f.debugger.last_stop().kind == StopKind::HistoryEnd) break;
  }
  all.push_back(f.output.text);
  return all;
}

std::string place_in(Fixture& f, const char* name) {
  for (const LocalInfo& l : f.debugger.locals(0))
    if (l.name == name && l.live) return runtime::place_of(l.value);
  return "none";
}

std::size_t device_copies() {
  std::size_t all = 0;
  for (const runtime::DeviceUse& use : runtime::device_uses()) all += use.copies_in + use.copies_out;
  return all;
}

void run_to(Fixture& f, const char* place) {
  source::Diagnostics d;
  f.debugger.until(place, d);
  REQUIRE_MESSAGE(!d.has_errors(), text_of(d));
}

}  // namespace

TEST_CASE("opencl: every state of a run is the evaluator's, there and back") {
  if (!has_opencl()) return;
  for (const std::size_t shared_from : {std::size_t(1), std::size_t(64 * 1024)}) {
    CAPTURE(shared_from);
    runtime::set_shared_from(shared_from);
    const auto expected = device_states(session::Engine::Vm), got = device_states(session::Engine::OpenCl);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == expected[i]);
  }
  runtime::set_shared_from(64 * 1024);
}

TEST_CASE("opencl: a stopped run copies what is looked at, and continues with what is set") {
  if (!has_opencl()) return;
  runtime::set_shared_from(1);  // checkpoints copy nothing
  Fixture f(kOnDevice);
  f.session.options().engine = session::Engine::OpenCl;
  f.start({up_to_63()});
  runtime::reset_device_traffic();
  run_to(f, "main:e");
  CHECK(place_in(f, "x") == "cpu and opencl:0");
  CHECK(place_in(f, "d") == "opencl:0");
  CHECK(device_copies() == 1);
  CHECK(f.print("d[0, :3]") == "[3. 5. 7.]");
  CHECK(place_in(f, "d") == "cpu and opencl:0");
  CHECK(device_copies() == 2);
  source::Diagnostics d;
  REQUIRE_MESSAGE(f.debugger.assign("d[0, 1]", "50", 0, d), text_of(d));
  CHECK(place_in(f, "d") == "cpu");
  run_to(f, "main:h");
  CHECK(f.print("e[:3, 0]") == "[ 3. 50.  7.]");
  const StopReport r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Finished);
  f.debugger.go_to(0);
  run_to(f, "main:h");
  CHECK(f.print("e[:3, 0]") == "[ 3. 50.  7.]");
  runtime::set_shared_from(64 * 1024);
}

TEST_CASE("opencl: stepping into a kernel continues on the evaluator with the values of the device") {
  if (!has_opencl()) return;
  Fixture f(kOnDevice);
  f.session.options().engine = session::Engine::OpenCl;
  f.start({up_to_63()});
  run_to(f, "main:e");
  f.debugger.step_statement(1);
  REQUIRE(f.debugger.kernel_position());
  CHECK(f.print("A[1, 0]") == "19.0");
  f.debugger.finish();
  run_to(f, "main:h");
  CHECK(f.print("e[0, 1]") == "19.0");
  CHECK(f.debugger.resume().kind == StopKind::Finished);
}
