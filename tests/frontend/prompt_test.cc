#include <doctest/doctest.h>

#include "frontend/edit_texts.h"
#include "frontend/frontend_helper.h"
#include "frontend/vandal.h"
#include "rldb/frontend/entry_tree.h"

using namespace rldb;
using frontend::Completeness;
using frontend::completeness;
using frontend::ItemKind;

TEST_CASE("is an entry complete?") {
  CHECK(completeness("x = R.add(y, z)") == Completeness::Complete);
  CHECK(completeness("x = R.add(y,") == Completeness::Incomplete);
  CHECK(completeness("x = R.add(y))") == Completeness::Complete);
  CHECK(completeness("@R.function") == Completeness::Incomplete);
  CHECK(completeness("@R.function\ndef f(x: R.Any):") == Completeness::Incomplete);
  CHECK(completeness("@R.function\ndef f(x: R.Any):\n    return x") == Completeness::Open);
  CHECK(completeness("@R.function\ndef f(x: R.Any):\n    return x\n\n") == Completeness::Complete);
  CHECK(completeness("s = \"\"\"abc") == Completeness::Incomplete);
  CHECK(completeness("s = \"abc") == Completeness::Complete);
  CHECK(completeness("") == Completeness::Complete);
}

TEST_CASE("the next line's indentation") {
  using frontend::next_indent;
  CHECK(next_indent("@R.function\ndef f(x: R.Any):") == 4);
  CHECK(next_indent("    with R.dataflow():  # block") == 8);
  CHECK(next_indent("        y = x") == 8);
  CHECK(next_indent("    return x") == 0);
  CHECK(next_indent("  f(a,") == 6);
  CHECK(next_indent("  f(a, \")\",") == 6);
  CHECK(next_indent("x = \"a:\"  # b:") == 0);
  CHECK(next_indent("s = \"\"\"a") == 0);
  // A branch goes back to its `if`, unless it stands under one.
  const auto branch = [](std::string_view text) { return frontend::EntryTree::branch_indent(text).value_or(-1); };
  CHECK(branch("if c:\n    y = x\n    else:") == 0);
  CHECK(branch("if c:\n    y = x\n\n    elif d: # again") == 0);
  CHECK(branch("    if c:\n        if d:\n            y = x\n        else:") == 8);
  CHECK(branch("    if c:\n        if d:\n            y = x\n            else:") == 8);
  CHECK(branch("    if c:\n        y = x\n    z = y\n    else:") == -1);
  CHECK(branch("y = x\nelse:") == -1);
  CHECK(branch("if c:\n    elsewhere:") == -1);
  CHECK(branch("if c:\n    y = else_") == -1);
}

TEST_CASE("the call that is open at the cursor") {
  const auto call = [](std::string_view text) {
    frontend::EntryTree tree;
    const frontend::OpenCall open = tree.open_call(text, text.size());
    return std::string(open.name) + " " + std::to_string(open.argument);
  };
  CHECK(call("y = R.add(") == "R.add 0");
  CHECK(call("y = R.add(x, ") == "R.add 1");
  CHECK(call("y = R.add(R.exp(x), ") == "R.add 1");
  CHECK(call("y = R.call_tir(cls.f, (x, y") == "R.call_tir 1");
  CHECK(call("y = R.print(x, format=\"a(, \"") == "R.print 1");
  CHECK(call("y = R.concat([x, y") == "R.concat 0");
  CHECK(call("y = R.add(x, y)") == " 0");
  CHECK(call("x), y)\n        z = R.add(x, ") == "R.add 1");  // a part of a file
  CHECK(frontend::EntryTree().close_brackets("y = R.add(x, (y, [z")->text == "y = R.add(x, (y, [z]))");
  CHECK_FALSE(frontend::EntryTree().close_brackets("y = R.add(x))"));
}

TEST_CASE("highlighting paints without overlap, in order") {
  const std::string text = "lv = R.add(x, 1)  # sum";
  const auto spans = frontend::highlight(text);
  REQUIRE_FALSE(spans.empty());
  std::uint32_t last = 0;
  std::string number, comment;
  for (const auto& s : spans) {
    CHECK(s.begin >= last);
    CHECK(s.end > s.begin);
    last = s.end;
    if (s.capture == "number") number = text.substr(s.begin, s.end - s.begin);
    if (s.capture == "comment") comment = text.substr(s.begin, s.end - s.begin);
  }
  CHECK(number == "1");
  CHECK(comment == "# sum");
}

