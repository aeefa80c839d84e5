// Showing values: print, output, display, stats, plot, save-value, compare-value.
#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "rldb/debug/facts.h"
#include "rldb/expression/language.h"
#include "rldb/runtime/device_error.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/plot.h"
#include "rldb/ui/render/table.h"
#include "rldb/ui/render/tensor_output.h"
#include "ui/prompt/commands/at_rank.h"
#include "ui/prompt/commands/draw_options.h"
#include "ui/prompt/print_format.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

using runtime::Value;
using runtime::ValueKind;

namespace {

std::optional<Value> evaluate(Repl& repl, std::string_view text, std::vector<std::string>* notes = nullptr) {
  source::Diagnostics diagnostics;
  auto value = repl.debugger().evaluate(text, repl.frame(), diagnostics, notes);
  if (repl.report(diagnostics) == Status::Failed) return std::nullopt;
  if (const auto read = value ? runtime::read_back(*value) : runtime::Result<support::Unit>(support::Unit{});
      !read.ok())
    return (void)repl.fail(source::message(diag::RunFailed, read.error().message)), std::nullopt;
  return value;
}

bool is_name(std::string_view text) {
  for (const char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && !(c & 0x80)) return false;
  return true;
}

// A computed value without dimensions is shown as a plain number.
std::string shown(Repl& repl, const Value& v, const FormattedExpression& e) {
  std::string text = format_value_as(v, e.format, repl.print_format);
  const bool single = v.is(ValueKind::Tensor) && v.as_tensor().ndim() == 0 && !is_name(e.text);
  const auto line = text.find('\n');
  return single && line != std::string::npos ? text.substr(line + 1) : text;
}

void print_named(Repl& repl, std::string_view name, const std::string& text) {
  repl.print("{} ={}{}\n", name, text.find('\n') == std::string::npos ? " " : "\n", text);
}

Status bad_format(Repl& repl, std::string_view text) {
  const auto blank = text.find_first_of(" \t");
  return repl.fail(source::message(diag::BadPrintFormat, text.substr(0, blank)));
}

Status print_value(Repl& repl, std::string_view rest, bool with_name) {
  if (rest.empty()) return Status::Usage;
  const auto e = split_format(rest);
  if (!e) return bad_format(repl, rest);
  if (e->text.empty()) return Status::Usage;
  std::vector<std::string> notes;
  source::Diagnostics diagnostics;
  std::optional<debug::StopReport> stop;
  std::string_view text = e->text;
  const AtRank rank(repl, text, AtRank::About::Value);
  if (rank.failed()) return Status::Failed;
  const RankValues others(repl, text, diagnostics);
  if (others.failed()) return repl.report(diagnostics), Status::Failed;
  const auto value =
      repl.debugger().evaluate(text, repl.frame(), diagnostics, &notes, repl.debugger().call_runner(stop, diagnostics));
  if (stop) return repl.show_stop_in_call(*stop);
  if (repl.report(diagnostics) == Status::Failed || !value) return repl.tell_other_frames(e->text), Status::Failed;
  repl.last().value = *value;
  const auto read = runtime::read_back(*value);  // a device may not give its memory
  const auto lost = [&] { return repl.fail(source::message(diag::RunFailed, read.error().message)); };
  if (repl.wants_json() && !read.ok()) return lost();
  const std::size_t number = with_name ? repl.printed.add(*value) : 0;
  if (repl.wants_json()) {
    const std::int64_t most = repl.print_format.max_elements;
    return repl.give({{"expression", e->text},
                      {"number", with_name ? Json(number) : Json()},
                      {"value", value_json(*value, most)},
                      {"notes", notes}});
  }
  if (e->format || !repl.show_by_printer(*value, e->text)) {
    if (with_name && repl.ask)  // whoever types wants to know the number
      print_named(repl, fmt::format("${} = {}", number, e->text), shown(repl, *value, *e));
    else if (with_name)
      print_named(repl, e->text, shown(repl, *value, *e));
    else
      repl.print("{}\n", shown(repl, *value, *e));
  }
  for (const std::string& note : notes) repl.print("note: {}\n", note);
  return read.ok() ? Status::Good : lost();
}

}  // namespace

