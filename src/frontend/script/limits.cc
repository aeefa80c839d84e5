#include "frontend/script/limits.h"

#include "rldb/ir/size.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::script {

namespace {

constexpr std::size_t kMaxParts = 100'000;       // values, operators and operands
constexpr std::size_t kMaxText = 16'000'000;     // characters of a string
constexpr std::size_t kMaxExpanded = 1'000'000;  // nodes of syntax

}  // namespace

bool within_limits(Reader& r, const Val& value, std::string_view name, Node at) {
  if (value.items.empty() && !value.expr() && value.text.size() <= kMaxText) return true;
  std::size_t parts = 0;
  std::size_t text = 0;
  std::vector<const Val*> pending{&value};
  while (!pending.empty() && parts <= kMaxParts && text <= kMaxText) {
    const Val& v = *pending.back();
    pending.pop_back();
    parts += v.expr() ? ir::expr_size(v.expr(), kMaxParts - parts) : 1;
    text += v.text.size();
    if (v.items.size() > kMaxParts) parts = kMaxParts + 1;
    if (parts > kMaxParts) break;
    for (const Val& item : v.items) pending.push_back(&item);
  }
  support::poll();
  if (text > kMaxText) {
    r.error(at, diag::CodeTooLarge, name, text, "characters", kMaxText);
    return false;
  }
  if (parts > kMaxParts) r.error(at, diag::CodeTooLarge, name, parts, "values", kMaxParts);
  return parts <= kMaxParts;
}

bool may_expand(Reader& r, Node body, std::string_view name, Node at) {
  support::poll();
  r.expanded += body.row().next - body.index();
  if (r.expanded <= kMaxExpanded) return true;
  r.error(at, diag::CodeTooLarge, name, r.expanded, "nodes of syntax", kMaxExpanded);
  return false;
}

}  // namespace rldb::frontend::script
