// The rows of `:set`: how each option is read and shown.
#include "rldb/ui/prompt/option.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "rldb/runtime/threads.h"
#include "rldb/support/memory.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/guarded.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

std::string on_off(bool v) { return v ? "on" : "off"; }
bool set_bool(bool& target, std::string_view text) {
  if (text != "on" && text != "off") return false;
  target = text == "on";
  return true;
}
bool set_double(double& target, std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !(value >= 0) || !std::isfinite(value))
    return false;
  target = value;
  return true;
}
session::Options& of(Repl& r) { return r.session().options(); }

std::string syntax_name(ir::Syntax s) {
  switch (s) {
    case ir::Syntax::Current:
      return "current";
    case ir::Syntax::Sinfo:
      return "sinfo";
    case ir::Syntax::Rfc:
      return "rfc";
  }
  return "";
}
bool set_syntax(Repl& r, std::string_view text) {
  for (const ir::Syntax s : {ir::Syntax::Current, ir::Syntax::Sinfo, ir::Syntax::Rfc})
    if (syntax_name(s) == text) return of(r).print.syntax = s, true;
  return false;
}
bool set_dim(Repl& r, std::string_view text) {
  const auto eq = text.find_first_of("= ");
  if (eq == std::string_view::npos || eq == 0) return false;
  const auto value = parse_count(trim(text.substr(eq + 1)));
  if (!value) return false;
  of(r).dims[std::string(text.substr(0, eq))] = std::int64_t(*value);
  return true;
}
std::string dims_text(Repl& r) {
  std::string text;
  for (const auto& [name, value] : of(r).dims) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "none" : text;
}
bool set_machine(Repl& repl, std::string_view text) {
  for (const session::Machine m : {session::Machine::Relax, session::Machine::Relay})
    if (session::to_string(m) == text) return of(repl).machine = m, true;
  return false;
}
std::string diff_layout_name(const std::optional<DiffLayout>& layout) {
  if (!layout) return "auto";
  return *layout == DiffLayout::Unified ? "unified" : "side-by-side";
}
bool set_diff_layout(Repl& r, std::string_view text) {
  for (const std::optional<DiffLayout>& layout :
       {std::optional<DiffLayout>(), std::optional(DiffLayout::Unified), std::optional(DiffLayout::SideBySide)})
    if (diff_layout_name(layout) == text) return r.diff_layout = layout, true;
  return false;
}
template <class T>
bool set_count(T& target, std::string_view text) {
  const auto value = parse_count(text);
  if (value) target = T(*value);
  return value.has_value();
}

}  // namespace

