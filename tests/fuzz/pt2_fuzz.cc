// Fuzz target: archives of PyTorch. An input is the program, the table of weights and the pickle of the constants, with
// a zero byte after each of the first two; they are put into an archive whose checksums are right, so that their
// readers see them. Whatever they are, that ends with a module or with errors.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/mutate.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/onnx/model.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/memory.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".pt2parts"};

namespace {

void add_number(std::string& out, std::uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) out += char(v >> (8 * i));
}

std::uint32_t checksum(const std::string& bytes) {
  std::uint32_t crc = ~std::uint32_t(0);
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// Stored members.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out, directory;
  for (const auto& [name, data] : members) {
    std::string fields;
    add_number(fields, 20, 2);  // version; then flags, method, time, date
    add_number(fields, 0, 8);
    add_number(fields, checksum(data), 4);
    add_number(fields, data.size(), 4);
    add_number(fields, data.size(), 4);
    add_number(fields, name.size(), 2);
    add_number(fields, 0, 2);
    add_number(directory, 0x02014b50, 4);
    add_number(directory, 20, 2);
    directory += fields;
    add_number(directory, 0, 10);  // comment, disk, attributes
    add_number(directory, out.size(), 4);
    directory += name;
    add_number(out, 0x04034b50, 4);
    out += fields + name + data;
  }
  const std::size_t begin = out.size();
  out += directory;
  add_number(out, 0x06054b50, 4);
  add_number(out, 0, 4);
  add_number(out, members.size(), 2);
  add_number(out, members.size(), 2);
  add_number(out, directory.size(), 4);
  add_number(out, begin, 4);
  add_number(out, 0, 2);
  return out;
}

std::string archive_of(const std::string& input) {
  const std::size_t first = std::min(input.find('\0'), input.size());
  const std::size_t second = std::min(input.find('\0', first + 1), input.size());
  const std::string program = input.substr(0, first);
  const std::string table = first < input.size() ? input.substr(first + 1, second - first - 1) : "";
  const std::string pickle = second < input.size() ? input.substr(second + 1) : "";
  const std::string storage("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16);  // 1, 2, 3, 4
  const std::string saved = zip_of({{"a/data.pkl", pickle}, {"a/data/0", storage}});
  return zip_of({{"m/models/model.json", program},
                 {"m/data/weights/model_weights_config.json", table},
                 {"m/data/weights/weight_0", storage},
                 {"m/data/constants/model.pt", saved}});
}

std::string meta(const std::string& sizes, const std::string& strides) {
  return R"({"dtype": 7, "sizes": [)" + sizes + R"(], "strides": [)" + strides +
         R"(], "storage_offset": {"as_int": 0}, "layout": 7})";
}

std::string operand(const char* argument, const char* value) {
  return fmt::format(R"({{"name": "{}", "arg": {{"as_tensor": {{"name": "{}"}}}}}})", argument, value);
}
std::string literal(const char* argument, const char* value) {
  return fmt::format(R"(, {{"name": "{}", "arg": {}}})", argument, value);
}
std::string call(const char* target, const std::string& inputs, const char* outputs) {
  return fmt::format(R"({{"target": "torch.ops.aten.{}", "inputs": [{}], "outputs": [{}], "metadata": {{}}}})", target,
                     inputs, outputs);
}

// A few calls of one operand each, and of a weight or literals.
std::string nodes(Rng& rng) {
  const char* const y = R"({"as_tensor": {"name": "y"}})";
  const std::string x = operand("self", "x");
  const std::string calls[] = {
      call("add.Tensor", x + ", " + operand("other", "w"), y),
      call("view.default", x + literal("size", R"({"as_ints": [2, 2]})"), y),
      call("relu_.default", operand("self", "y"), R"({"as_tensor": {"name": "z"}})"),
      call("slice.Tensor", x + literal("dim", R"({"as_int": 0})") + literal("end", R"({"as_int": 1})"), y),
      call("sym_size.int", x + literal("dim", R"({"as_int": 0})"), R"({"as_sym_int": {"as_name": "n"}})"),
      call("full.default",
           R"({"name": "size", "arg": {"as_sym_ints": [{"as_name": "n"}, {"as_int": 2}]}})" +
               literal("fill_value", R"({"as_float": 0.5})"),
           y),
      call("split.Tensor", x + literal("split_size", R"({"as_int": 1})"),
           R"({"as_tensors": [{"name": "y"}, {"name": "z"}]})"),
      call("max_pool2d.default", x + literal("kernel_size", R"({"as_ints": [2, 2]})"), y)};
  std::string text;
  for (std::size_t k = 0; k < 1 + below(rng, 3); ++k)
    text += (k == 0 ? "" : ", ") + calls[below(rng, std::size(calls))];
  return text;
}

// A program of a parameter, a constant and a few calls.
std::string made(Rng& rng) {
  using namespace std::string_literals;
  const std::string two = R"({"as_int": 2})", one = R"({"as_int": 1})";
  const std::string symbolic = R"({"as_expr": {"expr_str": "2*s0 + 1"}})";
  const std::string w = meta(two + ", " + two, two + ", " + one);
  std::string values = R"("x": )" + meta((below(rng, 2) ? symbolic : two) + ", " + two, two + ", " + one);
  for (const char* name : {"w", "c", "y", "z"}) values += fmt::format(R"(, "{}": {})", name, w);
  std::string text = R"({"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [)" + nodes(rng) +
                     R"(], "tensor_values": {)" + values + R"(}}, "signature": {"input_specs": [)" +
                     R"({"parameter": {"arg": {"name": "w"}, "parameter_name": "w"}}, )" +
                     R"({"tensor_constant": {"arg": {"name": "c"}, "tensor_constant_name": "c"}}, )" +
                     R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}], "output_specs": [)" +
                     R"({"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}}, "opset_version": {"aten": 10}, )" +
                     R"("range_constraints": {"s0": {"min_val": 2, "max_val": 9}}, )" +
                     R"("schema_version": {"major": 8, "minor": 8}})";
  text += '\0';
  text += R"({"config": {"w": {"path_name": "weight_0", "use_pickle": false, "tensor_meta": )" + w + "}}}";
  text += '\0';
  // {'c': _rebuild_tensor_v2(storage '0', 0, (2, 2), (2, 1), False, OrderedDict())}
  text += "\x80\x02}X\1\0\0\0cctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"s;
  text += "X\1\0\0\0"s + "0" + "X\3\0\0\0cpuK\4tQK\0K\2K\2\x86K\2K\1\x86\x89"s;
  return text + "ccollections\nOrderedDict\n)RtRs.";
}

