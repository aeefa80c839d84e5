// Edits: whichever way an edit is processed, the result is that of a fresh parse of the text.
//
// It is long because its cases share `Edited` and the module that most of them edit.
#include "rldb/frontend/document.h"

#include <doctest/doctest.h>

#include <set>

#include "frontend/document_check.h"
#include "frontend/edit_texts.h"
#include "rldb/ir/walk.h"

namespace rldb::frontend {
namespace {

using testing::difference;
using testing::kLone;
using testing::kModule;
using testing::kNested;

struct Edited {
  source::SourceManager sources;
  Document document;
  explicit Edited(std::string_view text) : document(sources, "test.py", std::string(text)) {}

  void insert(std::string_view before, std::string_view text) {
    const std::size_t at = document.text().find(before);
    REQUIRE(at != std::string_view::npos);
    REQUIRE(document.edit(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at), text));
    CHECK(difference(document, sources) == "");
  }
  // Replaces the first occurrence of `from`.
  void change(std::string_view from, std::string_view to) {
    const std::size_t at = document.text().find(from);
    REQUIRE(at != std::string_view::npos);
    REQUIRE(document.edit(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + from.size()), to));
    CHECK(difference(document, sources) == "");
  }
};

TEST_CASE("an edit of a value reads its statement only") {
  Edited e(kModule);
  CHECK(e.document.last_read().whole);
  CHECK(difference(e.document, e.sources) == "");
  e.change("R.subtract(lv1, lv2)", "R.divide(lv1, lv2)");
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().functions == 1);
  CHECK(e.document.last_read().statements == 1);
}

TEST_CASE("an edit of a type reads the users of the name") {
  Edited e(kModule);
  e.change("p = R.add(z, x)", "p = R.astype(z, \"float16\")");  // inside a statement
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().functions == 1);
  CHECK(e.document.last_read().statements == 4);  // the `if`, and what follows from its value, but for a call
}

TEST_CASE("callers are read again when the type of a function changes") {
  Edited e(kModule);
  e.change("y = R.nn.relu(x)", "y = R.astype(x, \"int32\")");
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().functions == 2);
  e.change("y = R.astype(x, \"int32\")", "y = R.nn.gelu(x)");
  CHECK(e.document.last_read().functions == 2);
  e.change("R.nn.gelu(x)", "R.nn.relu(x)");
  CHECK(e.document.last_read().functions == 1);
}

TEST_CASE("an operator is unknown while its name is typed") {
  Edited e(kModule);
  e.change("lv3: R.Tensor((4, 4), \"float32\") = R.add(R.multiply(lv, lv), lv1)",
           "lv3: R.Tensor((4, 4), \"float32\") = R.ad(lv, lv1)");
  CHECK(!e.document.last_read().whole);
  e.change("gv = R.add(lv3, lv)", "gv: R.Tensor((4, 4), \"float32\") = R.ad(lv3, lv)");  // noted once
  CHECK(!e.document.last_read().whole);
  e.change("R.ad(lv, lv1)", "R.add(lv, lv1)");  // now the other one is noted
  CHECK(!e.document.last_read().whole);
}

TEST_CASE("while a long string is open nothing is read") {
  Edited e(kModule);
  e.change("lv2 = t[0]", "\"\"\"lv2 = t[0]");
  CHECK(!e.document.result().ok);
  REQUIRE(e.document.diagnostics().all().size() == 1);
  e.change("lv = R.subtract", "lv = R.divide");
  e.change("\"\"\"lv2", "lv2");
  CHECK(e.document.result().ok);
  CHECK(!e.document.last_read().whole);
  e.change("lv2 = t[0]", "lv2 = t[0]  # it's \"\"\"");
  CHECK(e.document.result().ok);
}

TEST_CASE("lines that come and go") {
  Edited e(kModule);
  e.change("lv2 = t[0]", "extra = R.add(lv, lv)\n            lv2 = t[0]");
  CHECK(e.document.last_read().statements == 2);
  e.change("            extra = R.add(lv, lv)\n", "");
  CHECK(e.document.last_read().statements == 0);
  e.change("            lv2 = t[0]\n", "");  // an unknown name remains
  e.change("            lv = R.sub", "            lv2 = t[1]\n            lv = R.sub");
  CHECK(!e.document.last_read().whole);
}

TEST_CASE("too little indentation costs a statement, a damaged header of the class nothing") {
  Edited e(kModule);
  const auto in_part = [&] { return !e.document.last_read().whole; };
  e.change("        z = cls.loose(gv)", "    z = cls.loose(gv)");
  CHECK(in_part());
  e.change("    z = cls.loose(gv)", "      z = cls.loose(gv)");
  CHECK(in_part());
  e.change("      z = cls.loose(gv)", "        z = cls.loose(gv)");
  CHECK(in_part());
  e.change("            lv2 = t[0]\n", "lv2 = t[0]\n");
  CHECK(in_part());
  e.change("lv2 = t[0]\n", "            lv2 = t[0]\n");
  CHECK(in_part());
  e.change("Module:", "Module");
  CHECK(in_part());
  CHECK(e.document.last_read().functions == 0);
  e.change("R.add(first, x)", "R.subtract(first, x)");
  CHECK(in_part());
  e.change("Module", "Module:");
  e.change("Module:", "Module(:");
  CHECK(in_part());
  e.change("Module(:", "Module:");
  CHECK(in_part());
  e.change("Module:", "Modules:");
  CHECK(!in_part());
}

