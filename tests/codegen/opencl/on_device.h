// Kernels in a text, run by the evaluator and by OpenCL on the same inputs: the basis of the tests of this room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rldb/codegen/opencl/opencl.h"
#include "rldb/eval/eval.h"
#include "rldb/source/diagnostic.h"

namespace rldb::codegen::testing {

// Whether there is a device. If not, says so once: tests that need one return.
bool has_device();

struct KernelText {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  std::vector<std::pair<std::string, const ir::PrimFunc*>> functions;
  std::string problem;

  explicit KernelText(std::string text);
};

struct OnDevice {
  std::map<std::string, std::int64_t> symbols;  // values of symbolic dimensions and integer scalars; others are 7
  double low = -4, high = 4;                    // of the inputs
  GpuOptions options;
};

// How the two engines compare.
struct Compared {
  enum class Verdict { Equal, Close, Different, Refused, BothFail, Fails, NotRun } verdict = Verdict::NotRun;
  std::string why;
};
Compared on_both(ir::Context& ctx, const ir::PrimFunc* f, const std::string& name, const OnDevice& how = {});
// Of a text with one kernel: empty if the values are equal bit for bit.
std::string same_on_device(const std::string& text, const OnDevice& how = {});
// The error's message and notes, or empty.
std::string device_error(const std::string& text, const OnDevice& how = {});
// Why the kernel is refused, before anything runs.
std::string refusal(const std::string& text);

}  // namespace rldb::codegen::testing
