#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "rldb/runtime/tensor_export.h"
#include "rldb/support/file.h"
#include "runtime/file/bytes.h"
#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;

namespace {

const DType kF32 = DType::Float(32);

// A version 1 file with this header dict, padded or not: readers need not care.
std::string npy(std::string_view dict, std::string_view data, int major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  append_little(out, dict.size(), major == 1 ? 2 : 4);
  return out + std::string(dict) + std::string(data);
}
std::string dict(std::string_view descr, std::string_view shape, std::string_view order = "False") {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

Error npy_error(std::string_view bytes) {
  const auto r = read_npy(bytes, "x.npy");
  REQUIRE_FALSE(r.ok());
  return r.error();
}

template <typename T>
T good(Result<T> r) {
  if (!r.ok()) FAIL(r.error().message);
  return std::move(r).value();
}

struct ZipMember {
  std::string name;
  std::string data;
  bool deflated = false;
  std::uint64_t claimed_size = ~std::uint64_t(0);
};

std::string deflate_raw(const std::string& data) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(data.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// A zip file made by hand, independently of write_npz; zip64 local fields as NumPy writes them.
std::string zip(const std::vector<ZipMember>& members) {
  std::string out;
  std::string directory;
  for (const ZipMember& m : members) {
    const std::string packed = m.deflated ? deflate_raw(m.data) : m.data;
    const std::uint64_t size = m.claimed_size == ~std::uint64_t(0) ? m.data.size() : m.claimed_size;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(m.data.data()), uInt(m.data.size()));
    const std::size_t offset = out.size();
    append_little(out, 0x04034b50, 4);
    append_little(out, 45, 2);
    append_little(out, 0, 2);
    append_little(out, m.deflated ? 8 : 0, 2);
    append_little(out, 0, 4);
    append_little(out, crc, 4);
    append_little(out, 0xFFFFFFFF, 4);
    append_little(out, 0xFFFFFFFF, 4);
    append_little(out, m.name.size(), 2);
    append_little(out, 20, 2);
    out += m.name;
    append_little(out, 1, 2);
    append_little(out, 16, 2);
    append_little(out, size, 8);
    append_little(out, packed.size(), 8);
    out += packed;
    append_little(directory, 0x02014b50, 4);
    append_little(directory, 45, 2);
    append_little(directory, 45, 2);
    append_little(directory, 0, 2);
    append_little(directory, m.deflated ? 8 : 0, 2);
    append_little(directory, 0, 4);
    append_little(directory, crc, 4);
    append_little(directory, packed.size(), 4);
    append_little(directory, size, 4);
    append_little(directory, m.name.size(), 2);
    append_little(directory, 0, 2);
    append_little(directory, 0, 2);
    append_little(directory, 0, 2);
    append_little(directory, 0, 2);
    append_little(directory, 0, 4);
    append_little(directory, offset, 4);
    directory += m.name;
  }
  const std::size_t offset = out.size();
  out += directory;
  append_little(out, 0x06054b50, 4);
  append_little(out, 0, 4);
  append_little(out, members.size(), 2);
  append_little(out, members.size(), 2);
  append_little(out, directory.size(), 4);
  append_little(out, offset, 4);
  append_little(out, 0, 2);
  return out;
}

std::string safetensors(const std::string& header, const std::string& data) {
  std::string out;
  append_little(out, header.size(), 8);
  return out + header + data;
}

std::string floats(const std::vector<float>& v) {
  return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float));
}

