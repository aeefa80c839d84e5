// A comparison as text for the reader.
#include "rldb/support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rldb/repro/compare.h"

namespace rldb::repro {

namespace {

std::string by(const std::string& callee) { return callee.empty() ? std::string() : fmt::format(" (by `{}`)", callee); }

// Memory that two tensors share.
std::string text_of_overwritten(const ComparedInput& in) {
  std::string text =
      fmt::format("`{}` was right when it was computed, but was written over before it was read", in.name);
  if (!in.writer.empty())
    text += fmt::format(": `{}`{} was written to the same memory", in.writer, by(in.writer_callee));
  if (!in.storage.empty()) text += fmt::format(", storage `{}`", in.storage);
  return text;
}

std::string text_of_shared(const ComparedInput& in) {
  std::string text = fmt::format("`{}` lies in memory that ", in.name);
  text += in.writer.empty() ? std::string("the same call writes to")
                            : fmt::format("`{}`{} was written to after it", in.writer, by(in.writer_callee));
  if (!in.storage.empty()) text += fmt::format(", storage `{}`", in.storage);
  return text;
}

// Where the fault is, as far as it is known.
std::string text_of_place(const FirstDifference& d) {
  using Alone = FirstDifference::Alone;
  if (!d.beside.empty())
    return fmt::format("  `{}`, which the same call writes, lies in the same memory{}\n", d.beside,
                       d.storage.empty() ? "" : fmt::format(", storage `{}`", d.storage));
  if (!d.starts_here()) return {};
  if (d.rounding && d.inputs_agree() && !d.inputs_rounded())
    return "  all that it reads is equal on both sides, and the difference is rounding: another order of operations, "
           "or a "
           "multiplication and an addition in one step\n";
  if (d.rounding && !d.reads_others()) return "  the difference is rounding, and its inputs differ by rounding\n";
  if (d.keeps_a_name()) return "  what it reads is right, but a name in it is another tensor than on the first side\n";
  if (!d.inputs_rounded())
    return d.inputs_agree() ? "  all that it reads is equal on both sides: the fault is here\n"
                            : "  what it reads is right, but other tensors than on the first side: the fault is here\n";
  switch (d.alone) {
    case Alone::Differs:
      return "  run on the first side's inputs, it still differs: the fault is here\n";
    case Alone::Agrees:
      return "  run on the first side's inputs, it gives the first side's result: it only amplifies the differences of "
             "its inputs\n";
    case Alone::NotTried:
      break;
  }
  return "  its inputs are equal only within the tolerance: the fault is here, or it amplifies their differences\n";
}

// `blame`: false when nothing is wrong, the difference is rounding.
std::string text_of_inputs(const FirstDifference& d, bool blame) {
  std::string text;
  std::vector<std::string> agree, rounded, differ;
  for (const ComparedInput& in : d.inputs) {
    if (in.overwritten) text += "  " + text_of_overwritten(in) + "\n";
    if (in.shared && !in.overwritten) text += "  " + text_of_shared(in) + "\n";
    if (!in.instead_of.empty())
      text += fmt::format("  operand {} was `{}`, is now `{}`\n", in.operand, in.instead_of, in.name);
    if (in.overwritten || in.shared || !in.instead_of.empty()) continue;
    if (in.rounded)
      rounded.push_back(fmt::format("`{}` ({})", in.name,
                                    *in.rounded == 0 ? "signs of zeros" : fmt::format("by {:.4g}", *in.rounded)));
    else
      (in.agrees ? agree : differ).push_back(fmt::format("`{}`", in.name));
  }
  if (!agree.empty()) text += fmt::format("  equal on both sides: {}\n", fmt::join(agree, ", "));
  if (!rounded.empty()) text += fmt::format("  equal within the tolerance: {}\n", fmt::join(rounded, ", "));
  if (!differ.empty()) text += fmt::format("  not found on the first side: {}\n", fmt::join(differ, ", "));
  if (!d.handed_on.empty()) return fmt::format("  {}: the fault is here\n", d.handed_on);
  return blame && (!d.inputs.empty() || !d.beside.empty()) ? text + text_of_place(d) : text;
}

}  // namespace

std::string summary(const FirstDifference& d) {
  std::string text = fmt::format("`{}` in `{}`", d.name, d.function);
  if (!d.callee.empty()) text += fmt::format(", computed by `{}`", d.callee);
  if (d.difference) text += ": " + to_string(*d.difference);
  for (const ComparedInput& in : d.inputs)
    if (in.overwritten) text += "; its input " + text_of_overwritten(in);
  return text;
}

std::string to_string(const Comparison& c, std::string_view a, std::string_view b) {
  using Verdict = Comparison::Verdict;
  std::string tried = c.tried.empty() ? std::string() : "\ntried: " + to_string(c.tried);
  for (const std::string& note : c.notes) tried += "\nnote: " + note;
  if (c.verdict == Verdict::CannotTell)
    return fmt::format("cannot tell whether {} and {} agree: {}{}", a, b, c.why, tried);
  std::string text;
  if (c.verdict == Verdict::Equal) {
    const std::string how =
        c.results_only ? std::string("results alone") : fmt::format("{} of {} tensors matched", c.matched, c.tensors_b);
    if (!c.kernels.empty()) {
      const std::string kernels = support::counted(c.kernels.size(), "kernel");
      return fmt::format("equal: {} and {} ({}, each run by itself)", a, b, kernels);
    }
    if (c.as_meant)
      return fmt::format("close: {} and {}, as close as passes that change values by their nature allow{}", a, b,
                         c.result ? ": " + to_string(*c.result) : std::string()) +
             tried;
    text = fmt::format("equal: {} and {} ({})\n", a, b, how);
    if (c.nan.elements > 0)
      text += fmt::format("{} of {} elements of the result are NaN on both sides: nothing is known of these\n",
                          c.nan.elements, c.nan.total);
    if (c.first) text += "an intermediate tensor differs, but the result does not: ";
  } else {
    text = fmt::format("differs: {} vs {}: {}\n", a, b, c.result ? to_string(*c.result) : c.why);
    if (!c.unchecked.empty()) text += c.unchecked + "\n";
    if (!c.overflow.empty()) text += c.overflow + "\n";
    if (c.shadow) text += to_string(*c.shadow) + "\n";
    if (c.results_only) text += "the Relay VM does not report variables: results alone were compared\n";
    if (c.first) text += c.result || c.arguments || c.nan.elements > 0 ? "first difference: " : "it ends at ";
  }
  if (c.first) {
    const FirstDifference& d = *c.first;
    text += d.name.empty() ? fmt::format("`{}`", d.function) : fmt::format("`{}` in `{}`", d.name, d.function);
    if (!d.callee.empty()) text += fmt::format(", computed by `{}`", d.callee);
    if (!d.other_name.empty() && d.other_name != d.name) text += fmt::format(" (`{}` on the first side)", d.other_name);
    if (d.difference) text += ": " + to_string(*d.difference);
    text += "\n";
    if (!d.text.empty()) text += "    " + d.text + "\n";
    if (!d.other_text.empty() && d.other_text != d.text) text += "  on the first side:\n    " + d.other_text + "\n";
    if (!d.kernel_line.empty() || !d.other_kernel_line.empty())
      text += fmt::format("  `{}` differs:\n    {}\n  on the first side:\n    {}\n", d.callee, d.kernel_line,
                          d.other_kernel_line);
    const bool rounding = c.shadow && c.shadow->verdict == Shadow::Verdict::Rounding;
    text += text_of_inputs(d, !rounding);
    if (!d.through.empty())
      text += fmt::format("  on the way, without a counterpart on the first side: {}\n", fmt::join(d.through, ", "));
    if (c.result && !c.why.empty()) text += "  " + c.why + "\n";
  }
  text.pop_back();
  return text + tried;
}

}  // namespace rldb::repro
