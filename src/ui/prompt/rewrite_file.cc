#include "rldb/ui/prompt/rewrite_file.h"

#include "rldb/frontend/parse.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/rewrite.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/support/file.h"

namespace rldb::ui {

namespace {

// The rules of a file in text order. Empty: diagnosed.
std::vector<passes::RewriteRule> read_rules(session::Session& session, const std::string& path,
                                            source::Diagnostics& out) {
  auto text = support::read_file(path, source::kMaxBytes);
  if (!text.ok()) {
    out.add({}, source::message(diag::FileNotFound, path, text.error().reason));
    return {};
  }
  const source::FileId file = session.sources().add(path, std::move(*text));
  const frontend::ParseResult parsed = frontend::parse(session.context(), session.sources(), file, out);
  if (!parsed.ok) return {};
  std::vector<passes::RewriteRule> rules;
  for (const frontend::ParsedItem& item : parsed.items) {
    if (item.kind != frontend::ItemKind::Module || !item.module) continue;
    auto rule = passes::rule_of(session.context(), item.name, item.module);
    if (!rule.ok()) {
      out.add(item.span, std::move(rule).error());
      return {};
    }
    rules.push_back(std::move(*rule));
  }
  if (rules.empty()) out.add({file, 0, 0}, source::message(diag::NoRewriteRule, path));
  return rules;
}

}  // namespace

std::optional<std::size_t> rewrite_by_file(session::Session& session, const std::string& path,
                                           source::Diagnostics& out) {
  const std::vector<passes::RewriteRule> rules = read_rules(session, path, out);
  if (rules.empty()) return std::nullopt;
  passes::PassEnv env{session.context(), out};
  auto rewritten = passes::apply_rules(env, session.module(), rules);
  if (!rewritten.ok()) {
    out.add({}, std::move(rewritten).error());
    return std::nullopt;
  }
  if (rewritten->count == 0) return 0;
  source::Diagnostics found;
  if (!ir::verify(session.context(), rewritten->module, found)) {
    for (const source::Diagnostic& d : found.all()) out.add(d);
    return std::nullopt;
  }
  session.set_module(rewritten->module);
  return rewritten->count;
}

}  // namespace rldb::ui
