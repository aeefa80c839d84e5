#include "fuzz/wire.h"

#include <cstdint>
#include <iterator>
#include <utility>

namespace rldb::fuzz {

namespace {

// Messages of onnx.proto.
enum class Kind { Bytes, Model, Import, Graph, Node, Attribute, Tensor, Value, Type, TensorType, Shape, Dim, Function };

struct Inner {
  Kind of;
  int number;
  Kind kind;
};
constexpr Inner kInner[] = {
    {Kind::Model, 7, Kind::Graph},      {Kind::Model, 8, Kind::Import},     {Kind::Model, 25, Kind::Function},
    {Kind::Graph, 1, Kind::Node},       {Kind::Graph, 5, Kind::Tensor},     {Kind::Graph, 11, Kind::Value},
    {Kind::Graph, 12, Kind::Value},     {Kind::Graph, 13, Kind::Value},     {Kind::Node, 5, Kind::Attribute},
    {Kind::Attribute, 5, Kind::Tensor}, {Kind::Attribute, 6, Kind::Graph},  {Kind::Value, 2, Kind::Type},
    {Kind::Type, 1, Kind::TensorType},  {Kind::TensorType, 2, Kind::Shape}, {Kind::Shape, 1, Kind::Dim},
    {Kind::Function, 7, Kind::Node},    {Kind::Function, 9, Kind::Import},  {Kind::Function, 11, Kind::Attribute},
};

struct Field {
  int number = 0;
  int wire = 0;             // 0: a number, 1 and 5: 8 and 4 bytes, 2: bytes or a message
  std::uint64_t value = 0;  // of a number
  std::string bytes;
  Kind kind = Kind::Bytes;
  std::vector<Field> fields;  // of a message
};

Kind inner_kind(Kind of, int number) {
  for (const Inner& i : kInner)
    if (i.of == of && i.number == number) return i.kind;
  return Kind::Bytes;
}

bool read_varint(std::string_view& in, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto c = static_cast<unsigned char>(in[0]);
    in.remove_prefix(1);
    value |= std::uint64_t(c & 127) << shift;
    if (c < 128) return true;
  }
  return false;
}

bool read_fields(std::string_view in, Kind kind, std::vector<Field>& fields, int depth = 0) {
  constexpr int kMostLevels = 60;
  if (depth > kMostLevels) return false;
  while (!in.empty()) {
    Field f;
    std::uint64_t key = 0, size = 0;
    if (!read_varint(in, key)) return false;
    f.number = int(key >> 3 & 0xffff);
    f.wire = int(key & 7);
    if (f.wire == 0) {
      if (!read_varint(in, f.value)) return false;
    } else {
      size = f.wire == 1 ? 8 : 4;
      if (f.wire == 2 && !read_varint(in, size)) return false;
      if (f.wire > 5 || f.wire == 3 || f.wire == 4 || size > in.size()) return false;
      f.bytes = in.substr(0, std::size_t(size));
      in.remove_prefix(std::size_t(size));
      f.kind = f.wire == 2 ? inner_kind(kind, f.number) : Kind::Bytes;
      if (f.kind != Kind::Bytes && !read_fields(f.bytes, f.kind, f.fields, depth + 1)) return false;
    }
    fields.push_back(std::move(f));
  }
  return true;
}

void write_varint(std::string& out, std::uint64_t v) {
  for (; v >= 128; v >>= 7) out += char(v | 128);
  out += char(v);
}

std::string written(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& f : fields) {
    write_varint(out, std::uint64_t(f.number) << 3 | std::uint64_t(f.wire));
    const std::string bytes = f.kind == Kind::Bytes ? f.bytes : written(f.fields);
    if (f.wire == 0) write_varint(out, f.value);
    if (f.wire == 2) write_varint(out, bytes.size());
    if (f.wire != 0) out += bytes;
  }
  return out;
}

struct Place {
  std::vector<Field>* in;
  std::size_t index;
  Kind message;  // whose field it is
  Field& field() const { return (*in)[index]; }
};

void collect(std::vector<Field>& fields, Kind message, std::vector<Place>& places) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    places.push_back({&fields, i, message});
    collect(fields[i].fields, fields[i].kind, places);
  }
}

std::uint64_t odd_number(Rng& rng) {
  constexpr std::uint64_t kOdd[] = {0,
                                    1,
                                    2,
                                    3,
                                    5,
                                    16,
                                    22,
                                    255,
                                    ~std::uint64_t(0),
                                    1u << 31,
                                    4294967295,
                                    std::uint64_t(1) << 63,
                                    (std::uint64_t(1) << 63) - 1,
                                    std::uint64_t(1) << 40,
                                    ~std::uint64_t(1)};
  return below(rng, 3) ? kOdd[below(rng, std::size(kOdd))] : below(rng, 30);
}

// Bytes of a tensor, of a list of numbers or of a name.
void change_bytes(Field& f, const std::vector<Place>& places, Rng& rng) {
  const Field& other = places[below(rng, places.size())].field();
  if (other.kind == Kind::Bytes && !other.bytes.empty() && below(rng, 4) != 0) {
    f.bytes = other.bytes;
    return;
  }
  if (f.bytes.empty() || below(rng, 4) == 0) {
    f.bytes.resize(below(rng, 40));
    return;
  }
  for (std::size_t k = 0; k < 1 + below(rng, 4); ++k) f.bytes[below(rng, f.bytes.size())] = char(rng());
}

void change(const std::vector<Place>& places, Rng& rng) {
  const Place& p = places[below(rng, places.size())];
  const Place& q = places[below(rng, places.size())];
  switch (below(rng, 10)) {
    case 0:
      p.in->erase(p.in->begin() + std::ptrdiff_t(p.index));
      return;
    case 1:
      p.in->push_back(Field(p.field()));
      return;
    case 2: {  // of the same message, and perhaps of another field of it
      if (p.message != q.message) return;
      Field copy = q.field();
      if (below(rng, 2)) copy.number = p.field().number;
      if (copy.wire == p.field().wire) p.field() = std::move(copy);
      return;
    }
    case 3:
      if (p.in == q.in) std::swap(p.field(), q.field());
      return;
    case 4: {
      if (p.message != q.message || p.in == q.in) return;
      Field copy = q.field();
      p.in->push_back(std::move(copy));
      return;
    }
    default:
      break;
  }
  Field& f = p.field();
  if (f.kind != Kind::Bytes) return;
  if (f.wire == 0)
    f.value = odd_number(rng);
  else if (f.wire == 2)
    change_bytes(f, places, rng);
  else
    f.bytes[below(rng, f.bytes.size())] = char(rng());
}

}  // namespace

std::string mutate_model(const std::string& bytes, Rng& rng) {
  std::vector<Field> model;
  if (!read_fields(bytes, Kind::Model, model)) return bytes;
  for (std::size_t k = 0; k < 1 + below(rng, 3); ++k) {
    std::vector<Place> places;
    collect(model, Kind::Model, places);
    if (places.empty()) break;
    change(places, rng);
  }
  return written(model);
}

}  // namespace rldb::fuzz