const std::vector<Option>& options() {
  static const std::vector<Option> rows{
      {"atol", "a number >= 0", "absolute tolerance of comparisons",
       [](Repl& r) { return fmt::format("{}", of(r).tolerance.atol); },
       [](Repl& r, std::string_view v) { return set_double(of(r).tolerance.atol, v); }},
      {"check-accesses", "on, off", "kernels check each access once more in the optimised code (slow; to test rldb)",
       [](Repl& r) { return on_off(of(r).check_accesses); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).check_accesses, v); }, "on"},
      {"check-bounds", "on, off", "kernels report out-of-bounds accesses",
       [](Repl& r) { return on_off(of(r).check_bounds); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).check_bounds, v); }, "off"},
      {"dim", "NAME=N", "value of a symbolic dimension in generated inputs", dims_text, set_dim},
      {"default-dim", "a count", "value of all other symbolic dimensions",
       [](Repl& r) { return fmt::format("{}", of(r).default_dim); },
       [](Repl& r, std::string_view v) { return set_count(of(r).default_dim, v); }},
      {"devices", "a list such as cpu,sim:0, or auto",
       "devices of runs, by number; auto: those that the module declares",
       [](Repl& r) { return of(r).devices.empty() ? std::string("auto") : runtime::to_string(of(r).devices); },
       [](Repl& r, std::string_view v) {
         const auto devices =
             v == "auto" ? std::optional<runtime::DeviceList>(std::in_place) : runtime::parse_devices(v);
         if (devices) of(r).devices = *devices;
         return devices.has_value();
       }},
      {"diff", "auto, unified, side-by-side", "layout of differences; auto: side by side from 140 columns on",
       [](Repl& r) { return diff_layout_name(r.diff_layout); }, set_diff_layout},
      {"fp", "strict, fast", "floating point; fast: reductions may be reassociated",
       [](Repl& r) { return std::string(of(r).fast_math ? "fast" : "strict"); },
       [](Repl& r, std::string_view v) {
         if (v != "strict" && v != "fast") return false;
         of(r).fast_math = v == "fast";
         return true;
       }},
      {"highlight", "on, off", "colours in TVMScript", [](Repl& r) { return on_off(r.highlight); },
       [](Repl& r, std::string_view v) { return set_bool(r.highlight, v); }},
      {"hints", "on, off", "signature, type and errors below the entry while it is typed",
       [](Repl& r) { return on_off(r.hints); }, [](Repl& r, std::string_view v) { return set_bool(r.hints, v); }},
      {"isolate", "on, off", "plugins and unchecked kernels run in guard processes",
       [](Repl& r) { return on_off(of(r).isolate); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).isolate, v); }, "off"},
      {"list-lines", "a count", "number of source lines shown at a stop",
       [](Repl& r) { return fmt::format("{}", r.list_lines); },
       [](Repl& r, std::string_view v) { return set_count(r.list_lines, v); }},
      {"machine", "relax, relay", "how Relay text is loaded: translated to Relax, or compiled for the Relay VM",
       [](Repl& r) { return std::string(session::to_string(of(r).machine)); }, set_machine},
      {"max-memory", "a size such as 512M or 4G", "memory limit of the process, tensors included",
       [](Repl&) { return size_text(support::memory_limit()); },
       [](Repl&, std::string_view v) {
         const auto size = parse_size(v);
         if (size) support::set_memory_limit(*size);
         return size.has_value();
       }},
      {"pager", "on, off", "at a terminal, wait for a key after each screenful",
       [](Repl& r) { return on_off(r.pager); }, [](Repl& r, std::string_view v) { return set_bool(r.pager, v); }},
      {"print-elements", "a count, 0 for all", "largest number of elements that is printed in full",
       [](Repl& r) { return fmt::format("{}", r.print_format.max_elements); },
       [](Repl& r, std::string_view v) {
         constexpr std::uint64_t kAll = std::uint64_t(1) << 62;
         const auto count = parse_count(v);
         if (count) r.print_format.max_elements = std::int64_t(*count == 0 ? kAll : std::min(*count, kAll));
         return count.has_value();
       }},
      {"rtol", "a number >= 0", "relative tolerance of comparisons",
       [](Repl& r) { return fmt::format("{}", of(r).tolerance.rtol); },
       [](Repl& r, std::string_view v) { return set_double(of(r).tolerance.rtol, v); }},
      {"schedule", "on, off", "apply the JIT's default schedule", [](Repl& r) { return on_off(of(r).schedule); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).schedule, v); }},
      {"seed", "a count", "seed of generated inputs", [](Repl& r) { return fmt::format("{}", of(r).seed); },
       [](Repl& r, std::string_view v) { return set_count(of(r).seed, v); }},
      {"show-meta", "on, off", "print constants in a metadata block",
       [](Repl& r) { return on_off(of(r).print.show_meta); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).print.show_meta, v); }},
      {"show-types", "on, off", "print annotations that can be inferred",
       [](Repl& r) { return on_off(of(r).print.show_all_ty); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).print.show_all_ty, v); }},
      {"suggestions", "on, off", "complete an entry from the history, dimmed",
       [](Repl& r) { return on_off(r.suggestions); },
       [](Repl& r, std::string_view v) { return set_bool(r.suggestions, v); }},
      {"syntax", "current, sinfo, rfc", "spelling of printed TVMScript",
       [](Repl& r) { return syntax_name(of(r).print.syntax); }, set_syntax},
      {"threads", "1 to 256, or all",
       "threads that a kernel may use, all: one for each CPU; results do not depend on it",
       [](Repl&) {
         const std::size_t chosen = runtime::chosen_thread_count();
         return chosen == 0 ? std::string("all") : std::to_string(chosen);
       },
       [](Repl&, std::string_view v) {
         const auto count = v == "all" ? std::optional<std::uint64_t>(0) : parse_count(v);
         if (!count || (*count == 0 && v != "all") || *count > runtime::kMostThreads) return false;
         runtime::set_thread_count(std::size_t(*count));
         return true;
       }},
      {"timeout", "seconds, 0 for none", "time limit of each entry",
       [](Repl& r) { return fmt::format("{}", r.timeout); },
       [](Repl& r, std::string_view v) { return set_double(r.timeout, v); }},
      {"trust-kernels", "on, off", "run the machine code stored in an executable",
       [](Repl& r) { return on_off(of(r).trust_kernels); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).trust_kernels, v); }, "on"},
      {"verify-each", "on, off", "verify after each pass", [](Repl& r) { return on_off(of(r).verify_each); },
       [](Repl& r, std::string_view v) { return set_bool(of(r).verify_each, v); }},
  };
  return rows;
}

}  // namespace rldb::ui
