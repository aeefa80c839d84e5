// Profile: where a run spent its time, moved bytes and held memory, by binding, by callee and by call path.
//
// A run is observed call by call: through the machine's hook (both VMs), or by the evaluator's watcher. Times are
// exclusive (`self_ns`: without what it called) and inclusive (`total_ns`; of recursive calls the outermost counts).
// Operations come from the TensorIR of a kernel with the dims of each call put in; bytes are those of the tensors that
// a call was given or returned, each once. Ranks have a profile each, whose clock stops while another rank runs.
// Kernels are compiled before the clock starts. Users: `:profile`, `rldb run --profile`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/session/group.h"
#include "rldb/session/session.h"

namespace rldb::debug {

enum class CallKind : std::uint8_t { Function, Kernel, Builtin, Packed };
std::string_view to_string(CallKind kind);

// The most that one thread of this machine can do per second; 0: not measured.
struct PeakRates {
  std::string cpu;
  double f32_operations = 0;
  double f64_operations = 0;
  double bytes = 0;
};
// Measured, or read from the folder, where the first measurement of this CPU is kept. Empty folder: always measured.
PeakRates peak_rates(const std::string& folder);

// The costs of a device as the user says, for the question what if. Those that are 0 were not given: no time.
struct DeviceCosts {
  runtime::Device device;
  double operations = 0, bytes = 0, link = 0;  // per second; link: bytes copied from and to it
  double latency_ns = 0;                       // of each call of a kernel, and of each copy
  bool used = false;                           // by the run that was profiled
};
// Each `sim:0,flops=10T,bytes=500G,link=16G,latency=5us`, with one cost or more.
ir::Result<std::vector<DeviceCosts>> parse_device_costs(const std::vector<std::string>& texts);

// Nanoseconds that calls would take, by what they would spend them on.
struct SimulatedTime {
  double operations = 0, memory = 0, link = 0, latency = 0;
  double measured = 0;  // calls that no costs were given for, as they were here
  double total() const { return operations + memory + link + latency + measured; }
  void add(const SimulatedTime& t) {
    operations += t.operations, memory += t.memory, link += t.link, latency += t.latency, measured += t.measured;
  }
};

struct ProfileCounts {
  std::uint64_t calls = 0;  // of a binding: of kernels and functions, or of builtins if it calls nothing else
  std::uint64_t builtin_calls = 0;
  std::uint64_t self_ns = 0;
  std::uint64_t total_ns = 0;
  double operations = 0;
  double bytes = 0;
  std::uint64_t costed_ns = 0;  // of self_ns: calls whose operations are known
  std::uint64_t moving_ns = 0;  // of self_ns: calls whose bytes are known
  double attainable_ns = 0;     // what the roofline allows the calls of costed_ns at best
  SimulatedTime simulated;      // with Profile::devices
};

struct ProfileRow {
  std::string name;  // of a binding `main:lv0 lv1` (fused ones together); of a callee its name
  CallKind kind = CallKind::Function;
  std::string function;              // of a binding: the function whose code it is
  std::vector<std::string> callees;  // of a binding: what it calls, without builtins if there is anything else
  std::string file;                  // empty: not known
  std::uint32_t line = 0;
  std::string node;     // of the ONNX model behind the module; empty: none
  std::string unknown;  // what the operations leave out
  ProfileCounts counts;
};

// A call path: the callee, called by this binding, below the parent's path. Recursive calls are folded into the
// outermost. Node 0 is the run.
struct ProfileNode {
  int parent = -1;
  int callee = -1;   // row of Profile::callees
  int binding = -1;  // row of Profile::bindings
  std::uint64_t calls = 0, self_ns = 0, total_ns = 0;
};

// One call; the outermost come after what they called.
struct ProfileSpan {
  std::uint64_t begin_ns = 0, length_ns = 0;
  int callee = -1, binding = -1;
  int shapes = -1;  // of Profile::shapes
};

struct MemoryPoint {
  std::uint64_t ns = 0;
  std::uint64_t bytes = 0;  // held by the run beyond what there was before it
};

struct Profile {
  std::string function;
  std::string engine;
  std::size_t rank = 0;
  std::size_t runs = 0;
  bool bounds_checked = false;
  std::uint64_t wall_ns = 0;
  std::uint64_t instructions = 0;  // 0: of the evaluator
  std::uint64_t calls = 0;         // observed
  std::uint64_t overhead_ns = 0;   // of observing them, by a measurement on this machine
  std::string stopped;             // why the run did not finish; empty: it did
  std::vector<ProfileRow> bindings;
  std::vector<ProfileRow> callees;
  std::vector<ProfileNode> tree;
  std::vector<ProfileSpan> spans;  // the first kMostSpans
  std::uint64_t spans_left_out = 0;
  std::vector<std::string> shapes;
  std::vector<MemoryPoint> memory;
  std::uint64_t peak_bytes = 0, peak_at_ns = 0;
  int peak_binding = -1;
  std::uint64_t arguments_bytes = 0;  // of the arguments
  PeakRates peaks;
  std::vector<runtime::DeviceUse> traffic;      // of devices other than the host, with the copies of the arguments
  std::vector<DeviceCosts> devices;             // what if they cost this
  std::vector<runtime::Device> kernel_devices;  // where engines ran kernels and keep their tensors
};
inline constexpr std::size_t kMostSpans = 200'000;

// With Profile::devices: of all calls, and of the copies that an engine makes which keeps tensors on a device.
SimulatedTime simulated_time(const Profile& profile);
SimulatedTime simulated_copies(const Profile& profile);

struct ProfileRequest {
  std::string function;
  std::vector<std::vector<runtime::Value>> arguments;  // by rank
  std::size_t runs = 1;
  PeakRates peaks;
  std::vector<DeviceCosts> devices;
};

// Runs the function of the session's program, on the session's engine, or on the group's ranks. A run that faults has a
// profile up to there, and is diagnosed. Empty: nothing ran, diagnosed. `results`: of the last run, by rank.
std::vector<Profile> profile_run(session::Session& session, session::Group* group, const ProfileRequest& request,
                                 std::vector<runtime::Value>& results, source::Diagnostics& out);

}  // namespace rldb::debug
