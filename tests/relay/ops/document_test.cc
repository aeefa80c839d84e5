// Edits of Relay text: whichever way one is read and typed, module, types and diagnostics are those of a fresh reading.
#include <doctest/doctest.h>

#include "frontend/vandal.h"
#include "rldb/frontend/relay_document.h"
#include "rldb/relay/ir/equal.h"
#include "rldb/relay/ops/typing_memo.h"

namespace rldb::frontend {
namespace {

constexpr std::string_view kProgram = R"(#[version = "0.0.5"]
type Pair[A, B] {
  Two(A, B),
  Zero,
}

// A function that others call.
def @twice(%v: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {
  add(%v, %v)
}

def @loose(%a: Tensor[(4, 8), float32], %b) {
  let %s = @twice(%a);
  add(%s, %b)
}

def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32], %c: Tensor[(), bool]) {
  %0 = nn.dense(%x, %w, units=16);
  %1 = nn.relu(%0);
  %2 = fn (%p0: Tensor[(4, 16), float32], Primitive=1) -> Tensor[(4, 16), float32] {
    %3 = tanh(%p0);
    multiply(%3, %p0)
  };
  %4 = %2(%1);
  let %y = @twice(%x);
  let %z: Tensor[(4, 8), float32] = subtract(%y, %x);
  %5 = (%z, %4);
  let %t = %5.1;
  let %u = if (%c) {
    let %k = add(%z, %y);
    multiply(%k, %k)
  } else {
    @loose(%z, %y)
  };
  let %m = (match (Two(%u, %z)) {
    Two(%l, %r) => add(%l, %r),
    Zero => %u,
  });
  let %f = fn (%q: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { add(%q, %m) };
  let %last = %f(%u);
  /* the end */
  (%last, %t, tanh(%4) == %4)
}
)";

constexpr std::string_view kRelayPieces[] = {"(",
                                             ")",
                                             ",",
                                             ":",
                                             ";",
                                             "{",
                                             "}",
                                             "%",
                                             "@",
                                             "%0",
                                             "%x",
                                             "add(",
                                             "tanh(%x)",
                                             "= ",
                                             "\"",
                                             "//",
                                             "/*",
                                             "*/",
                                             "\n",
                                             ".1",
                                             "let %n = add(%x, %x);\n",
                                             "%9 = tanh(%1);\n",
                                             "def",
                                             "fn ",
                                             "if (%c) ",
                                             "axis=1",
                                             "-",
                                             "[",
                                             "]",
                                             "meta[a][0]",
                                             "float16",
                                             "\xc3\xa9",
                                             "free_var %h;\n",
                                             ": Tensor[(4, 8), float32]",
                                             "match",
                                             "Nil",
                                             "@map",
                                             "%4"};

std::string types_of(const relay::Module* m, const relay::Typing& typing) {
  std::string out;
  std::vector<const relay::Expr*> todo;
  std::vector<bool> seen;
  for (const relay::Definition& d : m->functions) todo.push_back(d.function);
  while (!todo.empty()) {
    const relay::Expr* e = todo.back();
    todo.pop_back();
    if (e->id >= seen.size()) seen.resize(e->id + 1);
    if (seen[e->id]) continue;
    seen[e->id] = true;
    if (const relay::Type* t = typing.of(e); t && e->kind != relay::ExprKind::Op) out += relay::print_type(t) + "\n";
    relay::for_each_operand(e, [&](const relay::Expr* x) { todo.push_back(x); });
  }
  return out;
}

std::string places_of(const relay::Context& ctx, const relay::Module* m) {
  std::string out;
  for (const relay::Definition& d : m->functions) {
    std::vector<const relay::Expr*> todo{d.function};
    while (!todo.empty()) {
      const relay::Expr* e = todo.back();
      todo.pop_back();
      const source::Span at = ctx.span(e);
      if (!relay::is_leaf(e)) out += std::to_string(at.begin) + "-" + std::to_string(at.end) + " ";
      if (out.size() > 20000) return out;
      relay::for_each_operand(e, [&](const relay::Expr* x) { todo.push_back(x); });
    }
  }
  return out;
}

std::string text_of(const source::Diagnostics& found, const source::SourceManager& sources) {
  std::string out;
  for (const source::Diagnostic& d : found.all()) out += source::render(d, sources);
  return out;
}

struct RelayEdited {
  source::SourceManager sources;
  RelayDocument document;
  std::shared_ptr<relay::Context> context;
  relay::TypingMemo typed;

  explicit RelayEdited(std::string_view text) : document(sources, "test.relay", std::string(text)) {}

  // Replaces the first occurrence of `from`; the number of statements that are read, or -1: all of the text.
  int change(std::string_view from, std::string_view to) {
    const std::size_t at = document.text().find(from);
    REQUIRE(at != std::string_view::npos);
    REQUIRE(document.edit(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + from.size()), to));
    CHECK(difference() == "");
    return document.last_read().whole ? -1 : int(document.last_read().statements);
  }

