// Artefacts to bytes and back, and the texts of faults with their numbers filled in.
#include "codegen/llvm/engine/artefact.h"

#include <fmt/format.h>

#include <cstring>

#include "rldb/support/bytes.h"
#include "rldb/support/hash.h"

namespace rldb::codegen {

using runtime::DimExpr;
using runtime::DimOp;
using runtime::DType;
using runtime::KernelParam;
using runtime::TypeCode;

std::string fill_places(std::string_view text, const std::int64_t* values, std::size_t count, std::size_t& next) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "{}" && next < count) {
      out += fmt::format("{}", values[next++]);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

namespace {

constexpr std::string_view kMagic = "RLDBKRN2";

class Writer : public support::ByteWriter {
 public:
  void dtype(DType t) {
    u64(std::uint64_t(t.code) | std::uint64_t(t.bits) << 8 | std::uint64_t(std::uint16_t(t.lanes)) << 16);
  }
};

class Reader : public support::ByteReader {
 public:
  using ByteReader::ByteReader;
  std::string_view text() { return raw(u64()); }
  std::uint64_t below(std::uint64_t limit) {
    const std::uint64_t v = u64();
    if (v < limit) return v;
    fail("a value out of range");
    return 0;
  }
  DType dtype() {
    const std::uint64_t v = u64();
    if (v >> 32 || (v & 255) > std::uint64_t(TypeCode::Float4E2M1FN)) fail("an unknown dtype");
    return {TypeCode(v & 255), std::uint8_t(v >> 8 & 255), std::int16_t(v >> 16 & 0xffff)};
  }
  bool at_end() const { return left() == 0; }
};

DimExpr read_dim(Reader& in, std::size_t variables) {
  DimExpr e;
  e.text = std::string(in.text());
  const std::size_t n = std::size_t(in.count(16, "entries"));
  std::int64_t depth = 0;
  for (std::size_t i = 0; i < n && in.ok(); ++i) {
    DimOp op{DimOp::Code(in.below(std::uint64_t(DimOp::Code::Select) + 1)), 0};
    op.value = std::int64_t(in.u64());
    if (op.code == DimOp::Code::Var && (op.value < 0 || std::size_t(op.value) >= variables)) in.fail("damaged");
    depth -= std::int64_t(runtime::operand_count(op.code));
    if (depth < 0) in.fail("damaged");
    ++depth;
    e.code.push_back(op);
  }
  if (depth != 1) in.fail("damaged");
  return e;
}

}  // namespace

std::string to_blob(const Artefact& a, std::string_view key) {
  Writer w;
  w.string(key);
  w.string(a.signature.name);
  w.dtype(a.signature.result);
  w.u64(a.signature.variables.size());
  for (std::size_t i = 0; i < a.signature.variables.size(); ++i) {
    w.string(a.signature.variables[i]);
    w.dtype(a.signature.variable_dtypes[i]);
  }
  w.u64(a.signature.params.size());
  for (const KernelParam& p : a.signature.params) {
    w.string(p.name);
    w.u64(std::uint64_t(p.is_tensor) | std::uint64_t(p.opaque) << 1 | std::uint64_t(p.may_leave_unwritten) << 2);
    w.dtype(p.dtype);
    w.u64(std::uint64_t(std::int64_t(p.variable)));
    w.u64(p.shape.size());
    for (const DimExpr& e : p.shape) {
      w.string(e.text);
      w.u64(e.code.size());
      for (const DimOp& op : e.code) {
        w.u64(std::uint64_t(op.code));
        w.u64(std::uint64_t(op.value));
      }
    }
  }
  w.u64(a.faults.size());
  for (const FaultRow& f : a.faults) {
    w.u64(std::uint64_t(f.kind));
    w.string(f.text);
    w.string(f.note);
  }
  w.string(a.symbol);
  w.string(a.object);
  Writer head;
  head.raw(kMagic);
  head.u64(support::fnv1a(w.bytes()));
  return head.take() + w.bytes();
}

support::Result<Artefact, BlobProblem> from_blob(std::string_view blob, std::string_view key) {
  const auto problem = [](std::string text) { return support::Failure(BlobProblem{std::move(text)}); };
  if (!blob.starts_with(kMagic)) return problem("it is not a kernel of rldb");
  Reader head(blob.substr(kMagic.size()));
  const std::uint64_t sum = head.u64();
  if (!head.ok()) return problem("it is cut short");
  const std::string_view rest = blob.substr(kMagic.size() + 8);
  Reader in(rest);
  // The key first: another version may lay out the rest differently.
  const std::string_view made_for = in.text();
  if (!in.ok()) return problem("it is damaged");
  if (support::fnv1a(rest) != sum) return problem("it is damaged (the checksum does not fit)");
  if (made_for != key) return problem("it was made for another CPU or by another version of rldb");

  Artefact a;
  a.signature.name = std::string(in.text());
  a.signature.result = in.dtype();
  const std::size_t variables = std::size_t(in.count(16, "entries"));
  for (std::size_t i = 0; i < variables && in.ok(); ++i) {
    a.signature.variables.emplace_back(in.text());
    a.signature.variable_dtypes.push_back(in.dtype());
  }
  const std::size_t params = std::size_t(in.count(40, "entries"));
  for (std::size_t i = 0; i < params && in.ok(); ++i) {
    KernelParam p;
    p.name = std::string(in.text());
    const std::uint64_t flags = in.below(8);
    p.is_tensor = flags & 1;
    p.opaque = flags & 2;
    p.may_leave_unwritten = flags & 4;
    p.dtype = in.dtype();
    const auto variable = std::int64_t(in.u64());
    if (variable < -1 || variable >= std::int64_t(variables)) in.fail("damaged");
    p.variable = int(variable);
    const std::size_t dims = std::size_t(in.count(16, "entries"));
    for (std::size_t d = 0; d < dims && in.ok(); ++d) p.shape.push_back(read_dim(in, variables));
    a.signature.params.push_back(std::move(p));
  }
  const std::size_t faults = std::size_t(in.count(24, "entries"));
  for (std::size_t i = 0; i < faults && in.ok(); ++i) {
    FaultRow f;
    f.kind = runtime::ErrorKind(in.below(std::uint64_t(runtime::ErrorKind::Raised) + 1));
    f.text = std::string(in.text());
    f.note = std::string(in.text());
    a.faults.push_back(std::move(f));
  }
  a.symbol = std::string(in.text());
  a.object = std::string(in.text());
  if (!in.ok() || !in.at_end()) return problem("it is damaged");
  return a;
}

}  // namespace rldb::codegen