TEST_CASE("a header with too little indentation costs its line") {
  Edited e(kModule);
  const std::string at = "            lv2 = t[0]\n";
  for (const std::string header :
       {"    class A:\n", "class A:\n", "    class A\n", "    def g(x):\n", "  if x:\n", "    for i in range(2):\n",
        "    @R.function\n    def g(x: R.Tensor((4, 4), \"float32\")):\n"}) {
    CAPTURE(header);
    e.change(at, header + at);
    CHECK(!e.document.last_read().whole);
    CHECK(e.document.last_read().statements <= 2);
    REQUIRE(e.document.diagnostics().all().size() == 1);
    CHECK(e.document.diagnostics().all()[0].message == "unexpected indentation");
    e.change("gv = R.add(lv3, lv)", "gv = R.add(lv, lv3)");
    CHECK(!e.document.last_read().whole);
    e.change(header + at, at);
    CHECK(!e.document.last_read().whole);
    CHECK(e.document.diagnostics().all().empty());
    e.change("gv = R.add(lv, lv3)", "gv = R.add(lv3, lv)");
  }
}

TEST_CASE("damage within a function while the header of the class is damaged") {
  Edited e(kNested);
  e.change("gv4 = R.add(R.exp(u), u)", "gv4 = R.add(R.exp(u), u) if c");
  e.change("Module:", "Module");
  e.change("gv4 = R.add(R.exp(u), u) if", "multiply = R.add(R.exp(u), u) if");
  e.change("Module", "Module:");
}

TEST_CASE("what a damaged statement says about the module") {
  Edited e(testing::kBranches);
  e.change("I.vdevice(\"cuda\", 0)", "I.vdevice(\"cuda\" if c:, 0)");
  e.change("module_global_infos", "e_global_infos");
  e.change("e_global_infos", "module_global_infos");
  e.change("{\"a\": 1}", "{\"a\": 1}, x y");
  e.change("\"a\": 1", "\"b\": 1");
}

TEST_CASE("devices of a module that are given twice") {
  Edited e(testing::kBranches);
  e.change("    far = R", "    I.module_global_infos({\"vdevice\": [I.vdevice(\"cuda\", 1)]})\n    far = R");
  REQUIRE(e.document.diagnostics().all().size() == 1);
  CHECK(e.document.diagnostics().all()[0].message == "the key \"vdevice\" is given twice");
  e.change("\"cuda\", 0", "\"cuda\", 4");
}

TEST_CASE("a declaration behind a `return`, which is not read") {
  Edited e(testing::kMany);
  e.change("        n = T.int64()\n", "        return x\n        n = T.int64()\n");
  e.change("int64", "int44");
  e.change("int44", "int64");
}

TEST_CASE("a string that is not closed in a function without a decorator") {
  Edited e(kModule);
  e.change("    @R.function\n    def main", "    def main");
  e.change("gv = R.add", "gv = R\".add");
  e.change("gv = R\".add", "gv = R.add");
}

TEST_CASE("metadata that cannot be read, when a statement first asks for it") {
  Edited e(testing::kMetadata);
  e.change("R.dataflow", "R.dataflo");
  e.change("\\\"root\\\": 1", "\\\"root\\\":: 1");
  e.change("R.dataflo", "R.dataflow");
}

TEST_CASE("a kernel whose last block is missing is not verified") {
  Edited e(kModule);
  e.change("                vi, vj = T.axis", "    def plain(x):\n                vi, vj = T.axis");
  e.change("T.grid(T.int64(4)", "T.grid(T.int64()");
}

TEST_CASE("a function used as a value, whose symbolic variable is its own") {
  Edited e(kLone);
  e.change("return lv1", "return helper");
  REQUIRE(e.document.diagnostics().all().size() == 1);
  CHECK(e.document.diagnostics().all()[0].message.starts_with("[rule 18]"));
  e.change("A[i] = T", "A[i] = R");
  e.change("A[i] = R", "A[i] = T");
  e.change("return helper", "return lv1");
  CHECK(e.document.diagnostics().all().empty());
}

TEST_CASE("a local function without a name has the error of its header") {
  Edited e(kNested);
  e.change("            a = R", "            def: a = R");
  e.change("            def: a", "        def: a");
  e.change("        def: a", "            def: a");
  for (const source::Diagnostic& d : e.document.diagnostics().all()) CHECK(bool(d.span));
}

TEST_CASE("damage and names beside the functions leave these as they are") {
  const std::string header = "    @R.function\n    def main(x";
  for (const std::string_view typed :
       {"    x =\n", "    x\n", "    R.f\n", "    @\n", "    x y\n", "    for i in\n", "    def f(\n"}) {
    CAPTURE(typed);
    Edited e(kModule);
    e.insert(header, typed);
    CHECK(!e.document.last_read().whole);
    CHECK(e.document.last_read().functions == 0);
    CHECK(e.document.diagnostics().error_count() == 1);
    e.change("R.add(first, x)", "R.subtract(first, x)");  // meanwhile
    CHECK(!e.document.last_read().whole);
    CHECK(e.document.last_read().functions == 1);
    e.change(typed, "");
    CHECK(!e.document.last_read().whole);
    CHECK(e.document.last_read().functions == 0);
    CHECK(e.document.result().ok);
  }
  // As a text that is opened with it, and beside the class.
  std::string text(kModule);
  Edited opened(text.insert(text.find(header), "    x =\n"));
  opened.change("R.add(first, x)", "R.subtract(first, x)");
  CHECK(!opened.document.last_read().whole);
  Edited beside(kModule);
  beside.insert("@I.ir_module", "x =\n");
  beside.change("x =\n", "x = [1\n");
  beside.change("R.add(first, x)", "R.subtract(first, x)");
  beside.change("x = [1\n", "");
  CHECK(beside.document.result().ok);
}

