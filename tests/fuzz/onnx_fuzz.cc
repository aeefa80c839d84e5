// Fuzz target: ONNX models. A model is read, listed, translated and verified; whatever its bytes are, that ends with
// a module or with errors.
#include "fuzz/mutate.h"
#include "fuzz/wire.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/onnx/smaller.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/memory.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".onnx"};

namespace {

void add_varint(std::string& out, std::uint64_t v) {
  for (; v >= 128; v >>= 7) out += char(v | 128);
  out += char(v);
}
void add_field(std::string& out, int number, const std::string& bytes) {
  add_varint(out, std::uint64_t(number) << 3 | 2);
  add_varint(out, bytes.size());
  out += bytes;
}
void add_int(std::string& out, int number, std::uint64_t v) {
  add_varint(out, std::uint64_t(number) << 3);
  add_varint(out, v);
}

// A model of one node of some operator, if there are no files: fields by the numbers of onnx.proto.
std::string made(Rng& rng) {
  const char* const ops[] = {"Relu", "Add", "Reshape", "Conv", "Slice", "Loop", "Concat", "Resize", "LSTM", "Pad"};
  std::string shape, tensor_type, type, input;
  for (std::size_t k = 0; k < below(rng, 5); ++k) {
    std::string dim;
    add_int(dim, 1, below(rng, 4));
    add_field(shape, 1, dim);
  }
  add_int(tensor_type, 1, below(rng, 2) ? 1 : 7);
  add_field(tensor_type, 2, shape);
  add_field(type, 1, tensor_type);
  add_field(input, 1, "x");
  add_field(input, 2, type);
  std::string node, output, graph, import, model;
  for (std::size_t k = 0; k < 1 + below(rng, 4); ++k) add_field(node, 1, "x");
  add_field(node, 2, "y");
  add_field(node, 4, ops[below(rng, std::size(ops))]);
  add_field(output, 1, "y");
  add_field(graph, 1, node);
  add_field(graph, 11, input);
  add_field(graph, 12, output);
  add_int(import, 2, 1 + below(rng, 22));
  add_int(model, 1, 9);
  add_field(model, 7, graph);
  add_field(model, 8, import);
  return model;
}

}  // namespace

// Each change of a reduction makes a model that can be written, or none.
std::string try_changes(const onnx::Translation& translation) {
  using Changes = onnx::ModelChanges (*)(const onnx::ModelRef&, const onnx::Seen&);
  constexpr Changes kAll[] = {onnx::without_unread,   onnx::fewer_outputs,      onnx::earlier_outputs,
                              onnx::inlined_bodies,   onnx::operands_for_nodes, onnx::fewer_constants,
                              onnx::fewer_attributes, onnx::fewer_symbols,      onnx::smaller_dims};
  constexpr std::size_t kMost = 8;  // of each kind
  source::Diagnostics found;
  const onnx::ModelRef model = onnx::to_reduce(translation.model, {}, found);
  if (!model) return found.has_errors() ? "" : "a model that cannot be reduced has no error";
  const onnx::Seen seen{onnx::seen_values(translation, {}), std::nullopt};
  const auto attempt = [&](const onnx::ModelChanges& changes) {
    for (std::size_t i = 0; i < std::min(kMost, changes.size()); ++i)
      if (const auto made = changes[i].make(); made.model)
        (void)onnx::model_file(*onnx::with_output_types(made.model, seen));
  };
  for (const Changes changes : kAll) attempt(changes(model, seen));
  attempt(onnx::values_for_nodes(model, seen, 1));
  return {};
}

std::string run_one(const std::string& input) {
  support::set_memory_limit(support::memory_in_use() + (std::size_t(256) << 20));
  try {
    source::Diagnostics found;
    const auto model = onnx::read_model("/nowhere/fuzz.onnx", input, found);
    if (!model) return found.has_errors() ? "" : "a model that cannot be read has no error";
    (void)onnx::listing(*model);
    (void)onnx::operator_table(*model);
    ir::Context ctx;
    ops::install(ctx);
    const auto translation = onnx::to_relax(ctx, model, {}, {}, found);
    if (!translation) return found.has_errors() ? "" : "a model that cannot be translated has no error";
    (void)ir::print(translation->module, {});
    (void)ir::verify(ctx, translation->module, found);  // its rules may refuse a model that lies
    return try_changes(*translation);
  } catch (const std::bad_alloc&) {
    // A model may request more memory than allowed.
  }
  return {};
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  const std::string from = input.empty() || below(rng, 8) == 0 ? made(rng) : input;
  return below(rng, 4) == 0 ? mutate_bytes(from, pool, rng) : mutate_model(from, rng);
}

}  // namespace rldb::fuzz
