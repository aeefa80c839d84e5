// The report of a pipeline, section by section.
#include "rldb/ui/render/report_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/support/entry_function.h"
#include "rldb/support/text.h"
#include "rldb/ui/render/diff_stat.h"
#include "rldb/ui/render/duration.h"
#include "rldb/ui/render/page.h"

namespace rldb::ui {

namespace {

using passes::FunctionMemory;

constexpr std::size_t kShortDiff = 120;  // lines of a diff that is not folded

// The change that a pass made to one function.
struct Change {
  std::string name;
  std::vector<DiffHunk> hunks;
  bool added = false, removed = false;
};

class Report {
 public:
  explicit Report(const PipelineReport& report) : r_(report) {}

  std::string body(std::string_view made) {
    std::string sections;
    std::string rows;
    std::uint64_t total = 0, most = 1;
    for (const pipeline::Record& record : r_.records) {
      total += record.nanoseconds;
      most = std::max(most, record.nanoseconds);
    }
    for (std::size_t i = 0; i < r_.records.size(); ++i) {
      support::poll();
      const std::vector<Change> changes = changes_of(r_.records[i]);
      rows += row(i, changes, total, most);
      if (!changes.empty() || !r_.records[i].after) sections += section(i, changes);
    }
    return head(made, total) + diagnostics() + summary(rows, total) + sections + memory() + module();
  }

 private:
  std::string head(std::string_view made, std::uint64_t total) const {
    const auto changed = std::count_if(r_.records.begin(), r_.records.end(),
                                       [](const pipeline::Record& r) { return !r.changed.empty(); });
    return fmt::format(
        "<h1>{}</h1>\n<p class=\"facts\">pipeline <code>{}</code><br/>{} passes, {} changed the module, {}{}"
        "<br/>{}</p>\n",
        html_text(r_.file), html_text(r_.passes.empty() ? "none" : r_.passes), r_.records.size(), changed,
        format_duration(total), r_.failed ? ", <span class=\"bad\">failed</span>" : "", html_text(made));
  }

  std::string diagnostics() const {
    if (r_.diagnostics.empty()) return {};
    return "<h2 id=\"diagnostics\">Diagnostics</h2>\n" + block_of(plain_lines(r_.diagnostics), "err");
  }

  std::optional<std::string> text(pipeline::ModuleRef module, std::string_view function) const {
    return r_.program.text_of(module, session::TextFor::Comparing, function);
  }

  std::vector<Change> changes_of(const pipeline::Record& record) const {
    std::vector<Change> changes;
    if (!record.after) return changes;
    for (const std::string& name : record.changed) {
      Change& c = changes.emplace_back();
      c.name = name;
      const auto before = text(record.before, name), after = text(record.after, name);
      c.added = !before;
      c.removed = !after;
      c.hunks = diff_hunks(before.value_or(""), after.value_or(""));
    }
    return changes;
  }

  // ---- the table of passes ----

  std::string row(std::size_t i, const std::vector<Change>& changes, std::uint64_t total, std::uint64_t most) const {
    const pipeline::Record& record = r_.records[i];
    DiffCount count;
    for (const Change& c : changes) {
      const DiffCount one = count_diff(c.hunks);
      count.added += one.added;
      count.removed += one.removed;
    }
    const bool linked = !changes.empty() || !record.after;
    const std::string name = html_text(pipeline::to_string(record.pass));
    const std::string what = !record.after     ? "<span class=\"bad\">failed</span>"
                             : changes.empty() ? "<span class=\"note\">no change</span>"
                                               : diff_count_html(count);
    return fmt::format(
        "<tr><td class=\"num\">{}</td><td class=\"names\">{}</td><td class=\"num\">{}</td><td class=\"num\">{:.1f} "
        "%</td>"
        "<td><svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"><rect width=\"{:.1f}\" "
        "height=\"10\"/>"
        "</svg></td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>\n",
        i + 1, linked ? fmt::format("<a href=\"#p{}\">{}</a>", i + 1, name) : name, format_duration(record.nanoseconds),
        total ? 100.0 * double(record.nanoseconds) / double(total) : 0.0,
        100.0 * double(record.nanoseconds) / double(most), changes.empty() ? "" : std::to_string(changes.size()), what);
  }

  std::string summary(const std::string& rows, std::uint64_t total) const {
    if (r_.records.empty()) return {};
    return "<h2 id=\"passes\">Passes</h2>\n<div class=\"wide\"><table class=\"facts-table\">\n<thead><tr><th "
           "class=\"num\">#</th><th>pass</th><th class=\"num\">time</th><th class=\"num\">share</th><th></th>"
           "<th class=\"num\">functions</th><th class=\"num\">lines</th></tr></thead>\n<tbody>\n" +
           rows + "</tbody>\n<tfoot><tr><td></td><td>total</td><td class=\"num\">" + format_duration(total) +
           "</td><td></td><td></td><td></td><td></td></tr></tfoot></table></div>\n";
  }

  // ---- one pass ----