TEST_CASE("an `else` that falls out of its `if`, where the grammar takes it for a name") {
  Edited e(
      "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((4,), \"float32\")):\n        return x\n\n"
      "    def main(x, c):\n        if c:\n            p = x\n            w = p\n        else:\n            w = x\n"
      "        return w\n");
  e.change("            w = p", "  gv5          w = p");
  e.change("  gv5          w = p", "            w = p");
}

TEST_CASE("a line that parses only with the next one, in a text that has other damage for a while") {
  Edited e(kModule);
  e.change("R.add(first, x)", "R.add(first, x");
  e.change("    def loose(x", "    def\nloose(x");
  e.change("R.add(first, x", "R.add(first, x)");
  e.change("    def\nloose(x", "    def loose(x");
  CHECK(e.document.result().ok);
}

TEST_CASE("lines of the class that stand elsewhere mean what they say there") {
  Edited e(testing::kBranches);
  e.change("    far = ", "far = ");
  e.change("far = ", "= ");
  e.change("= R.ExternFunc", "far = R.ExternFunc");
  Edited open(
      "@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((4, 4), \"float32\")):\n"
      "        lv = R.exp(x)\n        u = inner(R.exp(lv)\n        return lv\n");
  open.change("        u = inner", "    u = inner");
  Edited deep(
      "@I.ir_module\nclass M:\n    @T.prim_func\n    def f(A: T.Buffer((16, 16), \"float32\")):\n"
      "        A[0, 0] = A[1, 1]\n            if A[0, 0] > T.float32(1):\n        x = 1\n\n"
      "    @T.prim_func\n    def g(A: T.Buffer((16,), \"float32\")):\n        A[0] = A[1]\n");
  deep.change("(16, 16)", "(16, 16        for\n");
}

TEST_CASE("a decorator that comes or goes leaves the statements of its function") {
  Edited e(kModule);
  const std::string header = "    @R.function(private=True)\n    def loose";
  e.insert(header, "    @R.f\n");
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().statements == 0);
  e.change("    @R.f\n", "");
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().statements == 0);
  CHECK(e.document.result().ok);
}

TEST_CASE("a broken operand breaks the calls behind it, which come back with it") {
  Edited e(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        a = R.add(x, x)
        with R.dataflow():
            b = R.multiply(a, x)
            c = R.concat((b, a, x), axis=0)
            gv = R.exp(c)
            R.output(gv)
        d = R.exp(gv)
        return d
)");
  for (const std::string_view broken : {"R.ad(x, x)", "R.add(x, x", "R.add(x, z)"}) {
    CAPTURE(broken);
    e.change("R.add(x, x)", broken);
    CHECK(e.document.last_read().statements <= 3);
    CHECK(e.document.diagnostics().error_count() == 1);
    e.change("R.exp(c)", "R.log(c)");  // meanwhile, behind it
    e.change("            R.output(gv)\n", "            R.output(gv, c)\n");
    e.change("            R.output(gv, c)\n", "            R.output(gv)\n");
    e.change("R.log(c)", "R.exp(c)");
    e.change(broken, "R.add(x, x)");
    CHECK(e.document.last_read().statements <= 4);
    CHECK(e.document.result().ok);
  }
  e.change("a = R.add(x, x)", "a: R.Tensor((4,), \"float32\") = R.ad(x, x)");  // an annotation helps the others
  e.change("a: R.Tensor((4,), \"float32\") = R.ad(x, x)", "a = R.astype(x, \"float16\")");
  e.change("        a = R.astype(x, \"float16\")\n", "");
  e.change("        with R.dataflow():\n", "        a = R.add(x, x)\n        with R.dataflow():\n");
  CHECK(e.document.result().ok);
}

TEST_CASE("the functions of a file without a class are read by themselves") {
  Edited e(kLone);
  CHECK(e.document.result().ok);
  e.change("R.add(y, x)", "R.subtract(y, x)");
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().statements == 1);
  e.change("R.multiply(lv, y)", "R.multiply(lv, y");
  CHECK(!e.document.last_read().whole);
  e.change("R.multiply(lv, y", "R.multiply(lv, y)");
  CHECK(!e.document.last_read().whole);
  e.change("a = R.add(x, x)", "a = R.astype(x, \"float16\")");  // its caller is read, too
  CHECK(!e.document.last_read().whole);
  e.change("a = R.astype(x, \"float16\")", "a = R.exp(x)");
  e.change("def main(x", "def more(x");
  e.change("import relax as R\n", "import relax as R\nx =\n");
  Edited named("@R.function\ndef f(x: R.Tensor((4,), \"float32\")):\n    y = R.exp(x)\n    return y\n");
  named.change("    y =", "    R.func_attr({\"global_symbol\": \"g\"})\n    y =");
  named.change("R.exp(x)", "R.log(x)");
  named.change("\"g\"", "\"f\"");
}

