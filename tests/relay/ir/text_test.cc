// Texts through the parser and the printer: the printed form, and that it parses back.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/equal.h"
#include "rldb/relay/ir/printer.h"

using namespace rldb;

namespace {

struct Reading {
  explicit Reading(std::string text, const relay::MetaTable* meta = nullptr) {
    frontend::RelayOptions options;
    options.meta = meta;
    const source::FileId file = sources.add("test.relay", std::move(text));
    parsed = frontend::parse_relay(ctx, sources, file, found, options);
  }
  std::string first() const { return found.all().empty() ? "" : found.all().front().message; }

  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  frontend::RelayResult parsed;
};

// The body of an expression, printed.
std::string printed(const std::string& text) {
  const Reading r(text);
  CAPTURE(text);
  REQUIRE_MESSAGE(r.parsed.module, r.first());
  relay::PrintOptions options;
  options.version = text.starts_with("#[version");
  const std::string out = relay::print(r.parsed.module, options);
  const Reading again(out);
  CAPTURE(out);
  REQUIRE_MESSAGE(again.parsed.module, again.first());
  CHECK_FALSE(relay::first_difference(r.parsed.module, again.parsed.module));
  CHECK(relay::print(again.parsed.module, options) == out);
  return out;
}

std::string repeated(std::size_t count, const std::string& head, const std::string& line, const std::string& tail) {
  std::string text = head;
  for (std::size_t i = 1; i <= count; ++i) text += fmt::format(fmt::runtime(line), i, i - 1);
  return text + tail;
}

}  // namespace

TEST_CASE("what is used once at the end of a scope stands there, the rest has a number") {
  CHECK(printed("add(1, multiply(2, 3))") == "%0 = multiply(2, 3);\nadd(1, %0)");
  CHECK(printed("%0 = (0, 0); let %x = %0; %0") == "%0 = (0, 0);\nlet %x = %0;\n%0");
  CHECK(printed("let %x = (0, 0); %x") == "let %x = (0, 0);\n%x");
  // The operands of a call are visited before any of them gets its number.
  CHECK(printed("free_var %x: int32; add(negative(abs(%x)), abs(exp(%x)))") ==
        "free_var %x: int32;\n%0 = abs(%x);\n%1 = exp(%x);\n%2 = negative(%0);\n%3 = abs(%1);\nadd(%2, %3)");
}

TEST_CASE("sharing is kept, and what nothing uses is gone") {
  CHECK(printed("%0 = abs(1); %1 = exp(1f); (%0, %0)") == "%0 = abs(1);\n(%0, %0)");
  CHECK(printed("%0 = abs(1); if (True) { %0 } else { negative(%0) }") ==
        "if (True) {\n  %0 = abs(1);\n  %0\n} else {\n  negative(%0)\n}");
}

TEST_CASE("what TVM's text could not say gets parentheses") {
  CHECK(printed("let %y = (match (1) { %z => %z, }); %y") == "let %y = (match (1) {\n  %z => {\n    %z\n  },\n});\n%y");
  CHECK(printed("let %y = (let %z = 1; %z); %y") == "let %y = (\n  let %z = 1;\n  %z\n);\n%y");
  CHECK(printed("add((match (1) { _ => 2, }), 1)") == "%0 = (match (1) {\n  _ => {\n    2\n  },\n});\nadd(%0, 1)");
}

TEST_CASE("names are made different, and begin with a letter") {
  CHECK(printed("fn (%x: int32) { let %x1 = %x; let %_ = %x1; fn (%x) { %x } }") ==
        "fn (%x: int32) {\n  let %x1 = %x;\n  let %v_ = %x1;\n  fn (%x2) {\n    %x2\n  }\n}");
  CHECK(printed("1; 2") == "let %v = 1;\n2");
}