  // Empty if the document agrees with a fresh reading of its text.
  std::string difference() {
    source::Diagnostics mine;
    for (const source::Diagnostic& d : document.diagnostics().all()) mine.add(d);
    const relay::Module* m = document.result().module;
    if (context != document.context()) typed = {};
    context = document.context();
    if (m) relay::infer_types(*context, m, typed, mine);

    relay::Context ctx;
    source::SourceManager others;
    source::Diagnostics found;
    const source::FileId file = others.add("test.relay", std::string(document.text()));
    const RelayResult fresh = parse_relay_program(ctx, others, file, found);
    relay::Typing typing;
    if (fresh.module) relay::infer_types(ctx, fresh.module, typing, found);

    if (text_of(mine, sources) != text_of(found, others))
      return "diagnostics:\n" + text_of(mine, sources) + "---- fresh:\n" + text_of(found, others);
    if ((m == nullptr) != (fresh.module == nullptr)) return "one of them has a module";
    if (!m) return {};
    if (const auto d = relay::first_difference(m, fresh.module)) return d->path + ": " + d->left + " <> " + d->right;
    if (relay::print(m) != relay::print(fresh.module)) return "they print differently";
    if (document.result().graph_variables != fresh.graph_variables) return "their counts of graph variables differ";
    if (document.result().graph_names.size() != fresh.graph_names.size()) return "their graph names differ";
    if (places_of(*context, m) != places_of(ctx, fresh.module)) return "their places differ";
    if (types_of(m, typed.typing) != types_of(fresh.module, typing))
      return "types:\n" + types_of(m, typed.typing) + "---- fresh:\n" + types_of(fresh.module, typing);
    return {};
  }
};

TEST_CASE("an edit of Relay text reads its statement, and those that see another value") {
  RelayEdited e(kProgram);
  CHECK(e.difference() == "");
  CHECK(e.document.diagnostics().all().empty());
  CHECK(e.document.result().module);
  CHECK(e.change("subtract(%y, %x)", "divide(%y, %x)") == 1);
  CHECK(e.change("%1 = nn.relu(%0)", "%1 = tanh(%0)") == 1);  // its users are rebuilt without being read
  CHECK(e.change("let %last = %f(%u)", "let %last = %f(%y)") == 1);
  CHECK(e.change("let %y = @twice(%x)", "let %yy = @twice(%x)") > 1);
  CHECK(e.change("let %yy = @twice(%x)", "let %y = @twice(%x)") > 1);
  CHECK(e.change("%c: Tensor[(), bool]", "%c: Tensor[(), bool], %d: Tensor[(2), int8]") == 0);
  CHECK(e.change("  let %t = %5.1;\n", "") >= 1);
  CHECK(e.change("  let %u", "  let %t = %5.0;\n  let %u") >= 1);
}

TEST_CASE("types are inferred again where they change") {
  RelayEdited e(kProgram);
  CHECK(e.difference() == "");
  CHECK(e.change("%w: Tensor[(16, 8), float32]", "%w: Tensor[(16, 9), float32]") >= 0);  // an error of the types
  CHECK(e.change("%w: Tensor[(16, 9), float32]", "%w: Tensor[(16, 8), float32]") >= 0);
  CHECK(e.change("let %y = @twice(%x)", "let %y = cast(%x, dtype=\"float16\")") == 1);
  CHECK(e.change("let %y = cast(%x, dtype=\"float16\")", "let %y = @twice(%x)") == 1);
  // A value that is not used for a while.
  CHECK(e.change("let %t = %5.1", "let %t = %4") == 1);
  CHECK(e.change("units=16", "units=16, out_dtype=\"float64\"") == 1);
  CHECK(e.change("let %t = %4", "let %t = %5.1") == 1);
}

TEST_CASE("damaged Relay text is waited out") {
  RelayEdited e(kProgram);
  CHECK(e.difference() == "");
  CHECK(e.change("tanh(%p0)", "tanh(%p0") >= 0);  // a bracket
  CHECK(e.change("tanh(%p0;", "tanh(%p0);") >= 0);
  CHECK(e.change("let %y = @twice(%x)", "let %y = ") >= 0);
  CHECK(e.change("let %y = ", "let %y = @twice(%x)") >= 0);
  CHECK(e.change("(%x: Tensor", "(%x: : Tensor") >= 0);
  CHECK(e.change("(%x: : Tensor", "(%x: Tensor") >= 0);
  CHECK(e.change("type Pair", "type Pairs") == -1);
}

TEST_CASE("comments behind numbers, and globals in lists of attributes, survive edits of other statements") {
  RelayEdited e(R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], k=[1, @nope]) {
  %0 = abs(%x);
  %1 = multiply(%0// (the first
    , 2f// one (of
    );
  exp(%1)
}
)");
  CHECK(e.difference() == "");
  e.change("abs(%x)", "sin(%x)");
  CHECK(e.difference() == "");
  CHECK(e.document.diagnostics().has_errors());  // of @nope
}

void vandalise_relay(std::uint32_t seed, int edits) {
  RelayEdited e(kProgram);
  testing::Vandal vandal(seed, kRelayPieces);
  const auto check = [&](int i, std::string_view what) {
    const std::string found = e.difference();
    if (found.empty()) return true;
    FAIL_CHECK("seed " << seed << ", edit " << i << " (" << what << ")\n" << found << "\ntext:\n" << e.document.text());
    return false;
  };
  for (int i = 0; i < edits; ++i) {
    const std::string before(e.document.text());
    const testing::Vandal::Change c = vandal.change(before);
    if (!e.document.edit(c.begin, c.end, c.text)) continue;
    if (!check(i, "done")) return;
    if (vandal.below(4) == 0 && i % 40 != 39) continue;
    if (i % 40 == 39) {
      e.document.update(kProgram);
      continue;
    }
    const auto end = static_cast<std::uint32_t>(c.begin + c.text.size());
    if (!e.document.edit(c.begin, end, std::string_view(before).substr(c.begin, c.end - c.begin))) continue;
    if (!check(i, "undone")) return;
  }
}

TEST_CASE("Relay text, edited at random") {
  const char* more = std::getenv("RLDB_EDIT_SEEDS");
  const std::uint32_t seeds = more ? static_cast<std::uint32_t>(std::atoi(more)) : 12;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) vandalise_relay(seed, 80);
}

}  // namespace
}  // namespace rldb::frontend
