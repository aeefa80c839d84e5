#include "ui/batch/compare_expected.h"

#include <vector>

#include "rldb/onnx/model.h"
#include "rldb/repro/expected.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/support/file.h"
#include "rldb/ui/batch/batch.h"

namespace rldb::ui {

void bind_deciding_inputs(session::Session& session, const CommandLine& line, const std::string& place) {
  const std::string& path = line.files[0];
  const auto bytes = support::read_file(path, source::kMaxBytes);
  if (!bytes.ok() || !onnx::is_model(path, *bytes)) return;
  source::Diagnostics ignored;
  const onnx::ModelRef model = onnx::read_model(path, *bytes, ignored);
  const auto inputs = model ? repro::expected_inputs(*model, place, ignored) : std::nullopt;
  if (!inputs) return;
  const onnx::Options options{!line.options.bind_params, line.options.bound_inputs};
  session.options().bound_inputs = onnx::deciding_inputs(model, options, *inputs);
}

int compare_expected(session::Session& session, const CommandLine& line, Console& console) {
  using Verdict = repro::ExpectedComparison::Verdict;
  std::vector<repro::ExpectedComparison> all;
  int code = kGood;
  for (const std::string& place : repro::expected_places(line.expected)) {
    bind_deciding_inputs(session, line, place);
    if (const int bad = load(session, line.files[0], line, console); bad != kGood) return bad;
    source::Diagnostics found;
    const onnx::Translation* model = session.program()->onnx();
    if (!model) found.add({}, source::message(diag::NotOnnx, line.files[0]));
    const auto set = model ? repro::read_expected(*model, place, found) : std::nullopt;
    if (!set) return fail(found, session.sources(), line, console, kUsage);
    all.push_back(repro::compare_expected(session, *model, *set, line.tolerances));
    if (all.back().verdict == Verdict::Differs) code = kFailed;
    if (all.back().verdict == Verdict::CannotTell && code == kGood) code = kCannotTell;
    if (line.format != Format::Json) console.print("{}\n", repro::to_string(all.back()));
  }
  if (line.format == Format::Json) console.print("{}\n", repro::to_json(all));
  return code;
}

}  // namespace rldb::ui