// A file in the system's temporary folder, removed at the end of the test.
struct TempFile {
  std::string path;
  TempFile(const std::string& name, std::string_view bytes) {
    path = (std::filesystem::temp_directory_path() / ("rldb_test_" + name)).string();
    REQUIRE(rldb::support::write_file(path, bytes).ok());
  }
  ~TempFile() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("npy: versions, byte orders, orders of axes") {
  const std::string data = floats({1, 2, 3, 4, 5, 6});
  for (int major = 1; major <= 3; ++major) {
    const Value v = good(read_npy(npy(dict("<f4", "(2, 3)"), data, major), "x"));
    CHECK(v.as_tensor().shape() == std::vector<std::int64_t>{2, 3});
    CHECK(v.as_tensor().dtype() == kF32);
    CHECK(elements(v) == std::vector<double>{1, 2, 3, 4, 5, 6});
  }
  CHECK(elements(good(read_npy(npy(dict(">i2", "(2,)"), std::string("\x01\x02\xFF\xFE", 4)), "x"))) ==
        std::vector<double>{0x102, -2});
  CHECK(elements(good(read_npy(npy(dict("<f4", "(2, 3)", "True"), data), "x"))) ==
        std::vector<double>{1, 3, 5, 2, 4, 6});
  CHECK(elements(good(read_npy(npy(dict("|u1", "(2, 2, 2)", "True"), "abcdefgh"), "x"))) ==
        std::vector<double>{'a', 'e', 'c', 'g', 'b', 'f', 'd', 'h'});
  CHECK(elements(good(read_npy(npy(dict("|b1", "(2,)"), std::string("\1\0", 2)), "x"))) == std::vector<double>{1, 0});
  CHECK(good(read_npy(npy(dict("<f8", "()"), std::string(8, '\0')), "x")).as_tensor().ndim() == 0);
  CHECK(good(read_npy(npy(dict("<f8", "(3, 0)"), ""), "x")).as_tensor().element_count() == 0);
  // Keys in another order, no trailing comma, double quotes, Python 2 integers.
  CHECK(elements(good(read_npy(
            npy("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"<u2\"}", std::string("\1\0\2\0", 4)), "x"))) ==
        std::vector<double>{1, 2});
  // NumPy's output for formats that it does not know, such as bfloat16.
  CHECK(good(read_npy(npy(dict("<V2", "(1,)"), "ab"), "x")).as_tensor().dtype() == DType::UInt(16));
}

TEST_CASE("npy: malformed files are errors that say why") {
  CHECK(npy_error("").message == "`x.npy`: not a .npy file (the magic bytes are missing)");
  CHECK(npy_error("hello").kind == ErrorKind::BadFile);
  CHECK(npy_error(npy(dict("<f4", "(2,)"), floats({1, 2}), 4)).message == "`x.npy`: format version 4 is unknown");
  CHECK(npy_error(npy(dict("<f4", "(3,)"), floats({1, 2}))).message ==
        "`x.npy`: shape (3) of `<f4` does not fit into the 8 bytes of data");
  CHECK(npy_error(npy(dict("<f4", "(1,)"), floats({1, 2}))).message == "`x.npy`: 4 bytes after the array");
  CHECK(npy_error(npy(dict("<f4", "(99999999999, 99999999999)"), "")).kind == ErrorKind::BadFile);
  CHECK(npy_error(npy(dict("<f4", "(9223372036854775807,)"), "")).kind == ErrorKind::BadFile);
  CHECK(npy_error(npy(dict("<f4", "(99999999999999999999,)"), "")).kind == ErrorKind::BadFile);
  CHECK(npy_error(npy(dict("<f4", "(-1,)"), "")).message ==
        "`x.npy`: the header cannot be read: `shape` is not a tuple of sizes");
  CHECK(npy_error(npy(dict("|O", "(1,)"), "x")).message ==
        "`x.npy`: dtype `|O` is Python objects (a pickle), which is never read");
  CHECK(npy_error(npy(dict("<c8", "(1,)"), "x")).kind == ErrorKind::Unsupported);
  CHECK(npy_error(npy(dict("<U3", "(1,)"), "x")).message.find("text, not numbers") != std::string::npos);
  CHECK(npy_error(npy(dict("<f16", "(1,)"), "x")).kind == ErrorKind::Unsupported);
  CHECK(npy_error(npy(dict("<", "(1,)"), "x")).kind == ErrorKind::BadFile);
  CHECK(npy_error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")).message ==
        "`x.npy`: the header cannot be read: structured elements are unsupported");
  CHECK(npy_error(npy("{'descr': '<f4', 'shape': ()}", "")).message.find("missing") != std::string::npos);
  CHECK(npy_error(npy("{'evil': 1}", "")).message.find("`evil` is unknown") != std::string::npos);
}

TEST_CASE("npy: a file cut anywhere is an error, never a crash") {
  const std::string whole = npy(dict("<f4", "(2, 3)"), floats({1, 2, 3, 4, 5, 6}));
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK_FALSE(read_npy(whole.substr(0, n), "x").ok());
}

TEST_CASE("npy: what is written is read back, header aligned") {
  for (const char* name : {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
                           "uint32", "uint64", "bool"}) {
    CAPTURE(name);
    const Value v = Value(tensor({2, 1, 2}, *parse_dtype(name), {0, 1, 1, 0}));
    const std::string bytes = write_npy(v.as_tensor());
    CHECK((bytes.size() - v.as_tensor().byte_size()) % 64 == 0);
    CHECK(compare(good(read_npy(bytes, "x")), v).empty());
  }
  CHECK(write_npy(*tensor({2}, kF32, {1, 2}))
            .find("'descr': '<f4', 'fortran_order': False, "
                  "'shape': (2,), }") == 11);
  CHECK(compare(good(read_npy(write_npy(*tensor({}, kF32, {3})), "x")), Value(tensor({}, kF32, {3}))).empty());
}

TEST_CASE("safetensors: what is written is read") {
  NamedTensors named;
  for (const char* name :
       {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "uint8"})
    named.emplace_back(name, Value(tensor({2, 2}, *parse_dtype(name), {1, 2, 3, 4})));
  named.emplace_back("none", Value(tensor({0, 3}, kF32, {})));
  named.emplace_back("odd \"name\"", Value(tensor({}, DType::Bool(), {1})));
  const auto bytes = write_safetensors(named);
  REQUIRE(bytes.ok());
  const auto read = read_safetensors(*bytes, "x");
  REQUIRE(read.ok());
  const NamedTensors& again = *read;
  REQUIRE(again.size() == named.size());
  for (const auto& [name, value] : named) {
    const auto same = std::find_if(again.begin(), again.end(), [&](const auto& one) { return one.first == name; });
    REQUIRE(same != again.end());
    CHECK(compare(same->second, value).empty());
  }
  CHECK_FALSE(write_safetensors({{"x", Value(tensor({1}, *parse_dtype("float8_e4m3fnuz"), {1}))}}).ok());
}

TEST_CASE("npy: bfloat16 and float8 go as their bits and come back on demand") {
  for (const char* name : {"bfloat16", "float8_e4m3fn"}) {
    const DType t = *parse_dtype(name);
    const Value v = Value(tensor({3}, t, {1, -2, 0.5}));
    const Value bits = good(read_npy(write_npy(v.as_tensor()), "x"));
    CHECK(bits.as_tensor().dtype() == DType::UInt(t.bits));
    CHECK(compare(good(reinterpret_as(bits, t)), v).empty());
  }
  for (const char* name : {"bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu"}) {
    const Value v = Value(tensor({2, 2}, *parse_dtype(name), {1, 2, 0.5, 4}));
    const std::string bytes = export_npy(v.as_tensor());
    CHECK(bytes.find(std::string("'descr': '") + name + "'") == 11);
    CHECK(compare(good(read_npy(bytes, "x")), v).empty());
    const auto archive = read_npz(export_npz({{"a", v}}), "x");
    REQUIRE(archive.ok());
    CHECK(compare((*archive)[0].second, v).empty());
  }
  CHECK(export_npy(*tensor({2}, kF32, {1, 2})) == write_npy(*tensor({2}, kF32, {1, 2})));
  CHECK_FALSE(reinterpret_as(Value(tensor({1}, DType::UInt(16), {1})), kF32).ok());
  CHECK_FALSE(reinterpret_as(Value(tensor({1}, DType::Int(16), {1})), DType::BFloat16()).ok());
  CHECK_FALSE(reinterpret_as(Value::of_int(1), kF32).ok());
  const Value f = Value(tensor({1}, kF32, {1}));
  CHECK(good(reinterpret_as(f, kF32)).object() == f.object());
}

TEST_CASE("npz: stored and deflated members, zip64 fields") {
  const std::string a = npy(dict("<f4", "(2,)"), floats({1, 2}));
  const std::string b = npy(dict("|u1", "(5000,)"), std::string(5000, 'x'));
  const auto r = read_npz(zip({{"a.npy", a}, {"dir/b.npy", b, true}, {"folder/", ""}}), "x.npz");
  if (!r.ok()) FAIL(r.error().message);
  REQUIRE(r->size() == 2);
  CHECK((*r)[0].first == "a");
  CHECK((*r)[1].first == "dir/b");
  CHECK(elements((*r)[0].second) == std::vector<double>{1, 2});
  CHECK((*r)[1].second.as_tensor().at(4999) == 'x');
}

TEST_CASE("npz: what is written is read back") {
  const NamedTensors tensors = {{"out0", Value(tensor({2}, kF32, {1, 2}))},
                                {"out1", Value(tensor({1, 1}, DType::Int(64), {-5}))}};
  const auto r = read_npz(write_npz(tensors), "x");
  if (!r.ok()) FAIL(r.error().message);
  REQUIRE(r->size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK((*r)[i].first == tensors[i].first);
    CHECK(compare((*r)[i].second, tensors[i].second).empty());
  }
  const auto empty = read_npz(write_npz({}), "x");
  REQUIRE(empty.ok());
  CHECK(empty->empty());
}

TEST_CASE("npz: damaged archives are errors") {
  const std::string a = npy(dict("<f4", "(2,)"), floats({1, 2}));
  const std::string whole = zip({{"a.npy", a, true}});
  REQUIRE(read_npz(whole, "x").ok());
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK_FALSE(read_npz(whole.substr(0, n), "x").ok());
  // Every single byte changed: an error or a valid value, never a crash or an out-of-bounds read.
  int accepted = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      accepted += read_npz(damaged, "x").ok();
    }
  }
  CHECK(accepted < int(whole.size()) * 3);

  const auto message = [](const std::string& bytes) {
    const auto r = read_npz(bytes, "x");
    REQUIRE_FALSE(r.ok());
    return r.error().message;
  };
  std::string wrong_crc = zip({{"a.npy", a}});
  const std::size_t at = wrong_crc.find(floats({1, 2}));
  REQUIRE(at != std::string::npos);
  wrong_crc[at + 2] ^= 1;
  CHECK(message(wrong_crc) == "`x:a.npy`: the checksum does not match");
  CHECK(message("not a zip").find("magic bytes") != std::string::npos);
  // A member that claims to inflate to gigabytes.
  CHECK(message(zip({{"a.npy", a, true, 0xF0000000}})).find("cannot inflate to 4026531840") != std::string::npos);
  std::string encrypted = whole;
  encrypted[whole.find("\x50\x4b\x01\x02") + 8] = 1;
  CHECK(message(encrypted) == "`x:a.npy` is encrypted");
  CHECK(message(zip({{"a.txt", "hello"}})).find("not a .npy file") != std::string::npos);
}

