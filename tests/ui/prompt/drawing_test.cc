// Files written by the commands that draw and save, and the layout of graphs.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/layers.h"
#include "rldb/ui/render/table.h"
#include "ui/prompt/print_format.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

class Files {
 public:
  Files() : path_(std::filesystem::temp_directory_path() / fmt::format("rldb_drawing_{}", ::getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Files() { std::filesystem::remove_all(path_); }
  std::string at(const char* name) const { return (path_ / name).string(); }
  std::string read(const char* name) const {
    std::ifstream in(at(name));
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

struct Prompt {
  Prompt() : repl(CommandLine{}, console) {
    REQUIRE(repl.execute(":load " RLDB_SOURCE_DIR "/docs/examples/mlp.py") == Status::Good);
    REQUIRE(repl.execute(":input x 2x4xf32=1,-2,3,4,5,6,-7,8") == Status::Good);
    REQUIRE(repl.execute(":break main:lv1") == Status::Good);
    REQUIRE(repl.execute(":run main x") == Status::Good);
    console.take();
  }
  void good(const std::string& entry) {
    const Status status = repl.execute(entry);
    std::string reply;
    if (status != Status::Good) reply = console.take();
    INFO(entry, "\n", reply);
    CHECK(status == Status::Good);
  }
  CapturedConsole console;
  Repl repl;
};

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Is every element closed? Drawings have no comments and no text with tags in it.
bool is_closed(const std::string& svg) {
  return svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && count(svg, "<text") == count(svg, "</text>") &&
         count(svg, "<title>") == count(svg, "</title>");
}

}  // namespace

TEST_CASE("pictures are whole and refer to nothing outside of them") {
  Files files;
  Prompt p;
  for (const char* entry : {":plot x -o ", ":plot x[0] -o ", ":plot x --kind=hist -o ", ":plot [1, nan, inf] -o ",
                            ":plot [[nan, 1], [2, 3]] -o ", ":plot x[:0] -o ", ":storage -o ", ":graph main -o "}) {
    CAPTURE(entry);
    p.good(entry + files.at("x.svg"));
    const std::string svg = files.read("x.svg");
    CHECK(is_closed(svg));
    CHECK(count(svg, "http") == 1);  // the name space
    CHECK(count(svg, "nan") <= 1);   // in a title, never a coordinate
    std::filesystem::remove(files.at("x.svg"));
  }
}

TEST_CASE("a graph marks where the run is") {
  Files files;
  Prompt p;
  p.good(":graph main -o " + files.at("x.dot"));
  const std::string dot = files.read("x.dot");
  CHECK(dot.starts_with("digraph \"main\" {\n"));
  CHECK(dot.ends_with("}\n"));
  CHECK(count(dot, " -> ") == 9);  // 5 bindings of two operands, relu of one
  CHECK(count(dot, "fillcolor") == 1);
  CHECK(dot.find("lv1 = R.add(lv0, b0)") != std::string::npos);
}

TEST_CASE("what is saved is what is compared") {
  Files files;
  Prompt p;
  p.good(":save-value lv0[:, :3] " + files.at("a.npy"));
  p.good(":compare-value lv0[:, :3] @" + files.at("a.npy"));
  CHECK(p.console.take().find("equal: all 6 elements") != std::string::npos);
  p.good("print allclose(lv0[:, :3], @" + files.at("a.npy") + ")");
  CHECK(p.console.take().find("= True") != std::string::npos);
  CHECK(p.repl.execute(":compare-value lv0[:, :3] + 1 @" + files.at("a.npy")) == Status::Failed);
  CHECK(p.console.take().find("6 of 6 elements differ") != std::string::npos);
  p.good(":save-value (x, lv0) " + files.at("b.npz"));
  p.good("print @" + files.at("b.npz") + ":out1 == lv0");
  CHECK(p.repl.execute(":save-value (x, lv0) " + files.at("b.npy")) == Status::Failed);
}

TEST_CASE("displays stay when the program is run again") {
  Prompt p;
  p.good("display n + 1");
  CHECK(p.console.take() == "1: n + 1 = 3\n");
  p.good(":run main x");
  CHECK(p.console.take().find("1: n + 1 = 3\n") != std::string::npos);
  p.good("undisplay 1");
  p.good("next");
  CHECK(p.console.take().find("n + 1") == std::string::npos);
}

TEST_CASE("layers: inputs stand above, nothing overlaps") {
  // 0 -> 2, 1 -> 2, 2 -> 3, 0 -> 3 (over a layer).
  const std::vector<LayerNode> nodes{{40, {}}, {60, {}}, {30, {0, 1}}, {50, {2, 0}}};
  const LayerLayout layout = lay_out(nodes, 20, 50, 10);
  REQUIRE(layout.places.size() == 4);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const int from : nodes[i].inputs) CHECK(layout.places[std::size_t(from)].y < layout.places[i].y);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (layout.places[i].y == layout.places[k].y)
        CHECK(std::abs(layout.places[i].x - layout.places[k].x) >= (nodes[i].width + nodes[k].width) / 2);
  CHECK(layout.edges[3][1].size() == 4);  // straight down through the layer between
}

TEST_CASE("tables line up, by columns and not by bytes") {
  Table table({"name", "", "value"});
  table.add({"α", "", "1"});
  table.add({"longer", "", "2"});
  CHECK(table.text() == "name    value\nα       1\nlonger  2\n");
  Table wide({"name", "value"});
  wide.add({"a", "0123456789012345"});
  CHECK(wide.text(22) == "name  value\na     0123456789012345\n");
  CHECK(wide.text(16) == "name  value\na     0123456...\n");
  CHECK(wide.text(1) == "name  value\na     01234...\n");  // narrow columns stay
  CHECK(cut("αβγδε", 5) == "αβγδε");
  CHECK(cut("αβγδεζ", 5) == "αβ...");
}

TEST_CASE("print/FORMAT") {
  using runtime::Value;
  const auto as = [](const Value& v, char format) { return format_value_as(v, format, {}); };
  CHECK(as(Value::of_int(255), 'x') == "0xff");
  CHECK(as(Value::of_int(-1), 'u') == "18446744073709551615");
  CHECK(as(Value::of_float(1.0), 'x') == "0x3ff0000000000000");
  CHECK(as(Value::of_float(2.5), 'e') == "2.500000e+00");
  CHECK(as(Value::of_shape({10, 3}), 'd') == "shape(10, 3)");
  auto t = runtime::Tensor::empty({2, 2}, runtime::DType::Int(8)).value();
  for (int i = 0; i < 4; ++i) runtime::store_int(t->data() + i, runtime::DType::Int(8), i - 1);
  CHECK(as(Value(t), 'x') == "Tensor[(2, 2), \"int8\"]\n[[0xff 0x00]\n [0x01 0x02]]");
  CHECK(as(Value(t), 't') == "Tensor[(2, 2), \"int8\"]\n[[0b11111111 0b00000000]\n [0b00000001 0b00000010]]");
  CHECK(!split_format("/z x"));
  CHECK(split_format("/x y")->text == "y");
  CHECK(split_format("y / x")->format == '\0');
}
