// Profiles: what is counted, on each engine and kind of program, and that times add up.
#include "rldb/debug/profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "debug/helpers.h"
#include "debug/look/amount.h"
#include "debug/profile/collector.h"
#include "rldb/support/cpu.h"
#include "rldb/support/file.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

namespace {

std::vector<Profile> profile(Fixture& f, std::vector<Value> args, const char* function = "main", std::size_t runs = 1) {
  source::Diagnostics d;
  std::vector<Value> results;
  ProfileRequest request;
  request.function = function;
  request.arguments = {std::move(args)};
  request.runs = runs;
  request.peaks = {"a CPU", 1e9, 1e9, 1e9};
  auto profiles = profile_run(f.session, nullptr, request, results, d);
  INFO(text_of(d));
  REQUIRE(profiles.size() == 1);
  return profiles;
}

const ProfileRow& row(const std::vector<ProfileRow>& rows, std::string_view name) {
  const auto it = std::find_if(rows.begin(), rows.end(), [&](const ProfileRow& r) { return r.name == name; });
  REQUIRE_MESSAGE(it != rows.end(), std::string(name));
  return *it;
}

// Exclusive times of all rows and of the run itself are the whole time; inclusive ones are no longer than it.
void check_times(const Profile& p) {
  std::uint64_t callees = 0, paths = 0;
  for (const ProfileRow& r : p.callees) {
    callees += r.counts.self_ns;
    CHECK(r.counts.total_ns <= p.wall_ns);
    CHECK(r.counts.self_ns <= r.counts.total_ns + (r.counts.calls > 1 ? p.wall_ns : 0));
  }
  for (const ProfileNode& n : p.tree) paths += n.self_ns;
  CHECK(callees <= p.wall_ns);
  CHECK(paths <= p.wall_ns);
  CHECK(paths + p.wall_ns / 100 + 2000 >= p.wall_ns);
}

Value f32_matrix(std::int64_t rows, std::int64_t columns) {
  return f32({rows, columns}, std::vector<double>(std::size_t(rows * columns), 1.0));
}

}  // namespace

TEST_CASE("operations and bytes of kernels come from their loops and the dims of the call") {
  for (const session::Engine engine : {session::Engine::Vm, session::Engine::Jit, session::Engine::Eval}) {
    CAPTURE(std::string(to_string(engine)));
    Fixture f(kMlp);
    f.session.options().engine = engine;
    const Profile p = profile(f, {f32_matrix(5, 4), f32_matrix(4, 3)})[0];
    const ProfileRow& matmul = row(p.callees, "matmul");
    CHECK(matmul.kind == CallKind::Kernel);
    CHECK(matmul.counts.calls == 1);
    CHECK(matmul.counts.operations == 2 * 5 * 4 * 3);
    CHECK(matmul.counts.bytes == 4 * (5 * 4 + 4 * 3 + 5 * 3));
    CHECK(matmul.counts.attainable_ns == doctest::Approx(188.0));  // its bytes, at 1 GB/s
    CHECK(row(p.bindings, "main:lv").counts.operations == 2 * 5 * 4 * 3);
    CHECK(row(p.bindings, "main:lv").line == 8);
    CHECK(row(p.bindings, "main:lv").callees == std::vector<std::string>{"matmul"});
    CHECK(p.stopped.empty());
    check_times(p);
  }
}

TEST_CASE("runs are added up, and so are calls with other shapes") {
  Fixture f(kMlp);
  const Profile p = profile(f, {f32_matrix(2, 4), f32_matrix(4, 3)}, "main", 3)[0];
  CHECK(p.runs == 3);
  CHECK(row(p.callees, "relu").counts.calls == 3);
  CHECK(row(p.callees, "main").counts.calls == 3);
  CHECK(p.tree[0].calls == 3);
  check_times(p);
}

TEST_CASE("of recursive calls the outermost counts, and the paths stay few") {
  for (const session::Engine engine : {session::Engine::Vm, session::Engine::Eval}) {
    Fixture f(kRecursion);
    f.session.options().engine = engine;
    const Profile p = profile(f, {i64(50)}, "depth")[0];
    const ProfileRow& depth = row(p.callees, "depth");
    CHECK(depth.counts.calls == 51);
    CHECK(depth.counts.total_ns <= p.wall_ns);
    CHECK(p.tree.size() < 40);
    check_times(p);
  }
}