TEST_CASE("literals say what they are, with as many digits as it takes") {
  CHECK(printed("(42i16, -42, 42i64, 3f16, 3f, 3f64, True, 2147483648, -inff)") ==
        "(42i16, -42, 42i64, 3f16, 3f, 3f64, True, 2147483648i64, -inff)");
  CHECK(printed("(0.1f, 0.123456789f, 0.1f64, 0.12345678901234566f64, 1e-05f)") ==
        "(0.1f, 0.12345679f, 0.1f64, 0.12345678901234566f64, 1e-05f)");
}

TEST_CASE("operators are called by name, and take attributes that are not their default") {
  CHECK(printed("1 + 2 * 3") == "%0 = multiply(2, 3);\nadd(1, %0)");
  CHECK(printed("free_var %x; nn.softmax(%x, axis=-1)") == "free_var %x: _;\nnn.softmax(%x)");
  CHECK(printed("free_var %x; nn.dense(%x, %x, units=None, out_dtype=\"float16\")") ==
        "free_var %x: _;\nnn.dense(%x, %x, units=None, out_dtype=\"float16\")");
  CHECK(printed("free_var %x; clip(%x, a_max=6, a_min=0.5f)") == "free_var %x: _;\nclip(%x, a_min=0.5f, a_max=6f)");
  CHECK(printed("free_var %x; nn . relu(%x)") == "free_var %x: _;\nnn.relu(%x)");
}

TEST_CASE("modules: types first, each sorted, with their layout") {
  CHECK(printed("#[version = \"0.0.5\"]\ntype T\ntype L[A] { Cons(A, L[A]), Nil }\n"
                "def @z[A](%x: A, Inline=1, relay.reshape_only=1) -> A { %x }\n"
                "def @a(%l: L[int32], %t: (int32,), %f: fn (T) -> ()) { Nil }\n") ==
        "#[version = \"0.0.5\"]\ntype L[A] {\n  Cons(A, L[A]),\n  Nil,\n}\n\ntype T {\n  \n}\n\n"
        "def @a(%l: L[int32], %t: (int32,), %f: fn (T[]) -> ()) {\n  Nil\n}\n\n"
        "def @z[A](%x: A, Inline=1, relay.reshape_only=1) -> A {\n  %x\n}\n");
}

TEST_CASE("constants that are no literals go through the metadata") {
  relay::Context ctx;
  const auto tensor = runtime::Tensor::empty({2, 2}, runtime::DType::Float(32)).value();
  for (int i = 0; i < 4; ++i) runtime::store_double(tensor->data() + 4 * i, tensor->dtype(), i + 0.5);
  const relay::Constant* c = ctx.constant(tensor);
  relay::MetaTable table{{{"relay.Constant", {{c, nullptr}}}}};
  const Reading r("#[version = \"0.0.5\"]\ndef @main() { meta[relay.Constant][0] }", &table);
  REQUIRE_MESSAGE(r.parsed.module, r.first());
  const Reading again(relay::print(r.parsed.module));
  REQUIRE_MESSAGE(again.parsed.module, again.first());
  const auto difference = relay::first_difference(r.parsed.module, again.parsed.module);
  CHECK_FALSE(difference);
}

TEST_CASE("metadata of another tool: objects are kept as they are") {
  const std::string text = R"(#[version = "0.0.5"]
def @main(%x {virtual_device=meta[VirtualDevice][0]}: int32, virtual_device=meta[VirtualDevice][0]) {
  %x
}

#[metadata]
{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]},
  {"type_key": "Array", "data": [3]},
  {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1", "memory_scope": "4", "target": "0", "virtual_device_id": "0"}},
  {"type_key": "runtime.String", "repr_str": "global"}], "b64ndarrays": [], "attrs": {"tvm_version": "0.10.0"}}
)";
  const std::string once = printed(text);
  CHECK(once.find("\"global\"") != std::string::npos);
  CHECK(once.find("%x {virtual_device=meta[VirtualDevice][0]}: int32, virtual_device=meta[VirtualDevice][0]") !=
        std::string::npos);
}