Status command_Print(Repl& repl, std::string_view rest) { return print_value(repl, rest, true); }
Status command_Output(Repl& repl, std::string_view rest) { return print_value(repl, rest, false); }

// ---- displays ----

void show_displays(Repl& repl) {
  for (const Display& d : repl.displays) {
    // A value missing here does not make the stop fail.
    source::Diagnostics diagnostics;
    const auto value = evaluate_in_ranks(repl, d.text, diagnostics);
    const std::string label = fmt::format("{}: {}{}", d.number, d.format ? fmt::format("/{} ", d.format) : "", d.text);
    if (value && !d.format && repl.show_by_printer(*value, label)) continue;
    if (value)
      print_named(repl, label, shown(repl, *value, {d.format, d.text}));
    else
      repl.print("{}: {}\n", label, diagnostics.all().empty() ? "no value" : diagnostics.all()[0].message);
  }
}

Status command_Display(Repl& repl, std::string_view rest) {
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(displays_json(repl));
    if (repl.displays.empty()) repl.print("no displays\n");
    show_displays(repl);
    return Status::Good;
  }
  const auto e = split_format(rest);
  if (!e) return bad_format(repl, rest);
  if (e->text.empty()) return Status::Usage;
  source::Diagnostics diagnostics;
  if (!expression::check_expression(e->text, diagnostics)) return repl.report(diagnostics);
  repl.displays.push_back({repl.next_display++, e->format, std::string(e->text)});
  if (repl.wants_json()) return repl.give(displays_json(repl));
  if (!repl.debugger().active()) {
    repl.print("{}: {}\n", repl.displays.back().number, e->text);
    return Status::Good;
  }
  const std::vector<Display> all = std::exchange(repl.displays, {repl.displays.back()});
  show_displays(repl);
  repl.displays = all;
  return Status::Good;
}

Status command_Undisplay(Repl& repl, std::string_view rest) {
  if (rest.empty()) {
    repl.displays.clear();
    return Status::Good;
  }
  for (const std::string& word : split_words(rest)) {
    const auto number = parse_count(word);
    if (!number) return Status::Usage;
    if (std::erase_if(repl.displays, [&](const Display& d) { return d.number == int(*number); }) == 0)
      return repl.fail(source::message(diag::NoSuchNumber, "display", word));
  }
  return Status::Good;
}

// ---- facts ----

Status command_Stats(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const auto value = evaluate(repl, rest);
  if (!value) return Status::Failed;
  const auto found = debug::statistics_of(*value);
  if (!found.ok()) return repl.fail(source::message(diag::RunFailed, found.error().message));
  const debug::Statistics& s = *found;
  repl.last().value = *value;
  if (repl.wants_json()) return repl.give(statistics_json(rest, *value, s));
  repl.print("{}: {}, {}\n", rest, runtime::describe(*value), support::counted(std::size_t(s.count), "element"));
  repl.print("finite {}, zero {}, negative {}, NaN {}, inf {}, -inf {}\n", s.finite, s.zero, s.negative, s.nan,
             s.positive_inf, s.negative_inf);
  if (!s.first_nan.empty()) repl.print("first NaN at {}\n", s.first_nan);
  if (!s.first_inf.empty()) repl.print("first infinity at {}\n", s.first_inf);
  if (s.finite == 0) return Status::Good;
  repl.print("min {} at {}, max {} at {}\n", s.min.text, s.min.index, s.max.text, s.max.index);
  repl.print("mean {:.6g}, std {:.6g}, norm {:.6g}\n", s.mean, s.std, s.norm);
  std::string quantiles;
  for (const auto& [part, at] : s.quantiles) quantiles += fmt::format("  {:g}% {:.6g}", part * 100, at);
  repl.print("quantiles{}\n", quantiles);
  DrawOptions draw;
  repl.print("{}", histogram_text(s, {48, 10, draws_ascii(repl, draw)}));
  return Status::Good;
}

