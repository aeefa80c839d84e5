// Comparisons and bisections in machine-readable form.
#include <nlohmann/json.hpp>

#include "repro/json_number.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/against.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"

namespace rldb::repro {

namespace {

using nlohmann::json;

json of(const TriedInputs& t) {
  return {{"dims", t.dims}, {"numbers", t.numbers}, {"seeds", t.seeds}, {"inputs", t.inputs}, {"weights", t.weights}};
}

json of(const TensorDifference& d) {
  if (!d.kind.empty()) return {{"path", d.path}, {"kind", d.kind}};
  return {{"path", d.path},
          {"index", d.first},
          {"first", json_number(d.a)},
          {"second", json_number(d.b)},
          {"different", d.different},
          {"total", d.total},
          {"max_abs", json_number(d.max_abs)},
          {"max_rel", json_number(d.max_rel)},
          {"max_ulp", d.max_ulp},
          {"nan", {d.nan_a, d.nan_b}},
          {"infinite", {d.inf_a, d.inf_b}},
          {"opposite", d.opposite},
          {"not_finite", d.not_finite},
          {"dtype", runtime::to_string(d.dtype)}};
}

json of(const FirstDifference& d) {
  json inputs = json::array();
  for (const ComparedInput& in : d.inputs)
    inputs.push_back({{"name", in.name},
                      {"operand", in.operand},
                      {"instead_of", in.instead_of},
                      {"agrees", in.agrees},
                      {"rounded", in.rounded ? json_number(*in.rounded) : json()},
                      {"overwritten", in.overwritten},
                      {"shared", in.shared},
                      {"writer", in.writer},
                      {"writer_callee", in.writer_callee},
                      {"storage", in.storage}});
  using Alone = FirstDifference::Alone;
  const char* alone = d.alone == Alone::Differs ? "differs" : d.alone == Alone::Agrees ? "agrees" : "not tried";
  return {{"function", d.function},
          {"name", d.name},
          {"other_name", d.other_name},
          {"callee", d.callee},
          {"kernel_line", d.kernel_line},
          {"other_kernel_line", d.other_kernel_line},
          {"binding", d.text},
          {"other_binding", d.other_text},
          {"inputs", inputs},
          {"inputs_agree", d.inputs_agree()},
          {"fault_is_here", d.fault_is_here()},
          {"alone", alone},
          {"rounding", d.rounding},
          {"through", d.through},
          {"handed_on", d.handed_on},
          {"beside", d.beside},
          {"difference", d.difference ? of(*d.difference) : json()}};
}

json of(const Shadow& s) {
  using Verdict = Shadow::Verdict;
  const char* verdict = s.verdict == Verdict::Rounding      ? "rounding"
                        : s.verdict == Verdict::FirstIsOff  ? "first is off"
                        : s.verdict == Verdict::SecondIsOff ? "second is off"
                                                            : "cannot tell";
  return {{"verdict", verdict}, {"why", s.why}, {"errors", {json_number(s.error_a), json_number(s.error_b)}}};
}

json of(const Comparison& c) {
  using Verdict = Comparison::Verdict;
  const char* verdict = c.verdict == Verdict::Equal     ? "equal"
                        : c.verdict == Verdict::Differs ? "differs"
                                                        : "cannot tell";
  return {{"verdict", verdict},
          {"why", c.why},
          {"result", c.result ? of(*c.result) : json()},
          {"first", c.first ? of(*c.first) : json()},
          {"in_arguments", c.arguments.has_value()},
          {"shadow", c.shadow ? of(*c.shadow) : json()},
          {"results_only", c.results_only},
          {"reaches_result", c.first.has_value() && c.result.has_value()},
          {"tensors", {c.tensors_a, c.tensors_b}},
          {"matched", c.matched},
          {"nan_on_both", c.nan.elements},
          {"as_meant", c.as_meant},
          {"overflow", c.overflow},
          {"unchecked", c.unchecked},
          {"notes", c.notes},
          {"tried", of(c.tried)}};
}

std::string_view kind_of(Finding::Kind kind) {
  using Kind = Finding::Kind;
  switch (kind) {
    case Kind::Storage:
      return "storage";
    case Kind::Shared:
      return "shared storage";
    case Kind::Unwritten:
      return "uninit";
    case Kind::Nan:
      return "nan";
    case Kind::Bounds:
      return "bounds";
    case Kind::Overflow:
      return "overflow";
    case Kind::Race:
      return "race";
    case Kind::Resized:
      return "resized storage";
  }
  RLDB_UNREACHABLE("kind of a finding");
}

json of(const Finding& f) {
  return {{"kind", kind_of(f.kind)},  {"what", to_string(f)},       {"function", f.function},
          {"reader", f.reader},       {"tensor", f.tensor},         {"writer", f.writer},
          {"storage", f.storage},     {"planner", f.planner},       {"element", f.element},
          {"statement", f.statement}, {"allocation", f.allocation}, {"writer_allocation", f.writer_allocation}};
}

json of(const TraceBisection& b) {
  using Verdict = TraceBisection::Verdict;
  json stages = json::array();
  for (const Stage& s : b.stages)
    stages.push_back({{"file", s.file},
                      {"pass", s.pass},
                      {"passed_by", s.not_runnable},
                      {"completed_by", s.completed_by},
                      {"ill_formed", s.ill_formed}});
  json memory = json::array();
  for (const Finding& f : b.memory) memory.push_back(of(f));
  json out = {{"why", b.why},           {"stages", stages}, {"memory", memory}, {"notes", b.notes},
              {"compared", b.compared}, {"alone", b.alone}, {"anew", b.anew},   {"runs", b.runs}};
  out["tried"] = of(b.tried);
  out["unchanged"] = b.unchanged;
  if (b.first_compared)
    out["expected"] = {{"file", b.stages[*b.first_compared].file},
                       {"difference", b.from_expected ? of(*b.from_expected) : json()}};
  if (b.rounding)
    out["rounding"] = {{"file", b.stages[b.rounding->first].file}, {"difference", of(b.rounding->second)}};
  out["verdict"] = b.verdict == Verdict::Agree ? "agree" : b.verdict == Verdict::Found ? "found" : "cannot tell";
  out["by_themselves"] = b.by_themselves;
  out["not_by_themselves"] = b.not_by_themselves;
  out["passed_over"] = b.passed_over;
  out["kernels_compared"] = b.kernels_compared;
  json not_run = json::array();
  for (const KernelNotRun& k : b.kernels_not_run)
    not_run.push_back({{"kernel", k.kernel}, {"file", b.stages[k.stage].file}, {"why", k.why}});
  out["kernels_not_run"] = not_run;
  if (b.verdict != Verdict::Found || b.from_expected) return out;
  if (b.kernel)
    out["kernel"] = {{"name", b.kernel->kernel},
                     {"buffer", b.kernel->buffer},
                     {"why", b.kernel->why},
                     {"difference", b.kernel->difference ? of(*b.kernel->difference) : json()}};
  out["pass"] = b.stages[b.bad].pass;
  out["good"] = b.stages[b.good].file;
  out["bad"] = b.stages[b.bad].file;
  out["function"] = b.function;
  out["dims"] = b.dims;
  out["large"] = b.large;
  out["behind_nan"] = b.behind_nan;
  out["by_itself"] = b.by_itself;
  out["numbers"] = b.numbers;
  out["comparison"] = of(b.comparison);
  return out;
}

json of(const Symptom& s) {
  json out = {{"kind", to_string(s.kind)}, {"pass", s.pass}, {"id", s.id}, {"text", s.text}};
  if (s.kind == SymptomKind::Memory) out["memory"] = {{"bytes", s.amount}, {"limit", s.limit}};
  if (s.kind == SymptomKind::Time) out["time"] = {{"microseconds", s.amount}, {"limit", s.limit}};
  return out;
}

json of(const ProgramSize& s) {
  return {{"functions", s.functions},   {"bindings", s.bindings}, {"statements", s.statements},
          {"parameters", s.parameters}, {"nodes", s.nodes},       {"attributes", s.attributes},
          {"elements", s.elements}};
}

json of(const ReductionFacts& r) {
  return {{"before", of(r.before)},    {"after", of(r.after)},   {"symptom", of(r.symptom)},
          {"passes", r.passes},        {"inputs", r.inputs},     {"tried", r.tried},
          {"accepted", r.accepted},    {"complete", r.complete}, {"minimality", minimality(r)},
          {"ill_formed", r.ill_formed}};
}

json of(const PassBisection& b) {
  using Verdict = PassBisection::Verdict;
  json passed_by = json::array();
  for (const auto& [pass, why] : b.passed_by) passed_by.push_back({{"pass", pass}, {"why", why}});
  json out = {
      {"why", b.why}, {"passes", b.count}, {"passed_by", passed_by}, {"tried", of(b.tried)}, {"notes", b.notes}};
  out["verdict"] = b.verdict == Verdict::None ? "none" : b.verdict == Verdict::Found ? "found" : "cannot tell";
  if (b.verdict != Verdict::Found) return out;
  out["pass"] = passes::to_string(b.pass);
  out["index"] = b.index;
  out["symptom"] = of(b.symptom);
  out["unstable"] = b.unstable;
  out["rewrite"] = {{"number", b.rewrite}, {"of", b.rewrites}, {"text", b.rewrite_text}};
  out["comparison"] = b.comparison ? of(*b.comparison) : json();
  return out;
}

json of(const KernelBisection& b) {
  using Verdict = KernelBisection::Verdict;
  using Part = KernelBisection::Part;
  json out = {{"why", b.why}, {"kernels", b.kernels}, {"refused", b.refused}};
  out["verdict"] = b.verdict == Verdict::None ? "none" : b.verdict == Verdict::Found ? "found" : "cannot tell";
  if (b.verdict != Verdict::Found) return out;
  out["kernel"] = b.kernel;
  out["index"] = b.index;
  out["alone"] = b.alone;
  out["difference"] = b.difference;
  out["part"] = b.part == Part::Schedule ? json("schedule") : b.part == Part::Code ? json("code") : json();
  out["step"] = b.step;
  json steps = json::array();
  for (const schedule::Step& s : b.steps) steps.push_back({{"name", schedule::info_of(s.id).name}, {"block", s.block}});
  out["steps"] = steps;
  return out;
}

}  // namespace

std::string to_json(const std::vector<Finding>& findings) {
  json rows = json::array();
  for (const Finding& f : findings) rows.push_back(of(f));
  return rows.dump(2);
}
std::string to_json(const Comparison& c) { return of(c).dump(2); }
std::string to_json(const TraceBisection& b) { return of(b).dump(2); }
std::string to_json(const FolderBisection& b) {
  const json both = b.both ? of(*b.both) : json();
  return json{{"first", of(b.first)}, {"second", of(b.second)}, {"both", both}}.dump(2);
}
std::string to_json(const AgainstReport& r) {
  json findings = json::array();
  for (const AgainstFinding& f : r.findings)
    findings.push_back({{"group", f.group},
                        {"seeds", f.seeds},
                        {"programs", f.programs},
                        {"symptom", of(f.symptom)},
                        {"dim", f.default_dim},
                        {"inputs", f.question.inputs},
                        {"minimality", f.minimal},
                        {"dump", f.dump ? of(*f.dump) : json()},
                        {"module", ir::print(f.module)}});
  const json left_out = {{"not_run_here", r.not_run_here}, {"refused", r.refused}, {"not_lasting", r.not_lasting}};
  return json{{"partner", r.partner},     {"programs", r.programs}, {"compared", r.compared},
              {"not_compared", left_out}, {"findings", findings},   {"broken", r.broken}}
      .dump(2);
}
std::string to_json(const PassBisection& b) { return of(b).dump(2); }
std::string to_json(const ReductionFacts& r) { return of(r).dump(2); }
std::string to_json(const KernelBisection& b) { return of(b).dump(2); }

}  // namespace rldb::repro
