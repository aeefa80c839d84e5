// The tables of passes and pipelines, and the parser for texts that name them: `ToANF,FuseOps(fuse_opt_level=0)`.
#include <fmt/format.h>

#include <charconv>

#include "relay/passes/common.h"
#include "rldb/relay/passes/pass_id.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/text.h"

namespace rldb::relay {

// One function per row.
#define RLDB_RELAY_PASS(Id, name, short_name, options, doc) \
  const Module* run_##Id(PassEnv& env, const Module* m, const PassInvocation& options_given);
#include "rldb/relay/passes/pass.def"

namespace {

constexpr PassInfo kPasses[] = {
#define RLDB_RELAY_PASS(Id, name, short_name, options, doc) {PassId::Id, name, short_name, options, doc},
#include "rldb/relay/passes/pass.def"
};

constexpr PipelineInfo kPipelines[] = {
#define RLDB_RELAY_PIPELINE(name, passes, doc) {name, passes, doc},
#include "rldb/relay/passes/pipeline.def"
};

using Run = const Module* (*)(PassEnv&, const Module*, const PassInvocation&);
constexpr Run kRuns[] = {
#define RLDB_RELAY_PASS(Id, name, short_name, options, doc) run_##Id,
#include "rldb/relay/passes/pass.def"
};

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& p : kPasses)
    if (name == p.name || (name == p.short_name && !name.empty())) return &p;
  return nullptr;
}

// The text before the first `c`, both removed from `text`.
std::string_view take_until(std::string_view& text, char c) {
  const std::size_t end = std::min(text.find(c), text.size());
  const std::string_view taken = support::trim(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::vector<std::string_view> option_names(const PassInfo& pass) {
  std::vector<std::string_view> names;
  for (std::string_view rest = pass.options; !rest.empty();) names.push_back(take_until(rest, ' '));
  return names;
}

class PipelineReader {
 public:
  PipelineReader(std::string_view text, source::Diagnostics& out) : text_(text), out_(out) {}

  std::optional<std::vector<PassInvocation>> run() {
    while (!support::trim(text_).empty())
      if (!item()) return std::nullopt;
    return std::move(found_);
  }

 private:
  // A pass with its options, or a pipeline, and the comma after it.
  bool item() {
    const std::size_t end = std::min(text_.find_first_of(",("), text_.size());
    const bool has_options = end < text_.size() && text_[end] == '(';
    const std::string_view name = support::trim(text_.substr(0, end));
    text_.remove_prefix(std::min(end + 1, text_.size()));
    const PassInfo* pass = find_pass(name);
    if (!pass && !has_options && pipeline(name)) return true;
    if (!pass) return unknown(name);
    found_.push_back({pass->id, {}});
    return !has_options || options(*pass);
  }

  bool pipeline(std::string_view name) {
    for (const PipelineInfo& p : kPipelines) {
      if (p.name != name) continue;
      auto passes = PipelineReader(p.passes, out_).run();
      if (passes) found_.insert(found_.end(), passes->begin(), passes->end());
      return passes.has_value();
    }
    return false;
  }

  bool unknown(std::string_view name) {
    std::string known;
    for (const PassInfo& p : kPasses) known += (known.empty() ? "" : ", ") + std::string(p.name);
    for (const PipelineInfo& p : kPipelines) known += ", " + std::string(p.name);
    out_.add({}, source::message(diag::RelayUnknownPass, name).with_hint("passes: " + known));
    return false;
  }

  // After the bracket, up to the comma after the closing one.
  bool options(const PassInfo& pass) {
    const std::size_t close = text_.find(')');
    if (close == std::string_view::npos) {
      out_.add({}, source::message(diag::PassOptionKind, pass.options, pass.name, "a closing bracket", text_));
      return false;
    }
    std::string_view list = text_.substr(0, close);
    text_.remove_prefix(close + 1);
    while (!support::trim(list).empty())
      if (!option(pass, take_until(list, ','))) return false;
    const std::string_view behind = take_until(text_, ',');
    return behind.empty() || unknown(behind);
  }

  bool option(const PassInfo& pass, std::string_view text) {
    const std::vector<std::string_view> names = option_names(pass);
    std::vector<PassOption>& given = found_.back().options;
    std::string_view name;
    if (text.find('=') != std::string_view::npos)
      name = take_until(text, '=');
    else if (given.size() < names.size())
      name = names[given.size()];
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      auto message = name.empty() ? source::message(diag::TooManyPassOptions, pass.name, names.size(), given.size() + 1)
                                  : source::message(diag::UnknownPassOption, pass.name, name);
      if (!names.empty()) message.hint = fmt::format("its options: {}", pass.options);
      out_.add({}, std::move(message));
      return false;
    }
    if (std::any_of(given.begin(), given.end(), [&](const PassOption& o) { return o.name == *known; })) {
      out_.add({}, source::message(diag::RepeatedPassOption, name, pass.name));
      return false;
    }
    PassOption& option = given.emplace_back(*known);
    const std::string_view digits = support::trim(text);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), option.value);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size()) return true;
    out_.add({}, source::message(diag::PassOptionKind, name, pass.name, "an integer", digits));
    return false;
  }

  std::string_view text_;
  source::Diagnostics& out_;
  std::vector<PassInvocation> found_;
};

}  // namespace

const PassInfo& info(PassId id) { return kPasses[std::size_t(id)]; }

std::vector<PassId> all_passes() {
  std::vector<PassId> ids;
  for (const PassInfo& p : kPasses) ids.push_back(p.id);
  return ids;
}

std::span<const PipelineInfo> named_pipelines() { return kPipelines; }

std::int64_t PassInvocation::option(std::string_view name, std::int64_t otherwise) const {
  for (const PassOption& o : options)
    if (o.name == name) return o.value;
  return otherwise;
}

std::string to_string(const PassInvocation& p) {
  std::string text(info(p.id).name), options;
  for (const PassOption& o : p.options) options += fmt::format("{}{}={}", options.empty() ? "" : ", ", o.name, o.value);
  return options.empty() ? text : fmt::format("{}({})", text, options);
}

const Module* run_pass(const PassInvocation& pass, PassEnv& env, const Module* m) {
  return kRuns[std::size_t(pass.id)](env, m, pass);
}

std::optional<std::vector<PassInvocation>> parse_passes(std::string_view text, source::Diagnostics& out) {
  return PipelineReader(text, out).run();
}

const Module* prepare_for_vm(PassEnv& env, const Module* m) {
  const auto passes = parse_passes(kMinimumPipeline, env.out);
  if (!passes) return nullptr;
  for (const PassInvocation& pass : *passes) {
    m = run_pass(pass, env, m);
    if (!m) return nullptr;
  }
  return m;
}

}  // namespace rldb::relay