TEST_CASE("a hint that names a function, and one that looks like a header with the line below") {
  Edited e(kModule);
  e.change("first = cls.helper(x)", "first = helpe(x)");
  e.change("@R.function(private=True)\n    def helper", "def helper");
  e.change("    def helper", "    @R.function(private=True)\n    def helper");
  Edited header(R"(@I.ir_module
    @R.function(private=True)
    def helper(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        return x
)");
  header.insert("    def helper", "    def loose(x)\n");
  header.change("    def loose(x)\n", "");
  Edited below("@R.function\ndef f(x: R.Tensor((4,), \"float32\")):\n    if x\n        y = x\n    return x\n");
  below.change("        y = x\n", "");
  below.change("    if x\n", "    if x\n        y = x\n");
  below.change("        y = x", "    y = x");
}

TEST_CASE("blanks in front of the first statement move it") {
  Edited e(
      "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((2,), \"float32\")):\n"
      "      y = R.add(x, x)\n        z = R.add(y, y)\n        return z\n");
  const auto at = static_cast<std::uint32_t>(e.document.text().find("y = R.add(x"));
  REQUIRE(e.document.edit(at, at, "  "));
  CHECK(e.document.result().ok);
  CHECK(difference(e.document, e.sources) == "");
}

// A caller is checked against what could be read of its callee.
TEST_CASE("damage in one function is no error of its callers") {
  Edited e(kModule);
  // From its decorator to that of the next function.
  const auto only_in_function_of = [&](std::string_view line) {
    CHECK(!e.document.result().ok);
    const std::size_t at = e.document.text().find(line);
    REQUIRE(at != std::string_view::npos);
    const std::size_t begin = e.document.text().rfind('@', at), end = e.document.text().find('@', at);
    for (const source::Diagnostic& d : e.document.diagnostics().all()) {
      INFO(source::render(d, e.sources));
      CHECK(d.span.begin >= begin);
      CHECK(d.span.end <= end);
    }
  };
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{"def twice(A: T.Buffer(", "def twice(A: T.Bufer("},
        {"def twice(", "def twi(ce("},
        {"def helper(x: R.Tensor((\"n\", 4)", "def helper(x: R.Tensor((\"n\", 4"},
        {"def loose(x: R", "def loose(x y: R"},
        {"    def loose(x", "    de loose(x"},
        {"y = R.nn.relu(x)", "y = R.nn.relux(x)"}}) {
    e.change(std::string(from), std::string(to));
    only_in_function_of(to);
    e.change(std::string(to), std::string(from));
    CHECK(e.document.result().ok);
  }
}

TEST_CASE("the attributes of a function stay when its body is read in part") {
  Edited e(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
        R.func_attr({"relax.force_pure": True})
        y = R.call_packed("f", x, ty_args=R.Tensor((2, 4), "float32"))
        return y
)");
  CHECK(e.document.diagnostics().all().empty());
  e.change("\"f\"", "\"g\"");
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.diagnostics().all().empty());
}

TEST_CASE("damage, and what mends it") {
  Edited e(kModule);
  e.change("R.add(lv3, lv)", "R.add(lv3, lv");
  e.change("R.add(lv3, lv", "R.add(lv3, lv)");
  e.change("        return v\n", "        retrun v\n");
  e.change("        retrun v\n", "        return v\n");
  e.change("class Module:", "class Module");
  e.change("class Module", "class Module:");
  e.change("with R.dataflow():", "with R.dataflow(:");
  e.change("with R.dataflow(:", "with R.dataflow():");
}

TEST_CASE("a header while it does not parse") {
  Edited e(kModule);
  const std::string_view header = "x: R.Tensor((4, 4), \"float32\"), s:";
  e.change(header, "x: R.Tensor((4, 4), \"float32\", s:");
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.diagnostics().all().size() == 1);
  e.change("v = R.add(k, u)", "v = R.add(k, k)");  // meanwhile, in its body
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().statements == 0);
  e.change("            v = R.add(k, k)\n", "            vv = R.exp(k)\n            v = R.add(k, vv)\n");
  e.change("y = R.nn.relu(x)", "y = R.nn.gelu(x)");  // and in a callee
  e.change("x: R.Tensor((4, 4), \"float32\", s:", header);
  CHECK(e.document.result().ok);
  e.change("def main(x", "def main(more: R.Any, x");
  CHECK(e.document.result().ok);
}

TEST_CASE("a header that is typed into a body, before its block") {
  Edited e(kModule);
  const std::string line = "        z = cls.loose(gv)\n";
  for (const std::string_view typed : {"if", "if c", "else:", "elif c:", "for i in", "with", "with R.dataflow()", "def",
                                       "@R.function", "except:", "if:\n            k1 = x"}) {
    CAPTURE(typed);
    e.change(line, "        " + std::string(typed) + "\n" + line);
    CHECK(!e.document.last_read().whole);
    CHECK(e.document.last_read().statements <= 6);
    CHECK(e.document.diagnostics().error_count() == 1);  // and nothing around it
    e.change("y = R.nn.relu(x)", "y = R.nn.gelu(x)");
    CHECK(!e.document.last_read().whole);
    e.change("y = R.nn.gelu(x)", "y = R.nn.relu(x)");
    e.change("        " + std::string(typed) + "\n" + line, line);
    CHECK(e.document.result().ok);
  }
}

