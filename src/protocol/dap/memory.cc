// The bytes of tensors: read, and written as changes of the run, so that going back and forth keeps them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "protocol/dap/adapter.h"
#include "protocol/dap/fields.h"
#include "rldb/support/base64.h"

namespace rldb::protocol::dap {

using runtime::Tensor;
using runtime::Value;

namespace {

// The elements [begin, end) of a tensor, counted in row order.
struct Elements {
  std::int64_t begin = 0, end = 0;
  std::string bytes;  // theirs, from now on
};

// Those that the bytes from an offset on belong to; of an element that is written in part the rest stays.
Elements elements_at(const Tensor& t, std::int64_t offset, std::string_view bytes) {
  const auto width = std::int64_t(t.dtype().bytes());
  Elements e{offset / width, (offset + std::int64_t(bytes.size()) + width - 1) / width, {}};
  const auto* first = reinterpret_cast<const char*>(t.peek()) + e.begin * width;
  e.bytes.assign(first, std::size_t((e.end - e.begin) * width));
  std::memcpy(e.bytes.data() + (offset - e.begin * width), bytes.data(), bytes.size());
  return e;
}

std::optional<Value> tensor_of(std::string_view bytes, std::vector<std::int64_t> shape, runtime::DType dtype) {
  auto made = Tensor::empty(std::move(shape), dtype);
  if (!made.ok() || (*made)->byte_size() != bytes.size()) return std::nullopt;
  std::memcpy((*made)->data(), bytes.data(), bytes.size());
  return Value(std::move(*made));
}

// A part of a row, as `:set` names it: `x[1, 0, 2:5]`.
std::string target_of(const std::string& path, const Tensor& t, std::int64_t row, std::int64_t from, std::int64_t to) {
  std::string index;
  for (std::size_t d = t.shape().size() - 1; d-- > 0;) {
    index = fmt::format("{}, {}", row % t.shape()[d], index);
    row /= t.shape()[d];
  }
  return fmt::format("{}[{}{}:{}]", path, index, from, to);
}

}  // namespace

Answer Adapter::on_readMemory(const Request& request) {
  Fields fields(request.arguments);
  const std::string reference = fields.text("memoryReference");
  const std::int64_t offset = fields.integer_or("offset", 0), count = fields.integer("count");
  if (fields.failure()) return support::Failure(*fields.failure());
  constexpr std::int64_t kMost = std::int64_t(16) << 20;
  if (count < 0) return refused("`count` must be at least 0");
  const Variables::Memory* memory = variables_->memory(reference);
  if (!memory) return out_of_turn(fmt::format("the memory `{}` belongs to an earlier stop", reference));
  const Tensor& t = memory->tensor.as_tensor();
  const auto size = std::int64_t(t.byte_size());
  const std::int64_t begin = std::clamp<std::int64_t>(offset, 0, size);
  const std::int64_t bytes = offset < 0 ? 0 : std::min({count, kMost, size - begin});
  Json body{{"address", fmt::format("0x{:x}", begin)}};
  body["data"] = support::encode_base64({reinterpret_cast<const char*>(t.peek()) + begin, std::size_t(bytes)});
  if (count > bytes) body["unreadableBytes"] = count - bytes;
  return body;
}

Answer Adapter::on_writeMemory(const Request& request) {
  Fields fields(request.arguments);
  const std::string reference = fields.text("memoryReference");
  const auto bytes = support::decode_base64(fields.text("data"));
  const std::int64_t offset = fields.integer_or("offset", 0);
  const bool in_part = fields.flag("allowPartial");
  if (!bytes) fields.fail("`data` is not valid base64");
  if (fields.failure()) return support::Failure(*fields.failure());
  const Variables::Memory* found = variables_->memory(reference);
  if (!found) return out_of_turn(fmt::format("the memory `{}` belongs to an earlier stop", reference));
  const Variables::Memory memory = *found;
  if (memory.path.empty()) return refused("no variable of the frame has this memory: it can only be read");
  const auto size = std::int64_t(memory.tensor.as_tensor().byte_size());
  if (offset < 0 || offset > size) return refused(fmt::format("the tensor has {} bytes", size));
  const std::int64_t count = std::min(std::int64_t(bytes->size()), size - offset);
  if (count < std::int64_t(bytes->size()) && !in_part)
    return refused(fmt::format("the tensor has {} bytes: {} from there on", size, size - offset));
  select_rank_of_variables(memory.reference);
  const std::size_t waiting = then_.size();
  if (auto failure = write_elements(memory, offset, std::string_view(*bytes).substr(0, std::size_t(count))))
    return support::Failure(*std::move(failure));
  then_.resize(waiting);  // one event for all rows
  then([this] {
    if (takes_invalidated_) channel_.event("invalidated", {{"areas", {"variables"}}});
  });
  return Json{{"offset", offset}, {"bytesWritten", count}};
}

// Row by row, or of many rows the whole tensor.
std::optional<Failure> Adapter::write_elements(const Variables::Memory& memory, std::int64_t offset,
                                               std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  const Tensor& t = memory.tensor.as_tensor();
  const Elements e = elements_at(t, offset, bytes);
  const auto width = std::int64_t(t.dtype().bytes());
  const std::int64_t extent = t.shape().back();
  constexpr std::int64_t kMostRows = 16;
  if ((e.end - 1) / extent - e.begin / extent >= kMostRows) {
    std::string all(reinterpret_cast<const char*>(t.peek()), t.byte_size());
    all.replace(std::size_t(e.begin * width), e.bytes.size(), e.bytes);
    return write_value(memory.path, memory.frame, tensor_of(all, t.shape(), t.dtype()));
  }
  for (std::int64_t at = e.begin; at < e.end;) {
    const std::int64_t row = at / extent, from = at % extent, to = std::min(extent, from + e.end - at);
    const auto part =
        std::string_view(e.bytes).substr(std::size_t((at - e.begin) * width), std::size_t((to - from) * width));
    if (auto failure = write_value(target_of(memory.path, t, row, from, to), memory.frame,
                                   tensor_of(part, {to - from}, t.dtype())))
      return failure;
    at += to - from;
  }
  return std::nullopt;
}

std::optional<Failure> Adapter::write_value(const std::string& target, int frame, std::optional<Value> value) {
  if (!value) return Failure{fmt::format("`{}` cannot be written by bytes", target)};
  const std::string name = "_bytes_to_write";  // a value of the session while it is assigned
  session::Session& session = repl_->session();
  session::Session::Snapshot before = session.snapshot();
  session.set_value(name, std::move(*value));
  Answer done = assign(target, name, frame);
  session.restore(std::move(before));
  return done.ok() ? std::nullopt : std::optional(done.error());
}

}  // namespace rldb::protocol::dap