TEST_CASE("the time of callees is inclusive in the binding that calls them, exclusive in their own") {
  Fixture f(kCalls);
  const Profile p = profile(f, {f32({2}, {1, 2})})[0];
  const ProfileRow& y = row(p.bindings, "main:y");
  CHECK(y.counts.calls >= 1);
  CHECK(y.counts.total_ns > y.counts.self_ns);
  CHECK(row(p.callees, "double").counts.calls == 2);
  CHECK(row(p.bindings, "double:b").counts.operations == 4);  // two calls, two elements
  check_times(p);
}

TEST_CASE("a run that faults has a profile up to there") {
  Fixture f(kViolated);
  source::Diagnostics d;
  std::vector<Value> results;
  ProfileRequest request;
  request.function = "main";
  request.arguments = {{f32_matrix(2, 4), f32_matrix(3, 4)}};
  const auto profiles = profile_run(f.session, nullptr, request, results, d);
  REQUIRE(profiles.size() == 1);
  CHECK(d.has_errors());
  CHECK(profiles[0].stopped.find("mismatch") != std::string::npos);
  CHECK(row(profiles[0].callees, "add").counts.calls == 1);
  check_times(profiles[0]);
}

TEST_CASE("an executable without debug information is profiled by its instructions") {
  Fixture f(sum_loop());
  const Profile p = profile(f, {Value::of_int(10)})[0];
  CHECK(row(p.callees, "test.add").counts.calls == 10);
  CHECK(row(p.callees, "test.add").kind == CallKind::Packed);
  CHECK(row(p.callees, "test.less").counts.calls == 11);
  Fixture g(bare_recursion());
  CHECK(row(profile(g, {Value::of_int(7)})[0].callees, "depth").counts.calls == 16);
}

TEST_CASE("a Relay program: its primitives, and calls in tail position") {
  Fixture f(R"(#[version = "0.0.5"]
def @count(%i: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (equal(%i, 0)) { %x } else { @count(subtract(%i, 1), add(%x, 1f)) }
}
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { @count(20, %x) }
)");
  const Profile p = profile(f, {f32({4}, {1, 2, 3, 4})})[0];
  CHECK(p.stopped.empty());
  CHECK(row(p.callees, "count").counts.calls == 21);
  CHECK(row(p.callees, "main").counts.calls == 1);
  CHECK(std::any_of(p.callees.begin(), p.callees.end(),
                    [](const ProfileRow& r) { return r.kind == CallKind::Kernel && r.counts.calls == 20; }));
  CHECK(p.tree.size() < 100);
  check_times(p);
}

TEST_CASE("memory: the peak is what the run held beyond its arguments") {
  Fixture f(kMlp);
  const Profile p = profile(f, {f32_matrix(256, 4), f32_matrix(4, 3)})[0];
  CHECK(p.peak_bytes >= 256 * 3 * 4);
  CHECK(p.peak_bytes <= 8 * 256 * 3 * 4);
  REQUIRE(!p.memory.empty());
  std::uint64_t most = 0;
  for (const MemoryPoint& m : p.memory) most = std::max(most, m.bytes);
  CHECK(most == p.peak_bytes);
}

