// All words, made once from the tables.
#include "rldb/frontend/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/intrinsic.h"
#include "rldb/ops/op_info.h"

namespace rldb::frontend {

namespace {

std::string intrinsic_signature(const ir::IntrinsicInfo& row) {
  if (row.arity < 0) return fmt::format("T.{}(...)", row.name);
  std::string args;
  for (int i = 0; i < row.arity; ++i) args += fmt::format("{}{}", i == 0 ? "" : ", ", char('a' + i));
  return fmt::format("T.{}({})", row.name, args);
}

std::vector<Word> make_words() {
  std::vector<Word> all;
  const auto add = [&](const char* name, WordKind kind, std::string_view doc) { all.push_back({name, kind, {}, doc}); };
#define RLDB_WORD(name, kind, doc) add(name, WordKind::kind, doc);
#include "rldb/frontend/word.def"
  for (const ops::OpInfo& op : ops::all()) {
    const std::string name = "R." + std::string(op.short_name());
    all.push_back({name, WordKind::Operator, fmt::format("{}({})", name, op.signature), op.doc});
  }
  for (const ir::IntrinsicInfo& row : ir::all_intrinsics())
    all.push_back({"T." + std::string(row.name), WordKind::Intrinsic, intrinsic_signature(row),
                   row.purity == ir::IntrinsicPurity::Pure ? "an intrinsic" : "an intrinsic with an effect"});
  // A row of word.def comes before an operator of the name.
  std::stable_sort(all.begin(), all.end(), [](const Word& a, const Word& b) { return a.name < b.name; });
  all.erase(std::unique(all.begin(), all.end(), [](const Word& a, const Word& b) { return a.name == b.name; }),
            all.end());
  return all;
}

const std::vector<Word>& all_words() {
  static const std::vector<Word> words = make_words();
  return words;
}

}  // namespace

std::vector<Word> words_beginning(std::string_view prefix) {
  const std::vector<Word>& all = all_words();
  auto at =
      std::lower_bound(all.begin(), all.end(), prefix, [](const Word& w, std::string_view p) { return w.name < p; });
  std::vector<Word> out;
  for (; at != all.end() && std::string_view(at->name).starts_with(prefix); ++at) out.push_back(*at);
  return out;
}

const Word* find_word(std::string_view name) {
  const std::vector<Word>& all = all_words();
  const auto at =
      std::lower_bound(all.begin(), all.end(), name, [](const Word& w, std::string_view p) { return w.name < p; });
  return at != all.end() && at->name == name ? &*at : nullptr;
}

}  // namespace rldb::frontend