TEST_CASE("headers and decorators that the grammar reads with the line below") {
  Edited header(R"(@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer((4,), "float32")):
        for i in
 T.serial(4):
            A[i] = A[i]
        if A[0] > T.float32(1) and
 A[1] > T.float32(1):
            A[0] = A[1]
)");
  header.change("A[i] = A[i]", "A[i] = A[i] A[i]");
  Edited joined(R"(@I.ir_module
class Module:
    \
    @R.function
    def g(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.add(x, x)
        return y
)");
  joined.change("R.add(x, x)", "R.add(x x)");
  Edited moved(R"(@I.ir_module
classModule:
    @T.prim_func
    def k(A: T.Buffer((4,), "float32")):
        B[0] = A[1] + A[0]
        A[1] = A[0] + A[2]
)");
  moved.change("        B[0]", "B[0]");
}

TEST_CASE("a line end that is joined before an if, also with a carriage return") {
  for (const std::string_view end : {"\n", "\r\n"}) {
    std::string text =
        "@R.function\ndef f(x: R.Tensor((2,), \"float32\"), c: R.Tensor((), \"bool\")) -> R.Tensor((2,), "
        "\"float32\"):\n    \\\n    if c:\n        a = R.add(x, x)\n    else:\n        a = \\\n        "
        "R.exp(x)\n    return a\n";
    for (std::size_t at = 0; end.size() == 2 && (at = text.find('\n', at)) != std::string::npos; at += 2)
      text.insert(at, 1, '\r');
    source::SourceManager sources;
    CHECK(Document(sources, "test.py", text).diagnostics().all().empty());
  }
}

TEST_CASE("an error in a decorator is one of its function") {
  Edited e(kModule);
  e.change("@R.function(private=True)\n    def loose", "@R.function(private=b)\n    def loose");
  CHECK(!e.document.result().ok);
}

TEST_CASE("a name of a branch is known to be one while the branch is kept") {
  Edited e(kModule);
  e.change("r = R.add(q, w)", "r = R.add(q, p)");
  CHECK(e.document.diagnostics().all().at(0).notes.size() == 1);
}

TEST_CASE("a decorator that is typed leaves the class around it a class") {
  Edited e(kModule);
  for (const std::string_view typed : {"@R.", "@R.f.", "@R..f"}) {
    e.change("@R.function", typed);
    bool only_there = e.document.diagnostics().has_errors();
    const std::size_t at = e.document.text().find(typed);
    const std::size_t body = e.document.text().find(":\n", at);
    for (const source::Diagnostic& d : e.document.diagnostics().all())
      only_there = only_there && d.span.begin >= at && d.span.begin < body;
    CAPTURE(typed);
    CHECK(only_there);
    e.change(typed, "@R.function");
    CHECK(e.document.result().ok);
  }
}

TEST_CASE("after an edit of a header, the statements that see its variables unchanged are kept") {
  Edited e(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        a = R.add(x, x)
        b = R.add(a, a)
        c = R.add(b, y)
        return c
)");
  e.change("y: R.Tensor((\"n\", 4), \"float32\")", "y: R.Tensor((\"n\", 1), \"float32\")");
  CHECK(e.document.last_read().statements == 1);  // that of c
  e.change("def main(x", "def main(w: R.Shape([\"m\"]), x");
  CHECK(e.document.last_read().statements == 0);
  e.change("(\"n\", 4), \"float32\"), y", "(\"m\", 4), \"float32\"), y");
  CHECK(e.document.last_read().statements == 3);
  CHECK(!e.document.last_read().whole);
}

TEST_CASE("values in between do not get the names of the text's bindings, wherever these are") {
  Edited e(kNested);
  const auto bound = [&] {
    std::multiset<std::string> names;
    ir::walk(e.document.result().module->find("main"), [&](const ir::Node* n) {
      if (const auto* b = ir::as<ir::Binding>(n)) names.emplace(b->var->name);
      return true;
    });
    return names;
  };
  const auto names = bound();
  for (const char* name : {"first", "lv1", "lv3", "a", "gv1", "lv7", "u", "gv4"})
    CHECK_MESSAGE(names.count(name) == 1, name);
  e.change("gv4 = R.add(R.exp(u), u)\n        return gv4", "gv2 = R.add(R.exp(u), u)\n        return gv2");
  CHECK(bound().count("gv2") == 1);
  CHECK(bound().count("gv4") <= 1);
  e.change("a = R.add(R.exp(lv3)", "lv = R.exp(x)\n            a = R.add(R.exp(lv)");
  CHECK(bound().count("lv") == 1);
  e.change("lv = R.exp(x)\n            a", "lv = x  # lv5\n            a");
  e.change("lv = x  # lv5", "lv5 = x");
  e.change("R.exp(lv)", "R.exp(lv5)");
}

TEST_CASE("a name that no value in between would get leaves statements with such values as they are") {
  Edited e(kNested);
  e.change("R.exp(x), R.exp(x))", "R.exp(x), x)");  // one value less: those behind it are numbered anew
  CHECK(e.document.last_read().statements > 3);
  e.change("return gv4", "lv90 = R.exp(gv4)\n        return gv4");
  CHECK(e.document.last_read().statements == 1);
}

TEST_CASE("outputs, symbolic variables, names, headers") {
  Edited e(kModule);
  e.change("R.output(gv)", "R.output(gv, lv3)");
  e.change("R.output(gv, lv3)", "R.output(gv)");
  e.change("m = T.int64()", "m = T.int32()");
  e.change("m = T.int32()", "m = T.int64()");
  e.change("def helper", "def helper2");
  e.change("def helper2", "def helper");
  e.change("x: R.Tensor((4, 4), \"float32\"), s", "x: R.Tensor((4, 4), \"float32\"), extra: R.Any, s");
  CHECK(!e.document.last_read().whole);
  e.change("@R.function\n    def main", "@R.function(pure=False)\n    def main");
  e.change("import relax as R", "import relax as RR");
}

TEST_CASE("what was right in an impure function is looked at again when the function becomes pure") {
  Edited e(R"(@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.add(x, x)
        u = R.print(a, format="{}")
        return a
)");
  CHECK(!e.document.diagnostics().has_errors());
  e.change("@R.function(pure=False)", "@R.function");
  CHECK(e.document.diagnostics().has_errors());
  e.change("        a = R.add", "        R.func_attr({\"relax.force_pure\": True})\n        a = R.add");
  CHECK(!e.document.diagnostics().has_errors());
  e.change("\"relax.force_pure\": True", "\"relax.force_pure\": False");
  CHECK(e.document.diagnostics().has_errors());
}

TEST_CASE("kernels are read by how they are called") {
  Edited e(kModule);
  const std::string_view today = "R.call_tir(cls.twice, (lv,), out_ty=R.Tensor((4, 4), \"float32\"))";
  e.change(", B: T.Buffer((T.int64(4), T.int64(4)), \"float32\")):",
           ", B: T.Buffer((T.int64(4), T.int64(4)), \"float32\"), k: T.int64):");
  e.change(today, "R.call_tir(cls.twice, (lv,), out_ty=R.Tensor((4, 4), \"float32\"), tir_vars=R.shape([3]))");
  e.change("tir_vars=R.shape([3])", "tir_vars=R.shape([5])");
  e.change("(cls.twice, (lv,), out_ty=R.Tensor((4, 4), \"float32\"), tir_vars",
           "(cls.twice, (lv,), out_ty=[R.Tensor((4, 4), \"float32\")], tir_vars");
  e.change("tir_vars", "tir_var");
}

TEST_CASE("an edit by an editor's lines and columns") {
  Edited e("# caf\xc3\xa9 \xf0\x9f\x90\x88 x\n" + std::string(kModule));
  // After the cat, which is two units: column 11 is the x.
  CHECK(e.document.edit({1, 11}, {1, 12}, "y"));
  CHECK(e.document.text().substr(0, 14) == "# caf\xc3\xa9 \xf0\x9f\x90\x88 y");
  CHECK(difference(e.document, e.sources) == "");
  CHECK(!e.document.edit(6, 7, ""));  // not a place to cut: the first byte of two
  CHECK(!e.document.edit(5, 4, ""));
  CHECK(!e.document.edit(0, 1u << 30, ""));
}

TEST_CASE("texts that cannot be read, and back") {
  Edited e(kModule);
  e.document.replace_all("");
  CHECK(!e.document.result().ok);
  CHECK(e.document.edit(0, 0, kModule));
  CHECK(difference(e.document, e.sources) == "");
  CHECK(e.document.edit(10, 10, std::string_view("\0", 1)));
  CHECK(!e.document.result().ok);
  CHECK(e.document.edit(10, 11, ""));
  CHECK(difference(e.document, e.sources) == "");
}

TEST_CASE("a bracket that takes in more than can be read is waited out") {
  std::string text(kModule.substr(0, kModule.find("        z = cls.loose(gv)")));
  for (int i = 0; i < 9000; ++i) text += "        x" + std::to_string(i) + " = R.add(x, x)\n";
  text += "        return x\n";
  Edited e(text);
  CHECK(e.document.result().ok);
  e.change("x0 = R.add(x, x)", "x0 = R.add(x, x");
  CHECK(!e.document.result().ok);
  REQUIRE(e.document.diagnostics().all().size() == 1);
  CHECK(e.document.diagnostics().all()[0].message.find("never closed") != std::string::npos);
  e.change("x7 = R.add(x, x)", "x7 = R.add(x, x0)");  // meanwhile elsewhere
  e.change("x0 = R.add(x, x", "x0 = R.add(x, x)");
  CHECK(e.document.result().ok);
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().statements < 20);
}