// Where the strings and numbers of a JSON text begin, and their sizes.
std::vector<std::pair<std::size_t, std::size_t>> tokens_of(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> made;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    if (text[at] == '"') end = std::min(text.find('"', at + 1), text.size() - 1) + 1;
    while (text[at] != '"' && end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end > at) made.emplace_back(at, end - at);
    at = std::max(at + 1, end);
  }
  return made;
}

// The text stays JSON: a string becomes another one of it, a number a string, another one or an odd one.
std::string with_other_tokens(std::string text, Rng& rng) {
  const char* const odd[] = {"-1", "0", "7", "1099511627776", "9223372036854775807", "-9223372036854775808", "1e300"};
  for (std::size_t k = 0; k < 1 + below(rng, 3); ++k) {
    const auto tokens = tokens_of(text);
    if (tokens.empty()) break;
    const auto [at, size] = tokens[below(rng, tokens.size())];
    const auto [from, length] = tokens[below(rng, tokens.size())];
    const bool is_string = text[at] == '"';
    if (is_string && text[from] != '"') continue;  // it may be the name of a field
    text.replace(at, size, is_string || below(rng, 3) ? text.substr(from, length) : odd[below(rng, std::size(odd))]);
  }
  return text;
}

}  // namespace

std::string run_one(const std::string& input) {
  support::set_memory_limit(support::memory_in_use() + (std::size_t(256) << 20));
  try {
    source::Diagnostics found;
    const auto model = onnx::read_model("/nowhere/fuzz.pt2", archive_of(input), found);
    if (!model) return found.has_errors() ? "" : "an archive that cannot be read has no error";
    (void)onnx::listing(*model);
    (void)onnx::operator_table(*model);
    ir::Context ctx;
    ops::install(ctx);
    const auto translation = onnx::to_relax(ctx, model, {}, {}, found);
    if (!translation) return found.has_errors() ? "" : "a program that cannot be translated has no error";
    (void)ir::print(translation->module, {});
    (void)ir::verify(ctx, translation->module, found);  // its rules may refuse a program that lies
  } catch (const std::bad_alloc&) {
    // A program may request more memory than allowed.
  }
  return {};
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  const std::string from = input.empty() || below(rng, 4) == 0 ? made(rng) : input;
  return below(rng, 8) == 0 ? mutate_bytes(from, pool, rng) : with_other_tokens(from, rng);
}

}  // namespace rldb::fuzz
