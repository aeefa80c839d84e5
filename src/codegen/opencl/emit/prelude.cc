// The functions that the code needs, and what they report.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/opencl/emit/emitter.h"

namespace rldb::codegen {

// `$` in the text is the name.
const std::string& Emitter::helper(const std::string& name, const std::string& text) {
  const auto [it, fresh] = helper_names_.emplace(name, name);
  if (fresh) {
    std::string full = "static " + text;
    full.replace(full.find('$'), 1, name);
    helpers_.push_back(std::move(full));
  }
  return it->second;
}

void Emitter::argument(LaunchArgument a) {
  if (!launch_) return;
  for (const LaunchArgument& known : launch_->arguments)
    if (known.kind == a.kind && known.var == a.var) return;
  launch_->arguments.push_back(a);
}

// The record of faults: [0] the least number of a thread that has a fault; [1] the site that the thread asked for has
// reached, from 1; [2] whether a number that was looked for was written; from [4], three numbers of 64 bits.
std::string Emitter::faults() {
  helper("rldb_fault",
         R"(inline long $(volatile __global uint* f, uint only, uint me, uint site, long a, long b, long c) {
  if (only == 0xffffffffu) {
    atomic_min(f, me);
  } else if (only == me && f[1] == 0) {
    volatile __global long* numbers = (volatile __global long*)(f + 4);
    f[1] = site;
    numbers[0] = a;
    numbers[1] = b;
    numbers[2] = c;
  }
  return -1;
})");
  argument({LaunchArgument::Kind::Fault, nullptr});
  return "rldb_f, rldb_only, rldb_me";
}

std::size_t Emitter::site(runtime::ErrorKind kind, std::string text, bool has_numbers) {
  const auto [it, fresh] = site_numbers_.try_emplace({kind, text}, 0);
  if (fresh) {
    program_.sites.push_back({kind, std::move(text), {}, has_numbers});
    it->second = program_.sites.size();
  }
  faults();
  return it->second;
}

const std::string& Emitter::truncated_division(ir::DType t, bool remainder) {
  const std::string_view type = value_type(t);
  const std::size_t number = site(runtime::ErrorKind::Raised, "integer division by zero");
  return helper(
      fmt::format("rldb_{}_{}", remainder ? "rem" : "div", type),
      fmt::format(R"(inline {0} $(volatile __global uint* f, uint only, uint me, {0} a, {0} b) {{
  if (b == 0) return ({0})(rldb_fault(f, only, me, {1}, 0, 0, 0) + 1);
{2}  return ({0})(a {3} b);
}})",
                  type, number,
                  t.is_uint() ? ""
                  : remainder ? "  if (b == -1) return 0;\n"
                              : fmt::format("  if (b == -1) return ({})(0 - ({})a);\n", type, unsigned_type(t)),
                  remainder ? "%" : "/"));
}

const std::string& Emitter::floor_division(ir::DType t, bool remainder) {
  const std::string_view type = value_type(t);
  const std::size_t number = site(runtime::ErrorKind::Raised, "integer division by zero");
  return helper(fmt::format("rldb_floor{}_{}", remainder ? "mod" : "div", type),
                fmt::format(R"(inline {0} $(volatile __global uint* f, uint only, uint me, {0} a, {0} b) {{
  if (b == 0) return ({0})(rldb_fault(f, only, me, {1}, 0, 0, 0) + 1);
  if (b == -1) return {2};
  const {0} rest = ({0})(a % b);
  const bool below = rest != 0 && (rest < 0) != (b < 0);
  return ({0})({3});
}})",
                            type, number, remainder ? "0" : fmt::format("({})(0 - ({})a)", type, unsigned_type(t)),
                            remainder ? "rest + (below ? b : 0)" : "a / b - (below ? 1 : 0)"));
}

std::string Emitter::prelude() const {
  std::string text;
  if (program_.needs_float64) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  if (options_.strict) text += "#pragma OPENCL FP_CONTRACT OFF\n";
  for (const std::string& h : helpers_) text += (text.empty() ? "" : "\n") + h + "\n";
  return text;
}

}  // namespace rldb::codegen