TEST_CASE("functions that come and go leave the others as they are") {
  const std::string added =
      "    @R.function\n    def more(x: R.Tensor((4, 4), \"float32\")) -> R.Tensor((4, 4), \"float32\"):\n        y = "
      "R.exp(x)\n        return y\n\n";
  const std::string header = "    @R.function\n    def main(x";
  Edited e(kModule);
  e.insert(header, added);
  CHECK(!e.document.last_read().whole);
  CHECK(e.document.last_read().functions == 1);
  e.change("y = R.exp(x)\n", "y = R.log(x)\n");
  CHECK(e.document.last_read().statements == 1);
  // One that calls it is read, too, when it goes.
  e.change("z = cls.loose(gv)", "z = cls.more(gv)");
  CHECK(!e.document.last_read().whole);
  e.change(added.substr(0, added.find("R.exp(x)")) + "R.log(x)\n        return y\n\n", "");
  CHECK(e.document.diagnostics().error_count() == 1);
  e.change("z = cls.more(gv)", "z = cls.loose(gv)");
  CHECK(e.document.result().ok);
}

TEST_CASE("a function that is typed between others") {
  Edited e(kModule);
  const std::string header = "    @R.function\n    def main(x";
  const std::string typed =
      "    @R.function\n    def more(x: R.Tensor((4, 4), \"float32\")):\n        y = R.exp(x)\n        return y\n";
  std::size_t at = e.document.text().find(header);
  for (const char c : typed) {
    const auto place = static_cast<std::uint32_t>(at++);
    REQUIRE(e.document.edit(place, place, std::string(1, c)));
    CAPTURE(typed.substr(0, at - e.document.text().find(header)));
    CHECK(difference(e.document, e.sources) == "");
  }
  CHECK(e.document.result().ok);
}

