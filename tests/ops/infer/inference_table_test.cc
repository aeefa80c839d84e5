// Runs tests/ops/inference/*.txt.
#include "ops/infer/inference_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "golden/golden.h"
#include "rldb/ops/op_info.h"

using namespace rldb;
using ops::testing::Case;
using ops::testing::Line;

namespace {

constexpr std::string_view kTables = "ops/inference";

// How much is known of a case's inputs.
struct Forms {
  bool fixed = false;
  bool symbolic = false;
  bool unknown = false;
};

void note_form(const Case& c, Forms& forms) {
  std::string all = c.expression + " ";
  for (const std::string& input : c.inputs) all += input + " ";
  bool symbolic = false;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const auto is_word = [](char ch) { return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_'; };
    const bool dim = all[i] == 'n' || all[i] == 'm' || all[i] == 'k';
    const bool keyword = all[i + 1] == '=';
    if (dim && !keyword && !is_word(all[i + 1]) && (i == 0 || !is_word(all[i - 1]))) symbolic = true;
  }
  bool unknown = false;
  for (std::string_view mark : {"ndim=", "[*]", "[=", "?["})
    for (const std::string& input : c.inputs) unknown = unknown || input.find(mark) != input.npos;
  if (unknown)
    forms.unknown = true;
  else if (symbolic)
    forms.symbolic = true;
  else
    forms.fixed = true;
}

// Inference depends on the shape of some argument.
bool depends_on_shapes(const ops::OpInfo& info) {
  return std::any_of(info.args.begin(), info.args.end(), [](const ops::ArgInfo& a) {
    return a.kind == ops::ArgKind::Tensor || a.kind == ops::ArgKind::Tensors || a.kind == ops::ArgKind::Shape;
  });
}

}  // namespace

TEST_CASE("tests/ops/inference: types of calls, and every row of the registry has its cases") {
  std::map<std::string, Forms> seen;
  golden::check_files(kTables, [&](const std::string& text) {
    std::string made;
    for (Line& line : ops::testing::read_table(text)) {
      if (line.is_case) {
        const ops::testing::Outcome outcome = ops::testing::run_case(line.c);
        for (const std::string& op : outcome.ops) note_form(line.c, seen[op]);
        line.c.expected = outcome.text;
      }
      made += (line.is_case ? ops::testing::write_case(line.c) : line.text) + "\n";
    }
    return made;
  });
  if (golden::selective()) return;
  for (const ops::OpInfo& info : ops::all()) {
    const auto it = seen.find(std::string(info.name));
    CHECK_MESSAGE(it != seen.end(), info.name << " has no case");
    if (it == seen.end() || !depends_on_shapes(info)) continue;
    CHECK_MESSAGE(it->second.fixed, info.name << " has no case of static shapes");
    CHECK_MESSAGE(it->second.symbolic, info.name << " has no case of symbolic shapes");
    CHECK_MESSAGE(it->second.unknown, info.name << " has no case of unknown shapes");
  }
}

// ---- legalisation of variations of the cases ----

namespace {

std::string replaced(const std::string& s, std::size_t from, std::size_t to, std::string_view by) {
  return s.substr(0, from) + std::string(by) + s.substr(to);
}

// The type with another dtype, dim or rank, in the notation of the tables.
std::vector<std::string> neighbours(const std::string& type) {
  std::vector<std::string> out;
  for (std::size_t open = type.find('['); open != type.npos; open = type.find('[', open + 1)) {
    std::size_t head = open;
    while (head > 0 && std::isalnum(static_cast<unsigned char>(type[head - 1]))) --head;
    const std::size_t close = type.find(']', open);
    if (head == open || type[head] == 'S' || close == type.npos || type.substr(head, 4) == "mesh") continue;
    for (std::string_view dtype : {"f32", "f16", "i64", "u8", "bool"}) out.push_back(replaced(type, head, open, dtype));
    const std::string dims = type.substr(open + 1, close - open - 1);
    if (dims.find('=') != dims.npos || dims == "*") continue;
    const std::size_t comma = std::min(dims.find(','), dims.size());
    for (std::string_view dim : {"1", "0", "n"}) {
      out.push_back(replaced(type, open + 1, open + 1 + comma, dim));
      out.push_back(replaced(type, open + 1, open + 1, std::string(dim) + (dims.empty() ? "" : ", ")));
      const std::size_t last = dims.rfind(',');
      if (last != dims.npos) out.push_back(replaced(type, open + 1 + last, close, ", " + std::string(dim)));
    }
    out.push_back(replaced(type, open + 1, open + 1 + std::min(comma + 1, dims.size()), ""));
  }
  return out;
}

}  // namespace

TEST_CASE("legalize: what is near to the cases of the tables is lowered or refused") {
  int lowered = 0;
  for (const std::filesystem::path& path : golden::files_of(kTables))
    for (const Line& line : ops::testing::read_table(golden::read(path))) {
      if (!line.is_case || !line.c.expected.starts_with("->")) continue;
      std::vector<Case> all{line.c};
      for (std::size_t i = 0; i < line.c.inputs.size(); ++i)
        for (const std::string& type : neighbours(line.c.inputs[i])) {
          all.push_back(line.c);
          all.back().inputs[i] = type;
        }
      for (const Case& c : all) {
        const ops::testing::Lowering result = ops::testing::legalise_case(c);
        CHECK_MESSAGE(result.trouble.empty(), c.expression << ops::testing::write_case(c) << "\n" << result.trouble);
        lowered += result.lowered;
      }
    }
  CHECK(lowered > 3000);
}