TEST_CASE("safetensors: good") {
  const std::string header = R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]}})";
  const auto r = read_safetensors(safetensors(header, floats({1, 2}) + std::string("\x80\x3F", 2)), "x");
  if (!r.ok()) FAIL(r.error().message);
  REQUIRE(r->size() == 2);
  CHECK((*r)[0].first == "w");
  CHECK(elements((*r)[0].second) == std::vector<double>{1, 2});
  CHECK((*r)[1].second.as_tensor().dtype() == DType::BFloat16());
  CHECK(elements((*r)[1].second) == std::vector<double>{1});
}

TEST_CASE("safetensors: bad") {
  const auto message = [](const std::string& bytes) {
    const auto r = read_safetensors(bytes, "x");
    REQUIRE_FALSE(r.ok());
    return r.error().message;
  };
  const auto entry = [&](const std::string& fields, const std::string& data = "12345678") {
    return message(safetensors("{\"w\":{" + fields + "}}", data));
  };
  CHECK(message("abc").find("shorter than its header") != std::string::npos);
  CHECK(message(std::string(8, '\xFF') + "{}").find("a header of") != std::string::npos);
  CHECK(message(safetensors("[]", "")) == "`x`: the header is not a JSON object");
  CHECK(message(safetensors("{", "")) == "`x`: the header is not a JSON object");
  CHECK(message(safetensors(std::string(100000, '['), "")) == "`x`: the header is not a JSON object");
  CHECK(message(safetensors("{\"w\":3}", "")).find("lacks a good") != std::string::npos);
  CHECK(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,9])") ==
        "`x:w`: bytes 0 to 9 lie outside the 8 bytes of data");
  CHECK(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])") ==
        "`x:w`: shape (3) of F32 does not take the 8 bytes that it has");
  CHECK(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])").find("lacks a good") != std::string::npos);
  CHECK(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])").find("outside") != std::string::npos);
  CHECK(entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])").find("does not take") !=
        std::string::npos);
  CHECK(entry(R"("dtype":"F4","shape":[2],"data_offsets":[0,8])") == "`x:w`: dtype `F4` is unsupported");
}