TEST_CASE("an edit with which a function needs itself") {
  Edited e(
      "@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((4, 4), \"float32\")):\n"
      "        z = R.add(x, x)\n        return z\n");
  e.change("return z", "return main");
  e.change("return main", "return z");
  CHECK(e.document.result().ok);
  Edited two(
      "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((4, 4), \"float32\")):\n"
      "        a = R.exp(x)\n        return a\n    @R.function\n    def main(x: R.Tensor((4, 4), \"float32\")):\n"
      "        y = f(x)\n        z = R.multiply(y, y)\n        return z\n");
  two.change("return a", "return main(x)");
}

TEST_CASE("statements that fall out of a function are reported") {
  const std::string header =
      "@I.ir_module\nclass M:\n    @R.function\n    def h(x: R.Tensor((\"a\", \"b\"), \"float32\")):\n";
  Edited e(header + "        a = T.int64()\n        return gw\n");
  const auto at = static_cast<std::uint32_t>(e.document.text().find("    a = T"));
  REQUIRE(e.document.edit(at, at, "R.output("));
  CHECK(difference(e.document, e.sources) == "");
  Edited deep(header + "            return gw\n");
  deep.insert("        return gw", "return a + 1");
  Edited other(header + "class Other:\n        retur    pass\n");
  other.change("retur    pass", "return    pass");
}

TEST_CASE("a function whose name is damaged is still there") {
  Edited e(kModule);
  e.change("def helper", "def )helper");
  CHECK(e.document.diagnostics().error_count() == 1);
  e.change("def )helper", "def helper");
  CHECK(e.document.result().ok);
}

TEST_CASE("a header that cuts a function in two, and back") {
  for (const std::string_view header : {"    def cut(x):\n", "def cut(x):\n", "class Cut:\n"}) {
    CAPTURE(header);
    Edited e(kModule);
    const std::string line = "        u = inner(w)\n";
    e.insert(line, header);
    CHECK(!e.document.last_read().whole);
    e.change(header, "");
    CHECK(!e.document.last_read().whole);
    CHECK(e.document.result().ok);
  }
}

TEST_CASE("lines above the class leave its functions as they are") {
  for (const std::string_view line :
       {"# a comment\n", "x =\n", "x\n", "import numpy as np\n", "impor\n", "from tvm.script import\n", "f(\n",
        "def plain(x):\n    pass\n", "class Plain:\n    pass\n", "import a asR\n", "x; y\n", "x  # y\n"}) {
    CAPTURE(line);
    Edited e(kModule);
    e.insert("@I.ir_module", line);
    if (line == "# a comment\n" || line == "x =\n" || line == "import numpy as np\n" || line == "impor\n")
      CHECK(!e.document.last_read().whole);
    e.change(line, "");
    CHECK(e.document.result().ok);
  }
  Edited e(kModule);
  e.change("import relax as R", "import as R");
  CHECK(!e.document.last_read().whole);
  e.change("import as R", "import relax as R");
  CHECK(!e.document.last_read().whole);
  // One that tells how to read the rest.
  e.change("import tirx as T", "impor tirx as T");
  CHECK(e.document.last_read().whole);
  e.change("impor tirx as T", "import tirx as T");
  e.insert("@I.ir_module", "from tvm.script import ir as R\n");
  CHECK(e.document.last_read().whole);
}

TEST_CASE("a class in a function, or among them") {
  for (const std::string_view header : {"    class Cut:\n", "    class Cut\n", "    @I.ir_module\n    class Cut:\n"}) {
    CAPTURE(header);
    Edited e(kModule);
    e.insert("        u = inner(w)\n", header);
    e.change(header, "");
    CHECK(e.document.result().ok);
    e.insert("    @R.function\n    def main(x", "    class Among:\n        y = 1\n");
    CHECK(!e.document.last_read().whole);
    e.change("    class Among:\n        y = 1\n", "");
    CHECK(!e.document.last_read().whole);
  }
}