TEST_CASE("equality looks at the graph, not at names") {
  const auto differs = [](const std::string& a, const std::string& b) {
    const Reading x(a), y(b);
    REQUIRE(x.parsed.module);
    REQUIRE(y.parsed.module);
    const auto d = relay::first_difference(x.parsed.module, y.parsed.module);
    return d ? d->path : std::string();
  };
  CHECK(differs("let %a = 1; %a", "let %b = 1; %b").empty());
  CHECK(differs("let %a = 1; %a", "let %b = 2; %b") == "expression.value");
  CHECK(differs("%0 = abs(1); (%0, %0)", "(abs(1), abs(1))") == "expression.fields[1]");
  CHECK(differs("free_var %x: int32; %x", "free_var %x: int64; %x") == "expression");
  CHECK(differs("fn (%x, A=1, B=2) { %x }", "fn (%y, B=2, A=1) { %y }").empty());
}

TEST_CASE("comments in texts with either line end") {
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string text =
        fmt::format("/* a{0} b */{0}// c{0}let %x = 1;{0}  /* d /* e{0} */ */{0} // f{0}%x{0}/* g */{0}", end);
    const Reading r(text);
    CAPTURE(text);
    CHECK(r.first() == "");
    REQUIRE(r.parsed.module);
    CHECK(relay::print(r.parsed.module, {.version = false}) == "let %x = 1;\n%x");
  }
  CHECK(Reading("1 \r /* a */").first() != "");
}

TEST_CASE("long chains are no nesting") {
  constexpr std::size_t kMany = 20000;
  for (const std::string& text :
       {repeated(kMany, "let %x0 = 1; ", "let %x{} = abs(%x{});\n", "%x" + std::to_string(kMany)),
        repeated(kMany, "%0 = 1; ", "%{} = abs(%{});\n", "%" + std::to_string(kMany)),
        repeated(kMany, "", "{};\n", "0")}) {
    const Reading r(text);
    REQUIRE_MESSAGE(r.parsed.module, r.first());
    const std::string out = relay::print(r.parsed.module);
    const Reading again(out);
    REQUIRE_MESSAGE(again.parsed.module, again.first());
    CHECK_FALSE(relay::first_difference(r.parsed.module, again.parsed.module));
  }
}

TEST_CASE("nesting without end is refused, whichever way it is written") {
  constexpr std::size_t kMany = 5000;
  const std::string parentheses = std::string(kMany, '(') + "1" + std::string(kMany, ')');
  CHECK_FALSE(Reading("let %x = " + parentheses + "; %x").parsed.module);
  // Each branch contains the one before it.
  const Reading branches(
      repeated(kMany, "%0 = 1; ", "%{} = if (True) {{ %{} }} else {{ 2 }};\n", "%" + std::to_string(kMany)));
  CHECK_FALSE(branches.parsed.module);
  CHECK(branches.first() == "this is nested too deeply to be read");
}

TEST_CASE("what is Relay is told by how it begins") {
  for (const char* text :
       {"#[version = \"0.0.5\"]\n", "// a comment\nlet %x = 1; %x", "%0 = 1; %0", "@f(%x)", "@main", "fn (%x) { %x }",
        "v0.0.4\ndef", "type List[A] {\n}", "match (%x) { _ => 1, }", "meta[relay.Constant][0]", "def @f() { 0 }"})
    CHECK_MESSAGE(frontend::looks_like_relay(text), text);
  for (const char* text :
       {"@I.ir_module\nclass M:\n", "@R.function\ndef f(x):\n", "@tvm.script.ir_module\nclass M:\n", "def f(x):\n",
        "x = 1\n", "match x:\n", "type X = int\n", "from tvm.script import relax as R\n", "1 + 1", ""})
    CHECK_MESSAGE(!frontend::looks_like_relay(text), text);
  CHECK(frontend::is_relay("model.relay", "1 + 1"));
}