TEST_CASE("literals: tensors") {
  const auto check = [](std::string_view text, std::vector<std::int64_t> shape, DType t, std::vector<double> values) {
    CAPTURE(text);
    const Value v = good(parse_value_literal(text));
    REQUIRE(v.is(ValueKind::Tensor));
    CHECK(v.as_tensor().shape() == shape);
    CHECK(v.as_tensor().dtype() == t);
    CHECK(elements(v) == values);
  };
  check("2x3xf32=1,2,3,4,5,6", {2, 3}, kF32, {1, 2, 3, 4, 5, 6});
  check(" 2xfloat32 = 1.5 , -2e3 ", {2}, kF32, {1.5, -2000});
  check("f32=1.5", {}, kF32, {1.5});
  check("2xbf16=1,2", {2}, DType::BFloat16(), {1, 2});
  check("2xi1=True,0", {2}, DType::Bool(), {1, 0});
  check("2xbool=false,1", {2}, DType::Bool(), {0, 1});
  check("3xu8=arange", {3}, DType::UInt(8), {0, 1, 2});
  check("2x2xi64=ones", {2, 2}, DType::Int(64), {1, 1, 1, 1});
  check("1x2xf16=zeros", {1, 2}, DType::Float(16), {0, 0});
  check("0xf32=", {0}, kF32, {});
  check("2xi8=-128,127", {2}, DType::Int(8), {-128, 127});
  check("2xf64=inf,-inf", {2}, DType::Float(64), {INFINITY, -INFINITY});
  check("1xu64=18446744073709551615", {1}, DType::UInt(64), {18446744073709551615.0});
  check("2xfloat8_e4m3fn=1,448", {2}, *parse_dtype("float8_e4m3fn"), {1, 448});
}