TEST_CASE("a call of a function that is missing in a text that was longer") {
  const std::string comment = "        # " + std::string(200, '-') + "\n";
  const auto function = [](const std::string& name, const std::string& value, const std::string& line) {
    return "    @R.function\n    def " + name + "(x: R.Tensor((4,), \"float32\")):\n        y = " + value + "\n" +
           line + "        return y\n\n";
  };
  Edited e("from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n" +
           function("f", "R.exp(x)", comment) + function("g", "Module.f(x)", ""));
  e.change(comment, "");
  e.change("R.exp(x)", "R.exp(x");
  e.change("Module.f(x)", "Module.missing(x)");
  e.change("R.exp(x", "R.exp(x)");
  CHECK(e.document.diagnostics().error_count() == 1);
}

TEST_CASE("a call of a function that is missing, after an edit of its line was taken back") {
  std::string text(kModule);
  const std::size_t name = text.find("def twice");
  text.insert(name + 9, "s");
  source::SourceManager sources;
  Document document(sources, "test.py", text);
  CHECK(difference(document, sources) == "");
  const auto at = static_cast<std::uint32_t>(text.find("lv1 = R.call_tir") - 1);
  REQUIRE(document.edit(at, at, "("));
  CHECK(difference(document, sources) == "");
  REQUIRE(document.edit(at, at + 1, ""));
  CHECK(difference(document, sources) == "");
}

TEST_CASE("lines that the grammar joins: a decorator without its name, an import that goes on") {
  const auto check = [](std::string_view from, std::string_view to, std::string_view at, std::string_view inserted) {
    std::string text(kModule);
    text.replace(text.find(from), from.size(), to);
    source::SourceManager sources;
    Document document(sources, "test.py", text);
    const auto place = static_cast<std::uint32_t>(text.find(at) + at.size());
    REQUIRE(document.edit(place, place, inserted));
    CHECK(difference(document, sources) == "");
    REQUIRE(document.edit(place, place + static_cast<std::uint32_t>(inserted.size()), ""));
    CHECK(difference(document, sources) == "");
  };
  check("@I.ir_module", "@I.ir_module", "@", "\n");
  check("from tvm.script import relax", "from tvm\n.script import relax", "lv1)", "(");
  check("if c:", "if c:", "if c", "\n");
  check("if c:", "for i\nin[1, 2]:", "for i", "d");
  check("if c:", "if c\n@c:", "if c", "d");
  check("first = cls.helper(x)", "if c\n        r\"a\"", "if c", "d");
  check("from tvm.script import relax as R", "from tvm.script\nimport relax as R", "lv1)", "(");
  check("first = cls.helper(x)", "\"\"\"\n        with the size\n        of\n        \"\"\"", "with the size", "s");
  check("R.output(gv)", "R.output(gv)", "R.output(gv)\n", "        if c\n");
  check("R.output(gv)", "R.output(gv)", "R.output(gv)\n", "            for i in\n");
  check("R.output(gv)", "R.output(gv)", "R.output(gv)\n", "        with R.dataflow()\n");
}

TEST_CASE("a header being typed above the first statement of a function whose signature has an error") {
  std::string text(kModule);
  const std::string_view result = "-> R.Tensor((\"n\", 4), \"float32\"):\n";
  text.replace(text.find(result), result.size(), "-> vi.Tensor((\"n\", 4), \"float32\"):\n");
  const auto place = static_cast<std::uint32_t>(text.find("        n = T.int64()"));
  for (const std::string_view typed : {"      class  ", "        if x\n", "        for i in\n", "        def f(\n"}) {
    source::SourceManager sources;
    Document document(sources, "test.py", text);
    REQUIRE(document.edit(place, place, typed));
    CHECK(difference(document, sources) == "");
    REQUIRE(document.edit(place, place + static_cast<std::uint32_t>(typed.size()), ""));
    CHECK(difference(document, sources) == "");
  }
}

TEST_CASE("a decorator above a deeper header without its colon") {
  std::string text(kModule);
  const std::size_t at = text.find("    def loose");
  const std::size_t colon = text.find(":\n", at);
  text.replace(colon, 2, "\n    ");
  source::SourceManager sources;
  Document document(sources, "test.py", text);
  CHECK(difference(document, sources) == "");
  const auto place = static_cast<std::uint32_t>(at);
  REQUIRE(document.edit(place, place, "    "));
  CHECK(difference(document, sources) == "");
}

TEST_CASE("an `else` with its block on its line is one wherever it was met before") {
  std::string text(kModule);
  const std::string_view lines = "else:\n            w";
  text.replace(text.find(lines), lines.size(), "else:           w");
  source::SourceManager sources;
  for (int i = 0; i < 3; ++i) CHECK_FALSE(Document(sources, "test.py", text).diagnostics().has_errors());
}

TEST_CASE("an edit below a damaged function whose decorator has an error") {
  const std::string text = R"(@R.function(private=rim)
def func func(x: R.Tensor(ndim=1, dtype="float32")):
    n = T.int64()
    i: R.Prim("int32") = 2
    u: R.Prim("uint8") = 3
    z = R.add(x, x)
)";
  source::SourceManager sources;
  Document document(sources, "test.py", text);
  CHECK(difference(document, sources) == "");
  const auto place = static_cast<std::uint32_t>(text.find("= 3") + 2);
  REQUIRE(document.edit(place, place + 1, ""));
  CHECK(difference(document, sources) == "");
  REQUIRE(document.edit(place, place, "3"));
  CHECK(difference(document, sources) == "");
}

}  // namespace
}  // namespace rldb::frontend
