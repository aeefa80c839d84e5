// The walk over the fields of the file (protobuf's wire format: a field is a key, number * 8 + kind, and its value).
#include "onnx/weights.h"

#include <cstdint>
#include <unordered_set>

#include "onnx/tensor.h"
#include "rldb/support/cancel.h"

namespace rldb::onnx {

namespace {

// Smaller data is not worth it.
constexpr std::size_t kFrom = 1024;

enum Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  std::uint8_t kind = 0;
  std::string_view whole;  // with the key
  std::string_view value;  // of kBytes
};

bool take_varint(std::string_view& from, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    value |= std::uint64_t(byte & 127) << (7 * i);
    if (byte & 128) continue;
    from.remove_prefix(i + 1);
    return true;
  }
  return false;
}

// The next field of a message. False: it is cut off, or of a kind that no writer of models uses.
bool take_field(std::string_view& from, Field& field) {
  const std::string_view before = from;
  std::uint64_t key = 0, length = 0;
  if (!take_varint(from, key) || key >> 3 == 0 || key >> 3 > INT32_MAX) return false;
  field.number = std::uint32_t(key >> 3);
  field.kind = std::uint8_t(key & 7);
  field.value = {};
  if (field.kind == kVarint) {
    if (!take_varint(from, length)) return false;
    length = 0;
  } else if (field.kind == kFixed64 || field.kind == kFixed32) {
    length = field.kind == kFixed64 ? 8 : 4;
  } else if (field.kind != kBytes || !take_varint(from, length)) {
    return false;
  }
  if (length > from.size()) return false;
  if (field.kind == kBytes) field.value = from.substr(0, std::size_t(length));
  from.remove_prefix(std::size_t(length));
  field.whole = before.substr(0, before.size() - from.size());
  return true;
}

void put_varint(std::string& to, std::uint64_t value) {
  for (; value > 127; value >>= 7) to += char(value | 128);
  to += char(value);
}

void put_message(std::string& to, std::uint32_t number, std::string_view bytes) {
  put_varint(to, std::uint64_t(number) << 3 | kBytes);
  put_varint(to, bytes.size());
  to += bytes;
}

class WeightWalk {
 public:
  ApartModel made;

  bool model(std::string_view from) {
    return fields(from, made.rest, pb::ModelProto::kGraphFieldNumber,
                  [&](std::string_view value, std::string& to) { return graph(value, to); });
  }

 private:
  int initialisers_ = 0;

  bool graph(std::string_view from, std::string& to) {
    return fields(from, to, pb::GraphProto::kInitializerFieldNumber,
                  [&](std::string_view value, std::string& inner) { return initialiser(value, inner); });
  }

  bool initialiser(std::string_view from, std::string& to) {
    support::poll();
    const int index = initialisers_++;
    std::string_view data;
    for (Field f; !from.empty();) {
      if (!take_field(from, f)) return false;
      const bool is_data = f.kind == kBytes && f.number == pb::TensorProto::kRawDataFieldNumber;
      // The last of several is the one that counts: protobuf is to find it.
      if (is_data && !data.empty()) return false;
      if (!is_data || f.value.size() < kFrom) {
        to += f.whole;
        continue;
      }
      data = f.value;
    }
    if (!data.empty()) made.weights.push_back({index, data});
    return true;
  }

  // Copies a message; fields with this number are messages that `inside` copies.
  template <class Inside>
  bool fields(std::string_view from, std::string& to, int number, Inside&& inside) {
    for (Field f; !from.empty();) {
      if (!take_field(from, f)) return false;
      if (f.kind != kBytes || f.number != std::uint32_t(number)) {
        to += f.whole;
        continue;
      }
      std::string inner;
      if (!inside(f.value, inner)) return false;
      put_message(to, f.number, inner);
    }
    return true;
  }
};

using Names = std::unordered_set<std::string_view>;

template <class Nodes>
void add_inner_initialisers(const Nodes& nodes, Names& names) {
  const auto add = [&](const pb::GraphProto& graph) {
    for (const auto& t : graph.initializer()) names.insert(t.name());
    add_inner_initialisers(graph.node(), names);
  };
  for (const auto& n : nodes)
    for (const auto& a : n.attribute()) {
      if (a.has_g()) add(a.g());
      for (const auto& g : a.graphs()) add(g);
    }
}

// Names of more than one initialiser, in graphs inside too: a weight is found by its name.
Names shared_names(const pb::ModelProto& model) {
  Names seen, shared;
  for (const auto& t : model.graph().initializer())
    if (!seen.insert(t.name()).second) shared.insert(t.name());
  add_inner_initialisers(model.graph().node(), shared);
  for (const auto& f : model.functions()) add_inner_initialisers(f.node(), shared);
  return shared;
}

}  // namespace

std::optional<ApartModel> weights_apart(std::string_view file) {
  if (file.size() < kFrom) return std::nullopt;
  WeightWalk walk;
  if (!walk.model(file) || walk.made.weights.empty()) return std::nullopt;
  return std::move(walk.made);
}

void take_weights(Model& model, const ApartModel& apart) {
  auto& all = *model.proto.mutable_graph()->mutable_initializer();
  const Names shared = shared_names(model.proto);
  for (const ApartWeight& weight : apart.weights) {
    support::poll();
    auto& t = all[weight.initialiser];
    const bool alone = t.data_location() != pb::TensorProto::EXTERNAL && !shared.contains(t.name());
    if (alone) {
      if (auto value = tensor_of_bytes(t, weight.bytes); value.ok()) {
        model.weights[t.name()] = std::move(value).value();
        continue;
      }
    }
    t.set_raw_data(weight.bytes.data(), weight.bytes.size());
  }
}

}  // namespace rldb::onnx