TEST_CASE("fields of a tuple may be cut at commas where a tensor is among them") {
  const Value two = good(parse_value_literal("(2xf32=ones, 3)"));
  REQUIRE(two.as_tuple().fields.size() == 2);
  CHECK(two.as_tuple().fields[0].as_tensor().shape() == std::vector<std::int64_t>{2});
  CHECK(two.as_tuple().fields[1].as_int() == 3);
  // A tensor takes as many numbers as it has elements.
  CHECK(good(parse_value_literal("(2xf32=1, 2, 3)")).as_tuple().fields.size() == 2);
  CHECK(good(parse_value_literal("(i32=1, 2xi32=[4, 5], (f32=1; 2), shape(1, 2))")).as_tuple().fields.size() == 4);
  CHECK(good(parse_value_literal("(2xf32=zeros,)")).as_tuple().fields.size() == 1);
  CHECK(good(parse_value_literal("(2xf32=1, 2)")).is(ValueKind::Tensor));
  CHECK(!parse_value_literal("(2xf32=1)").ok());
}

TEST_CASE("literals: other values") {
  CHECK(good(parse_value_literal("7")).as_int() == 7);
  CHECK(good(parse_value_literal("-7")).as_int() == -7);
  CHECK(good(parse_value_literal("1.5")).as_float() == 1.5);
  CHECK(good(parse_value_literal("True")).is(ValueKind::Bool));
  CHECK(good(parse_value_literal("None")).is_null());
  CHECK(good(parse_value_literal("\"a b\"")).as_string() == "a b");
  CHECK(good(parse_value_literal("shape(2,3)")).as_shape() == std::vector<std::int64_t>{2, 3});
  CHECK(good(parse_value_literal("shape()")).as_shape().empty());
  const Value tuple = good(parse_value_literal("(1; (2xf32=1,2; shape(3, 4)); \"a;b\")"));
  REQUIRE(tuple.is(ValueKind::Tuple));
  REQUIRE(tuple.as_tuple().fields.size() == 3);
  CHECK(tuple.as_tuple().fields[1].as_tuple().fields.size() == 2);
  CHECK(tuple.as_tuple().fields[2].as_string() == "a;b");
  CHECK(good(parse_value_literal("()")).as_tuple().fields.empty());
  CHECK(good(parse_value_literal("(1;)")).as_tuple().fields.size() == 1);
}