TEST_CASE("observing a call costs little") {
  const double cost = cost_of_observing();
  CHECK(cost > 0);
  CHECK(cost < 50'000);  // nanoseconds; sanitizers are slow
}

TEST_CASE("paths, spans and memory points are bounded") {
  Profile p;
  Collector c(p);
  const int f = c.add_callee("f", CallKind::Function), k = c.add_callee("k", CallKind::Kernel);
  c.begin_run();
  for (int i = 0; i < 5000; ++i) c.enter(f, -1, CallKind::Function);
  for (int i = 0; i < 300'000; ++i) {
    c.enter(k, -1, CallKind::Kernel);
    c.leave();
  }
  c.end_run();
  CHECK(p.tree.size() == 3);
  CHECK(p.spans.size() == kMostSpans);
  CHECK(p.spans_left_out == 300'000 + 5000 - kMostSpans);
  CHECK(p.callees[std::size_t(f)].counts.calls == 5000);
  CHECK(p.callees[std::size_t(f)].counts.total_ns <= p.wall_ns);
}

TEST_CASE("amounts are sums of products") {
  const Amount n = Amount::symbol("n"), m = Amount::symbol("m");
  Amount a = n * m * Amount(2);
  a += Amount(3);
  a += n * Amount(-1);
  CHECK(a.text() == "2*m*n - n + 3");
  CHECK(!a.number());
  Amount b = n;
  b += n * Amount(-1);
  CHECK(b.text() == "0");
  CHECK(*b.number() == 0);
  CHECK(*(Amount(6) * Amount(7)).number() == 42);
  Amount many;
  for (int i = 0; i < 100; ++i) many += Amount::symbol("x" + std::to_string(i));
  CHECK((many * many).text().size() < 200'000);
}

TEST_CASE("what a run would take on devices that cost what the user says") {
  constexpr const char* kText = R"(
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})
    @R.function
    def main(x: R.Tensor((1000,), "float32", "llvm:0")):
        a = R.to_vdevice(x, "cuda:0")
        b = R.add(a, a)
        c = R.to_vdevice(b, "llvm:0")
        return c
)";
  for (const session::Engine engine : {session::Engine::Vm, session::Engine::Jit}) {
    CAPTURE(std::string(to_string(engine)));
    Fixture f(kText);
    f.session.options().engine = engine;
    runtime::reset_device_traffic();
    source::Diagnostics d;
    std::vector<Value> results;
    ProfileRequest request;
    request.function = "main";
    request.arguments = {{f32({1000}, std::vector<double>(1000, 1.0))}};
    auto devices = parse_device_costs({"cuda:0,flops=1G,bytes=1G,link=1M,latency=1us"});
    REQUIRE(devices.ok());
    request.devices = *devices;
    const auto profiles = profile_run(f.session, nullptr, request, results, d);
    REQUIRE_MESSAGE(profiles.size() == 1, text_of(d));
    const Profile& p = profiles[0];
    const SimulatedTime all = simulated_time(p);
    CHECK(all.link == doctest::Approx(2 * 4e6));
    CHECK(all.latency == doctest::Approx(3000));  // a kernel and two copies
    CHECK(all.memory == doctest::Approx(8000));   // 8000 bytes take longer than 1000 additions
    CHECK(all.operations == 0);
    CHECK(simulated_copies(p).total() == 0);
    const SimulatedTime& b = row(p.bindings, "main:b").counts.simulated;
    CHECK(b.memory == doctest::Approx(8000));
    CHECK(b.latency == doctest::Approx(1000));
    REQUIRE(p.traffic.size() == 1);
    CHECK(p.traffic[0].copies_in == 1);
    CHECK(p.traffic[0].bytes_out == 4000);
  }
}

TEST_CASE("what if: kernels on a device of their own, and a device that nothing ran on") {
  constexpr const char* kText = R"(
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class M:
    @T.prim_func(s_tir=True, private=True)
    def on(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("b"):
                vi = T.axis.spatial(64, tx)
                B[vi] = A[vi] + T.float32(1)
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = M
        a = R.call_tir(cls.on, (x,), out_sinfo=R.Tensor((64,), "float32"))
        b = R.add(a, a)
        return b
)";
  Fixture f(kText);
  f.session.options().engine = session::Engine::Jit;
  f.session.options().kernel_engines["on"] = session::Engine::OpenCl;
  runtime::reset_device_traffic();
  source::Diagnostics d;
  std::vector<Value> results;
  ProfileRequest request;
  request.function = "main";
  request.arguments = {{f32({64}, std::vector<double>(64, 1.0))}};
  request.devices = *parse_device_costs({"opencl:0,latency=1ms", "sim:3,flops=1"});
  const auto profiles = profile_run(f.session, nullptr, request, results, d);
  if (text_of(d).find("OpenCL cannot be used") != std::string::npos) {
    MESSAGE("skipped: no OpenCL device");
    return;
  }
  REQUIRE_MESSAGE(profiles.size() == 1, text_of(d));
  const Profile& p = profiles[0];
  CHECK(row(p.bindings, "main:a").counts.simulated.latency == doctest::Approx(1e6));
  CHECK(row(p.bindings, "main:b").counts.simulated.latency == 0);
  CHECK(row(p.bindings, "main:b").counts.simulated.measured > 0);
  CHECK(simulated_copies(p).latency == doctest::Approx(2e6));  // one in, one out
  CHECK(p.devices[0].used);
  CHECK_FALSE(p.devices[1].used);
}

