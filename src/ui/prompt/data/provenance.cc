// Influence, writes, blame, lockstep: one object each.
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/provenance_data.h"

namespace rldb::ui {

namespace {

Json line_or_null(std::uint32_t line) { return line ? Json(line) : Json(); }

Json value_difference_json(const debug::ValueDifference& d) {
  return {{"name", d.name},
          {"element", or_null(d.element)},
          {"left", d.left},
          {"right", d.right},
          {"summary", or_null(d.summary)}};
}

std::string_view verdict_of(debug::Lockstep::Verdict verdict) {
  using Verdict = debug::Lockstep::Verdict;
  switch (verdict) {
    case Verdict::Equal:
      return "equal";
    case Verdict::Differs:
      return "differs";
    case Verdict::CannotTell:
      return "cannot-tell";
  }
  RLDB_UNREACHABLE("verdict of lockstep");
}

}  // namespace

Json influence_json(const debug::Influence& influence) {
  Json steps = Json::array();
  for (const debug::InfluenceStep& s : influence.steps)
    steps.push_back({{"time", s.time},
                     {"callee", s.callee},
                     {"name", or_null(s.name)},
                     {"elements", s.elements},
                     {"from", s.from},
                     {"file", or_null(s.file)},
                     {"line", line_or_null(s.line)},
                     {"remark", or_null(s.remark)}});
  return {{"name", influence.name},
          {"value", influence.value},
          {"written_at", influence.written_at ? Json(*influence.written_at) : Json()},
          {"written_by", or_null(influence.written_by)},
          {"steps", std::move(steps)},
          {"held", influence.held},
          {"until", influence.until}};
}

Json writes_json(const debug::RangeWrites& writes) {
  Json rows = Json::array();
  for (const debug::RangeWrite& w : writes.rows)
    rows.push_back({{"time", w.time},
                    {"callee", w.callee},
                    {"name", w.name},
                    {"begin", w.begin},
                    {"end", w.end},
                    {"writes", w.writes ? Json(w.writes) : Json()},
                    {"statement", or_null(w.statement)},
                    {"first", or_null(w.first)},
                    {"last", or_null(w.last)},
                    {"each", w.each},
                    {"file", or_null(w.file)},
                    {"line", line_or_null(w.line)},
                    {"remark", or_null(w.remark)}});
  return {{"what", writes.what},
          {"begin", writes.begin},
          {"end", writes.end},
          {"writes", std::move(rows)},
          {"incomplete", or_null(writes.incomplete)}};
}

Json blame_json(const debug::Blame& blame) {
  Json steps = Json::array();
  for (const debug::BlameStep& s : blame.steps)
    steps.push_back({{"depth", s.depth},
                     {"text", s.text},
                     {"pass", or_null(s.pass)},
                     {"by_build", s.by_build},
                     {"rewrite", s.rewrite ? Json(s.rewrite) : Json()},
                     {"rewrites", s.rewrite ? Json(s.rewrites) : Json()},
                     {"rule", or_null(s.rule)},
                     {"file", or_null(s.file)},
                     {"line", line_or_null(s.line)}});
  return {{"function", blame.function},
          {"name", blame.name},
          {"writer", or_null(blame.writer)},
          {"steps", std::move(steps)}};
}

Json lockstep_json(const debug::Lockstep& result, std::string_view left, std::string_view right) {
  return {{"left", left},
          {"right", right},
          {"verdict", verdict_of(result.verdict)},
          {"why", or_null(result.why)},
          {"function", or_null(result.function)},
          {"binding", or_null(result.binding)},
          {"occurrence", result.occurrence},
          {"first", result.first ? value_difference_json(*result.first) : Json()},
          {"compared", result.compared},
          {"only_left", result.only_left},
          {"only_right", result.only_right}};
}

Json rerun_json(const debug::Rerun& result) {
  Json rows = Json::array();
  for (const debug::ValueDifference& d : result.differences) rows.push_back(value_difference_json(d));
  return {{"arrived", result.arrived},
          {"times", result.times},
          {"compared", result.compared},
          {"differences", std::move(rows)},
          {"left_out", result.left_out}};
}

}  // namespace rldb::ui