TEST_CASE("literals: errors") {
  const auto message = [](const std::string& text) {
    const auto r = parse_value_literal(text);
    REQUIRE_FALSE(r.ok());
    return r.error().message;
  };
  CHECK(message("2x3xf32=1,2,3") == "shape (2, 3) takes 6 elements, got 3");
  CHECK(message("99999999999xf32=1") == "shape (99999999999,) takes 99999999999 elements, got 1");
  CHECK(message("9223372036854775807x9xf32=1").find("too many") != std::string::npos);
  CHECK(message("9223372036854775807x9xf32=ones").find("overflows") != std::string::npos);
  CHECK(message("2xf33=1,2") == "`2xf33`: `f33` is not a dtype");
  CHECK(message("2x=1,2") == "`2x`: `` is not a dtype");
  CHECK(message("23=1") == "`23` is not a tensor type such as `2x3xf32`");
  CHECK(message("2xf32=1,a") == "`a` is not a number of `float32`");
  CHECK(message("2xf32=1,") == "`` is not a number of `float32`");
  CHECK(message("2xi8=1,128") == "`128` does not fit into `int8`");
  CHECK(message("1xu8=-1") == "`-1` does not fit into `uint8`");
  CHECK(message("1xi32=1.5") == "`1.5` is not an integer that fits into `int32`");
  CHECK(message("1xbool=2") == "`2` is not a value of `bool`");
  CHECK(message("1xf32=rand(seed=x)") == "`rand(seed=x)`: expected `rand(seed=N)`");
  CHECK(message("1xfloat32x4=1").find("`float32x4`") != std::string::npos);
  CHECK(message("") == "an empty value");
  CHECK(message("hello").starts_with("`hello` is not a value"));
  CHECK(message("shape(a)").find("expected integers") != std::string::npos);
  CHECK(message("@/nowhere/x.npy").starts_with("cannot open `/nowhere/x.npy`"));
  CHECK(message(std::string(100000, '(') + std::string(100000, ')')) == "tuples nested deeper than 64");
}

TEST_CASE("literals: nested lists") {
  const auto shape_of = [](std::string_view text) { return good(parse_list(text, kF32)).as_tensor().shape(); };
  using Shape = std::vector<std::int64_t>;
  CHECK(elements(good(parse_list("[[1, 2.5], [-3, nan]]", kF32))).at(1) == 2.5);
  CHECK(shape_of("[[1, 2, 3], [4, 5, 6]]") == Shape{2, 3});
  CHECK(shape_of("[[1. 2. 3.]\n [4. 5. 6.]]") == Shape{2, 3});
  CHECK(shape_of("[[[1],[2]],[[3],[4]],]") == Shape{2, 2, 1});
  CHECK(shape_of("[]") == Shape{0});
  CHECK(shape_of("[[], []]") == Shape{2, 0});
  CHECK(elements(good(parse_list("[True, False]", DType::Bool()))) == std::vector<double>{1, 0});
  CHECK(elements(good(parse_value_literal("2x2xi8=[[1, 2], [3, 4]]"))) == std::vector<double>{1, 2, 3, 4});
  CHECK_FALSE(parse_value_literal("4xi8=[[1, 2], [3, 4]]").ok());
  // Printed values are read back.
  const Value v = Value(tensor({2, 2}, kF32, {1, -2.5, 1e10, 0}));
  const std::string text = format_value(v);
  CHECK(compare(good(parse_list(text.substr(text.find('\n')), kF32)), v).empty());

  for (const char* wrong :
       {"", "1", "[1", "1]", "[1]]", "[1] 2", "[1][2]", "[[1, 2], [3]]", "[1, [2]]", "[[1], 2]", "[, 1]", "[1,, 2]",
        "[[], [1]]", "[[1], []]", "[a]", "[[[]], []]", "[[], [[]]]", "[1.5.2]"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_list(wrong, kF32).ok());
  }
  CHECK_FALSE(parse_list(std::string(100000, '['), kF32).ok());
  CHECK(parse_list("[[1, 2], [3]]", kF32).error().message == "lists of 2 and of 1 side by side");
}