TEST_CASE("costs of devices are read, and refused with the reason") {
  const auto costs = parse_device_costs({"sim:1,flops=1.5T,latency=20us", "cpu,bytes=2e9"});
  REQUIRE(costs.ok());
  CHECK(to_string((*costs)[0].device) == "sim:1");
  CHECK((*costs)[0].operations == doctest::Approx(1.5e12));
  CHECK((*costs)[0].latency_ns == doctest::Approx(20'000));
  CHECK((*costs)[0].link == 0);
  CHECK((*costs)[1].bytes == doctest::Approx(2e9));
  const auto refused = [](std::vector<std::string> texts) {
    const auto read = parse_device_costs(texts);
    return read.ok() ? std::string() : read.error().text;
  };
  CHECK(refused({"gpu,flops=1T"}) == "`--simulate=gpu,flops=1T`: `gpu` is not a device");
  CHECK(refused({"sim:0"}) == "`--simulate=sim:0`: it states no costs");
  CHECK(refused({"sim:0,speed=3"}) ==
        "`--simulate=sim:0,speed=3`: `speed=3` is not one of flops=N, bytes=N, link=N or latency=TIME");
  for (const char* bad : {"0", "-1G", "nan", "inf", "1e999", "", "5X", "5GG", "G"})
    CHECK(refused({fmt::format("sim:0,flops={}", bad)}) ==
          fmt::format("`--simulate=sim:0,flops={}`: `{}` is not a rate above 0: expected one like 500G", bad, bad));
  CHECK(refused({"sim:0,latency=5"}) ==
        "`--simulate=sim:0,latency=5`: `5` is not a time above 0: expected one like 5us");
  for (const char* bad : {"0.5", "1e25", "1n", "1e-300n"})
    CHECK(
        refused({fmt::format("sim:0,flops={}", bad)}).ends_with("is out of range: rates are from 1 to 1e24 a second"));
  for (const char* bad : {"1.1e6s", "1e300s", "1e303ms", "2Ms", "1e-20s"})
    CHECK(
        refused({fmt::format("sim:0,latency={}", bad)}).ends_with("is out of range: times are from 1e-12 s to 1e6 s"));
  CHECK(parse_device_costs({"sim:0,flops=1,latency=1Ms"}).ok());
  CHECK(refused({"sim:0,flops=1,"}) == "`--simulate=sim:0,flops=1,`: a cost is missing after the last comma");
  CHECK(refused({"sim:0,flops=1,flops=2"}) == "`--simulate=sim:0,flops=1,flops=2`: `flops` is given twice");
  CHECK(refused({"sim:0,flops=1", "sim:0,bytes=1"}) == "`--simulate=sim:0,bytes=1`: the device is given twice");
}

TEST_CASE("the peak rates of this machine are possible ones, and are kept") {
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("rldb-peaks-{}", ::getpid());
  std::filesystem::create_directory(folder);
  // As another version measured them: they are not taken.
  CHECK(support::write_file(folder + "/peak_rates", fmt::format("{}\n1e9\n1e9\n8e13\n", support::cpu_model())).ok());
  const PeakRates rates = peak_rates(folder);
  CHECK(rates.bytes > 1e8);
  CHECK(rates.bytes < 1e13);  // not even a cache moves as much
  CHECK(peak_rates(folder).bytes == doctest::Approx(rates.bytes));
  std::filesystem::remove_all(folder);
}
