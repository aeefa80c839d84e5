// The arguments of a node of a PyTorch graph, by the names of the operator's schema. Operands are numbers of the node's
// inputs, so that the graph is that of an ONNX model; everything else is a literal. Inside the room only.
#pragma once

#include <onnx.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::onnx {

struct Item {
  enum class Kind : std::uint8_t { None, Tensor, Symbol, Int, Real, Truth, Text };
  Kind kind = Kind::None;
  std::int64_t number = 0;  // Tensor, Symbol (a symbolic number): the operand; Int, Truth: the value
  double real = 0;
  std::string text;
};

struct Argument {
  std::string name;
  bool is_list = false;
  std::vector<Item> items;                    // one, or those of the list
  const ::onnx::GraphProto* graph = nullptr;  // a branch
};

struct Arguments {
  std::vector<Argument> all;

  // Null: it is not given, so that it is its schema's default.
  const Argument* find(std::string_view name) const {
    for (const Argument& a : all)
      if (a.name == name) return &a;
    return nullptr;
  }
};

}  // namespace rldb::onnx