  std::string section(std::size_t i, const std::vector<Change>& changes) const {
    const pipeline::Record& record = r_.records[i];
    const std::string name = pipeline::to_string(record.pass);
    std::string out = fmt::format("<h3 id=\"p{}\">{}. {}</h3>\n<p class=\"note\">{}</p>\n", i + 1, i + 1,
                                  html_text(name), html_text(record.pass.pass->doc));
    if (!record.after) out += "<p class=\"bad\">The pass failed; the diagnostics above say why.</p>\n";
    for (const auto& [which, text] : r_.validations)
      if (which == i) out += fmt::format("<p class=\"note\">values: {}</p>\n", html_text(text));
    for (const Change& c : changes) out += change(record, c);
    return out;
  }

  std::string change(const pipeline::Record& record, const Change& c) const {
    std::size_t lines = 0;
    for (const DiffHunk& hunk : c.hunks) lines += hunk.lines.size();
    const std::string summary = fmt::format("<code>{}</code> {}{}", html_text(c.name),
                                            c.added     ? "new "
                                            : c.removed ? "removed "
                                                        : "",
                                            diff_count_html(count_diff(c.hunks)));
    // A function that exists on one side only is shown as text, not as a diff.
    if (c.added) return folded(summary, block_of(script_lines(text(record.after, c.name).value_or("")), "out"));
    if (c.removed) return folded(summary, block_of(script_lines(text(record.before, c.name).value_or("")), "out"));
    return folded(summary, diff_table(c.hunks, "before", "after"), lines <= kShortDiff);
  }

  // ---- memory ----

  static std::string sum(const passes::MemorySum& s) {
    return html_text(s.value ? fmt::format("{}", *s.value) : s.text);
  }

  static std::string memory_cells(const MemoryPlan& plan, const std::string& function) {
    const auto at = std::find_if(plan.functions.begin(), plan.functions.end(),
                                 [&](const FunctionMemory& m) { return m.function == function; });
    if (at == plan.functions.end()) return "<td></td><td></td><td></td>";
    return fmt::format("<td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>",
                       at->storages.size(), sum(at->unshared), sum(at->total));
  }

  std::string memory() {
    if (!r_.memory_before || !r_.memory_after) return {};
    std::string out = "<h2 id=\"memory\">Memory plan</h2>\n";
    for (const auto& [plan, when] : {std::pair(&*r_.memory_before, "before"), std::pair(&*r_.memory_after, "after")})
      if (!plan->problem.empty())
        out += fmt::format("<p class=\"note\">None {} the passes: {}</p>\n", when, html_text(plan->problem));
    std::vector<std::string> names;
    for (const MemoryPlan* plan : {&*r_.memory_before, &*r_.memory_after})
      for (const FunctionMemory& m : plan->functions)
        if (std::find(names.begin(), names.end(), m.function) == names.end()) names.push_back(m.function);
    if (names.empty()) return out + "<p class=\"note\">No function allocates a tensor.</p>\n";
    out +=
        "<p class=\"note\">Bytes. A function that is not planned yet counts as the planner would plan it.</p>\n"
        "<div class=\"wide\"><table class=\"facts-table\">\n<thead><tr><th></th><th class=\"num\" colspan=\"3\">before"
        "</th><th class=\"num\" colspan=\"3\">after</th></tr>\n<tr><th>function</th>";
    for (int side = 0; side < 2; ++side)
      out += "<th class=\"num\">storages</th><th class=\"num\">unshared</th><th class=\"num\">total</th>";
    out += "</tr></thead>\n<tbody>\n";
    for (const std::string& name : names)
      out += fmt::format("<tr><td class=\"names\"><code>{}</code></td>{}{}</tr>\n", html_text(name),
                         memory_cells(*r_.memory_before, name), memory_cells(*r_.memory_after, name));
    out += "</tbody></table></div>\n";
    std::size_t number = 0;
    for (const auto& [plan, when] : {std::pair(&*r_.memory_before, "before"), std::pair(&*r_.memory_after, "after")})
      if (!plan->functions.empty())
        out += folded(fmt::format("lifetimes {} the passes", when),
                      figure(memory_svg(plan->functions, r_.memory_view), ++number));
    return out;
  }

  // ---- the module ----

  std::string module() const {
    std::string out = fmt::format("<h2 id=\"module\">{}</h2>\n",
                                  r_.failed ? "Module before the pass that failed" : "Module after the passes");
    for (const std::string& name : r_.program.functions_of(r_.after)) {
      support::poll();
      const std::vector<std::string> lines = script_lines(text(r_.after, name).value_or(""));
      out += folded(fmt::format("<code>{}</code> {}", html_text(name), support::counted(lines.size(), "line")),
                    block_of(lines, "out", kShortDiff), name == support::kEntryFunction);
    }
    return out;
  }

  const PipelineReport& r_;
};

}  // namespace

std::string report_body(const PipelineReport& report, std::string_view made) { return Report(report).body(made); }

std::string report_page(const PipelineReport& report, std::string_view made) {
  return page(fmt::format("rldb opt: {}", report.file), report_body(report, made));
}

}  // namespace rldb::ui