TEST_CASE("highlighting of a text that is typed is that of the text as it is") {
  const std::string_view pieces[] = {"x = R.add(y, 1)\n", "    ", "\"\"\"", "'s'", "# c\n",    "def f(a):\n",
                                     "@R.function\n",     "(",    "]",      "\n",  "\xE2\x82", "with R.dataflow():\n"};
  frontend::EntryTree typed;
  std::string text;
  std::uint32_t seed = 5;
  const auto below = [&](std::size_t n) { return (seed = seed * 1103515245 + 12345, std::size_t(seed >> 8) % n); };
  for (int i = 0; i < 400; ++i) {
    const std::size_t at = below(text.size() + 1);
    if (below(4) == 0)
      text.erase(at, below(12));
    else
      text.insert(at, pieces[below(std::size(pieces))]);
    const std::size_t begin = below(text.size() + 1), end = begin + below(60);
    std::vector<std::string> seen(text.size()), whole(text.size());
    for (const auto& h : typed.highlight(text, begin, end))
      for (std::size_t k = h.begin; k < h.end; ++k) seen[k] = h.capture;
    for (const auto& h : frontend::highlight(text))
      for (std::size_t k = h.begin; k < h.end; ++k)
        if (k >= begin && k < end) whole[k] = h.capture;
    CHECK(seen == whole);
    CHECK(typed.completeness(text) == completeness(text));
    CHECK(typed.next_indent(text) == frontend::next_indent(text));
    const std::size_t cursor = below(text.size() + 1);
    CHECK(typed.open_call(text, cursor).name == frontend::EntryTree().open_call(text, cursor).name);
  }
}

// Entries with branches, loops, definitions and long strings, as they are typed, damaged and mended.
TEST_CASE("the tree of an entry that is edited is that of the entry as it is") {
  const std::string_view starts[] = {
      "if c:\n    y = R.add(x, x)\nelif d:\n    y = x\nelse:\n    y = R.exp(x)\n",
      "for i in range(3):\n    z = R.add(x, R.const(i))\n    if c:\n        z = x\n",
      "with R.dataflow():\n    a = R.add(x, x)\n    R.output(a)\n\"\"\"two\nlines\"\"\"\n",
      "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((4,), \"float32\")):\n        if c:\n"
      "            y = x\n        else:\n            y = R.exp(\n                x)\n        return y\n",
      "@T.prim_func\ndef k(A: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        with T.block(\"b\"):\n"
      "            v = T.axis.spatial(4, i)\n            A[v] = A[v] + T.float32(1)\n"};
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const std::string_view start = starts[seed % std::size(starts)];
    frontend::EntryTree typed;
    std::string text(start);
    frontend::testing::Vandal vandal(seed, frontend::testing::kEditPieces);
    for (int i = 0; i < 60 && !text.empty(); ++i) {
      const frontend::testing::Vandal::Change c = vandal.change(text);
      const std::string before = text;
      text.replace(c.begin, c.end - c.begin, c.text);
      CAPTURE(text);
      CHECK(typed.completeness(text) == completeness(text));
      CHECK(typed.next_indent(text) == frontend::next_indent(text));
      if (text.empty() || vandal.below(3) != 0) text = before;
    }
  }
}

namespace {

struct Prompt {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  frontend::Environment env;
  frontend::ParseResult result;

  Prompt() {
    ops::install(ctx);
    const ir::Expr* dims[] = {ctx.i64(2), ctx.i64(3)};
    env.values.push_back({"x", ctx.var("x", ctx.tensor(dims, ir::DType::Float(32)))});
  }
  void read(std::string text) {
    diagnostics.clear();
    result = frontend::parse_input(ctx, sources, sources.add("<input>", std::move(text)), env, diagnostics);
  }
};

}  // namespace

TEST_CASE("bindings and expressions at the prompt") {
  Prompt p;
  p.read("y = R.add(R.exp(x), x)\ny + x");
  REQUIRE_MESSAGE(p.result.ok, source::render(p.diagnostics, p.sources));
  REQUIRE(p.result.items.size() == 2);
  const auto& binding = p.result.items[0];
  CHECK(binding.kind == ItemKind::Binding);
  CHECK(binding.name == "y");
  REQUIRE(binding.value->blocks.size() == 1);
  CHECK(binding.value->blocks[0]->bindings.size() == 1);
  CHECK(ir::isa<ir::Call>(binding.value->body));
  const auto& expression = p.result.items[1];
  CHECK(expression.kind == ItemKind::Expression);
  const auto* call = ir::as<ir::Call>(expression.value->body);
  REQUIRE(call);
  CHECK(call->args[0] == binding.var);
}

TEST_CASE("functions and modules at the prompt") {
  Prompt p;
  p.read("@R.function\ndef f(a: R.Tensor((2, 3), \"float32\")):\n    b = R.exp(a)\n    return b\n\nf(x)\n");
  REQUIRE_MESSAGE(p.result.ok, source::render(p.diagnostics, p.sources));
  REQUIRE(p.result.items.size() == 2);
  CHECK(p.result.items[0].kind == ItemKind::Function);
  CHECK(ir::isa<ir::Function>(p.result.items[0].function));
  CHECK(ir::print_type(p.result.items[1].value->body->type) == "R.Tensor((2, 3), dtype=\"float32\")");
}

TEST_CASE("symbolic variables and errors at the prompt") {
  Prompt p;
  p.read("n = T.int64()");
  REQUIRE(p.result.items.size() == 1);
  CHECK(p.result.items[0].kind == ItemKind::Symbols);
  CHECK(p.result.items[0].symbols.size() == 1);
  p.read("y = R.add(x, w)");
  CHECK_FALSE(p.result.ok);
  REQUIRE(p.result.items.size() == 1);
  CHECK(p.result.items[0].broken);
}