namespace {

std::optional<support::Ref<runtime::Tensor>> tensor_to_draw(Repl& repl, std::string_view text) {
  const auto value = evaluate(repl, text);
  if (!value) return std::nullopt;
  repl.last().value = *value;
  auto tensor = expression::as_tensor(*value);
  if (tensor.ok()) return *std::move(tensor);
  repl.fail(source::message(diag::NotDrawable, runtime::describe(*value)));
  return std::nullopt;
}

}  // namespace

Status command_Plot(Repl& repl, std::string_view rest) {
  DrawOptions options;
  if (const std::string wrong = take_draw_options(rest, options); !wrong.empty())
    return repl.fail(source::message(diag::BadDrawOption, wrong));
  if (rest.empty()) return Status::Usage;
  std::optional<PlotKind> kind;
  if (!options.kind.empty()) {
    kind = parse_plot_kind(options.kind);
    if (!kind)
      return repl.fail(source::message(diag::BadOption, options.kind, "--kind").with_hint("values: heat, hist, line"));
  }
  const auto tensor = tensor_to_draw(repl, rest);
  if (!tensor) return Status::Failed;
  if (!kind) kind = plot_kind_of(**tensor);
  if (!options.file.empty()) return write_drawing(repl, options.file, plot_svg(*tensor, *kind, rest));
  repl.print("{}: {}\n", rest, runtime::describe(Value(*tensor)));
  repl.show(plot_text(*tensor, *kind, {64, 24, draws_ascii(repl, options)}),
            {OutputKind::Picture, plot_svg(*tensor, *kind, rest), {}, {}, {}});
  return Status::Good;
}

// ---- files ----

Status command_SaveValue(Repl& repl, std::string_view rest) {
  const auto blank = rest.find_last_of(" \t");
  if (blank == std::string_view::npos) return Status::Usage;
  const std::string path(rest.substr(blank + 1));
  const auto value = evaluate(repl, trim(rest.substr(0, blank)));
  if (!value) return Status::Failed;
  std::vector<Value> tensors;
  std::string why;
  if (!flatten_tensors(*value, tensors, why)) return repl.fail(source::message(diag::OutputKind, path, why));
  source::Diagnostics diagnostics;
  const auto bytes = tensor_file(path, tensors, diagnostics);
  if (!bytes) return repl.report(diagnostics);
  return write_drawing(repl, path, *bytes);
}

namespace {

void print_differences(Repl& repl, const debug::Differences& d) {
  const runtime::Tolerance& t = repl.session().options().tolerance;
  if (d.differing == 0) {
    repl.print("equal: all {}\n", support::counted(std::size_t(d.count), "element"));
    return;
  }
  repl.print("{} of {} differ{}, {} outside of atol={:g}, rtol={:g}\n", d.differing,
             support::counted(std::size_t(d.count), "element"), d.differing == 1 ? "s" : "", d.outside, t.atol, t.rtol);
  Table table({"", "index", "left", "right"});
  table.add({"first", d.first.index, d.first.left, d.first.right});
  table.add({"worst", d.worst.index, d.worst.left, d.worst.right});
  repl.print("{}largest difference: {:.6g} absolute, {:.6g} relative", table.text(), d.max_absolute, d.max_relative);
  if (d.has_ulp) repl.print(", {} ulp", d.max_ulp);
  repl.print("; mean {:.6g} absolute\n", d.mean_absolute);
}

}  // namespace

Status command_CompareValue(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  // `x @f.npy` would be a product of matrices.
  std::string text(rest);
  const auto at = text.rfind(" @");
  if (at != std::string::npos && trim(text.substr(0, at)).back() != ',') text.insert(at, ",");
  const auto both = evaluate(repl, text);
  if (!both) return Status::Failed;
  if (!both->is(ValueKind::Tuple) || both->as_tuple().fields.size() != 2) return Status::Usage;
  const auto& fields = both->as_tuple().fields;
  const auto found = debug::differences(fields[0], fields[1], repl.session().options().tolerance);
  if (!found.ok()) return repl.fail(source::message(diag::RunFailed, found.error().message));
  repl.last().value = fields[0];
  if (repl.wants_json())
    repl.give(differences_json(*found));
  else
    print_differences(repl, *found);
  return found->outside == 0 ? Status::Good
                             : repl.fail(source::message(diag::ValuesOutside, found->outside, found->count));
}

}  // namespace rldb::ui
