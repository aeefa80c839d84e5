// The table of options of `:compare`, `:bisect` and `:reduce`, and their reader.
#include "ui/prompt/commands/repro_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "rldb/session/typed_value.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/ui/render/tensor_output.h"

namespace rldb::ui {

namespace {

template <class T>
bool read_number(std::string_view text, T& out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && out >= T(0);
}

template <class T>
bool read_optional(std::string_view text, std::optional<T>& out) {
  T value{};
  if (!read_number(text, value)) return false;
  out = value;
  return true;
}

// NaN would make everything differ, and infinity nothing.
bool read_tolerance(std::string_view text, std::optional<double>& out) {
  return read_optional(text, out) && *out >= 0 && std::isfinite(*out);
}

bool read_engine(std::string_view text, std::optional<session::Engine>& out) {
  out = session::engine_named(text);
  return out.has_value();
}

// A value of the session, or text.
bool read_expected(Repl& repl, std::string_view text, std::vector<runtime::Value>& out) {
  auto value =
      session::typed_value(text, nullptr, [&](std::string_view name) { return repl.session().find_value(name); });
  std::string why;
  return value.ok() && flatten_tensors(*value, out, why);
}

struct Flag {
  std::string_view name;
  std::string_view values;  // for the parser; empty: it takes none
  bool (*read)(Repl& repl, std::string_view text, ReproFlags& flags);
};

constexpr Flag kFlags[] = {
    {"atol", "a number >= 0",
     [](Repl&, std::string_view t, ReproFlags& f) { return read_tolerance(t, f.tolerances.atol); }},
    {"rtol", "a number >= 0",
     [](Repl&, std::string_view t, ReproFlags& f) { return read_tolerance(t, f.tolerances.rtol); }},
    {"ulp", "a count", [](Repl&, std::string_view t, ReproFlags& f) { return read_optional(t, f.tolerances.ulp); }},
    {"exact", "", [](Repl&, std::string_view, ReproFlags& f) { return f.tolerances.exact = true; }},
    {"oracle", "any, values, nan, diagnostic, memory or time",
     [](Repl&, std::string_view t, ReproFlags& f) {
       const auto kind = repro::parse_oracle(t);
       f.oracle = kind.value_or(f.oracle);
       return kind.has_value();
     }},
    {"memory-limit", "bytes, as 64K, or a factor, as 1.5x",
     [](Repl&, std::string_view t, ReproFlags& f) {
       f.memory = repro::parse_memory_limit(t);
       return f.memory.has_value();
     }},
    {"time-limit", "seconds, as 2s or 100ms, or a factor, as 3x",
     [](Repl&, std::string_view t, ReproFlags& f) {
       f.time = repro::parse_time_limit(t);
       return f.time.has_value();
     }},
    {"test", "a command",
     [](Repl& repl, std::string_view t, ReproFlags& f) {
       f.test = t;
       return !t.empty() && repl.may("run a shell", t);
     }},
    {"expected", "a value of tensors",
     [](Repl& repl, std::string_view t, ReproFlags& f) { return read_expected(repl, t, f.expected); }},
    {"function", "a function",
     [](Repl&, std::string_view t, ReproFlags& f) {
       f.function = t;
       return !t.empty();
     }},
    {"passes", "a pipeline",
     [](Repl&, std::string_view t, ReproFlags& f) {
       f.passes = t;
       return !t.empty();
     }},
    {"other-passes", "a pipeline",
     [](Repl&, std::string_view t, ReproFlags& f) {
       f.other_passes = t;
       return !t.empty();
     }},
    {"other-engine", "jit, eval, vm, opencl or cuda",
     [](Repl&, std::string_view t, ReproFlags& f) { return read_engine(t, f.other_engine); }},
    {"by", "kernel",
     [](Repl&, std::string_view t, ReproFlags& f) {
       f.by_kernel = t == "kernel";
       return f.by_kernel;
     }},
    {"shadow", "", [](Repl&, std::string_view, ReproFlags& f) { return f.shadow = true; }},
};

// False: diagnosed.
bool read_flag(Repl& repl, std::string_view word, ReproFlags& flags) {
  const std::string_view text = word.substr(2);
  const auto eq = text.find('=');
  const std::string_view name = text.substr(0, eq);
  const std::string_view value = eq == std::string_view::npos ? std::string_view() : text.substr(eq + 1);
  std::vector<std::string_view> names;
  for (const Flag& flag : kFlags) {
    names.push_back(flag.name);
    if (flag.name != name) continue;
    const bool takes = !flag.values.empty();
    if (takes == (eq != std::string_view::npos) && flag.read(repl, value, flags)) return true;
    const std::string wants = takes ? fmt::format("needs {}", flag.values) : "takes no value";
    repl.fail(source::message(diag::BadReproOption, word, wants));
    return false;
  }
  repl.fail(source::message(diag::BadReproOption, word, "there is no such option")
                .with_hint(fmt::format("options: --{}", fmt::join(names, ", --"))));
  return false;
}

}  // namespace

std::optional<ReproFlags> take_repro_flags(Repl& repl, std::vector<std::string>& words) {
  ReproFlags flags;
  const runtime::Tolerance usual, &set = repl.session().options().tolerance;
  flags.tolerances = repl.line().tolerances;
  if (set.atol != usual.atol && !flags.tolerances.atol) flags.tolerances.atol = set.atol;
  if (set.rtol != usual.rtol && !flags.tolerances.rtol) flags.tolerances.rtol = set.rtol;
  std::vector<std::string> rest;
  for (std::string& word : words) {
    if (!word.starts_with("--"))
      rest.push_back(std::move(word));
    else if (!read_flag(repl, word, flags))
      return std::nullopt;
  }
  words = std::move(rest);
  if (flags.memory && flags.oracle != repro::OracleKind::Memory) {
    repl.fail(source::message(diag::BadReproOption, "--memory-limit", "is for --oracle=memory only"));
    return std::nullopt;
  }
  if (flags.time && flags.oracle != repro::OracleKind::Time) {
    repl.fail(source::message(diag::BadReproOption, "--time-limit", "is for --oracle=time only"));
    return std::nullopt;
  }
  return flags;
}

}  // namespace rldb::ui