TEST_CASE("random: seeded, in range, the same everywhere") {
  const Value a = good(parse_value_literal("1000xf32=rand(seed=1)"));
  const Value b = good(parse_value_literal("1000xf32=rand(1)"));
  const Value c = good(parse_value_literal("1000xf32=rand(seed=2)"));
  CHECK(compare(a, b, {.atol = 0, .rtol = 0}).empty());
  CHECK_FALSE(compare(a, c).empty());
  double sum = 0;
  for (const double v : elements(a)) {
    CHECK((v >= -1 && v < 1));
    sum += v;
  }
  CHECK(std::fabs(sum / 1000) < 0.1);
  // SplitMix64 of seed 1 starts with 0x910A2DEC89025CC1.
  CHECK(a.as_tensor().at(0) == double(0x910A2D) / 0x800000 - 1);
  for (const char* type : {"f16", "bf16", "float8_e5m2", "float4_e2m1fn", "f64"}) {
    CAPTURE(type);
    for (const double v : elements(good(parse_value_literal(std::string("500x") + type + "=rand")))) {
      CHECK((v >= -1 && v < 1));
    }
  }
  for (const double v : elements(good(parse_value_literal("500xi32=rand(seed=3)")))) {
    CHECK((v >= 0 && v < 10));
  }
  CHECK_FALSE(random_tensor({2}, DType::Void(), 0).ok());
  CHECK_FALSE(random_tensor({2}, *parse_dtype("float8_e8m0fnu"), 0).ok());
}

TEST_CASE("files: by name, with members") {
  const Value v = Value(tensor({2}, kF32, {1, 2}));
  const TempFile plain("a.npy", write_npy(v.as_tensor()));
  CHECK(compare(good(parse_value_literal("@" + plain.path)), v).empty());
  CHECK(compare(good(parse_value_literal("2xf32=@" + plain.path)), v).empty());
  CHECK_FALSE(parse_value_literal("3xf32=@" + plain.path).ok());
  CHECK_FALSE(parse_value_literal("2xi32=@" + plain.path).ok());

  const TempFile archive("b.npz", write_npz({{"x", v}, {"y", Value(tensor({}, kF32, {3}))}}));
  CHECK(compare(good(load_tensor(archive.path + ":x")), v).empty());
  const auto missing = load_tensor(archive.path + ":z");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message == "`" + archive.path + "` holds no `z`; it holds `x`, `y`");
  CHECK(load_tensor(archive.path).error().message.find("holds 2 tensors; name one") != std::string::npos);

  const TempFile safe("c.safetensors",
                      safetensors(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", floats({1, 2})));
  CHECK(compare(good(load_tensor(safe.path + ":w")), v).empty());
  CHECK(compare(good(load_tensor(safe.path)), v).empty());

  const TempFile junk("d.npy", "hello, this is text");
  CHECK(load_tensor(junk.path).error().message == "`" + junk.path + "` is no .npy, .npz or .safetensors file");
  CHECK_FALSE(load_tensor("/").ok());

  const Value bf = Value(tensor({2}, DType::BFloat16(), {1, 2}));
  const TempFile bits("e.npy", write_npy(bf.as_tensor()));
  CHECK(compare(good(parse_value_literal("2xbf16=@" + bits.path)), bf).empty());
}
