// Storages and the tensors in them.
#include "onnx/pt2/weights.h"

#include <fmt/format.h>

#include <cstring>

#include "onnx/pt2/json.h"
#include "onnx/pt2/scalar_type.h"
#include "onnx/tensor.h"
#include "rldb/ops/emitter.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/support/cancel.h"

namespace rldb::onnx {

namespace {

// Views of a storage may overlap, so that an archive has more elements than bytes; as many times as that is an attack.
constexpr std::uint64_t kMostViews = 16;
constexpr std::uint64_t kFreeViews = std::uint64_t(16) << 20;

support::Failure<source::Message> no_tensor(const std::string& name, std::string why) {
  return support::Failure(source::message(diag::OnnxBadTensor, name, why));
}

template <class T>
ir::Result<T> with_message(runtime::Result<T> r) {
  if (r.ok()) return std::move(r).value();
  return ops::refuse(r.error().message);
}

// A size of a stored tensor is a number.
ir::Result<std::int64_t> plain_size(const Field& f) {
  if (f.value().is_number_integer()) return f.integer();
  RLDB_TRY(const auto only, f.only());
  if (only.first != "as_int") return f.bad("is not a number");
  return only.second.integer();
}

ir::Result<std::vector<std::int64_t>> plain_sizes(const Field& f) {
  RLDB_TRY(const auto items, f.items());
  if (items.size() > 64) return f.bad("has more than 64 dims");
  std::vector<std::int64_t> made;
  for (const Field& item : items) {
    RLDB_TRY(const std::int64_t n, plain_size(item));
    made.push_back(n);
  }
  return made;
}

ir::Result<StoredTensor> stored_of(const Field& meta) {
  StoredTensor t;
  RLDB_TRY(const Field dtype, meta.at("dtype"));
  RLDB_TRY(const std::int64_t number, dtype.integer());
  const auto type = onnx_type_of_scalar(number);
  if (!type) return dtype.bad(fmt::format("is {}, which Relax does not have", scalar_type_name(number)));
  t.type = *type;
  RLDB_TRY(const Field sizes, meta.at("sizes"));
  RLDB_TRY(t.sizes, plain_sizes(sizes));
  RLDB_TRY(const Field strides, meta.at("strides"));
  RLDB_TRY(t.strides, plain_sizes(strides));
  RLDB_TRY(const Field offset, meta.at("storage_offset"));
  RLDB_TRY(t.offset, plain_size(offset));
  return t;
}

struct Extent {
  std::int64_t count = 1;  // elements of the tensor
  std::int64_t last = 0;   // the place of its last one
  bool is_compact = true;
};

// nullopt: dims or strides are negative, too many, or too large.
std::optional<Extent> extent_of(const StoredTensor& t) {
  Extent e;
  e.last = t.offset;
  if (t.offset < 0 || t.sizes.size() != t.strides.size()) return std::nullopt;
  for (const std::int64_t d : t.sizes) {
    if (d < 0) return std::nullopt;
    if (d == 0) e.count = 0;
  }
  if (e.count == 0) return e;
  for (std::size_t i = t.sizes.size(); i-- > 0;) {
    const std::int64_t size = t.sizes[i], stride = t.strides[i];
    std::int64_t span = 0;
    if (stride < 0 || __builtin_mul_overflow(size - 1, stride, &span)) return std::nullopt;
    if (__builtin_add_overflow(e.last, span, &e.last)) return std::nullopt;
    if (size != 1 && stride != e.count) e.is_compact = false;
    if (__builtin_mul_overflow(e.count, size, &e.count)) return std::nullopt;
  }
  return e;
}

void copy_strided(const StoredTensor& t, const char* from, std::size_t size, std::int64_t count, std::byte* to) {
  std::vector<std::int64_t> at(t.sizes.size());
  std::int64_t place = t.offset;
  for (std::int64_t i = 0; i < count; ++i) {
    if ((i & 0xfffff) == 0) support::poll();
    std::memcpy(to + std::size_t(i) * size, from + std::size_t(place) * size, size);
    for (std::size_t k = t.sizes.size(); k-- > 0;) {
      place += t.strides[k];
      if (++at[k] < t.sizes[k]) break;
      place -= t.strides[k] * t.sizes[k];
      at[k] = 0;
    }
  }
}

}  // namespace

// ---- tables ----

namespace {

// torch writes the order of its machine beside the tensors.
ir::Result<support::Unit> check_byte_order(const runtime::ZipArchive& archive, const std::string& folder,
                                           std::string_view name) {
  const auto order = archive.find(folder + "byteorder");
  if (!order) return support::Unit();
  std::string buffer;
  RLDB_TRY(const std::string_view endian, read_text(archive, *order, buffer));
  if (endian != "little") return ops::refuse(fmt::format("the tensors of `{}` are not little-endian", name));
  return support::Unit();
}

}  // namespace

ir::Result<support::Unit> Weights::open() {
  RLDB_TRY_VOID(check_byte_order(archive_, prefix_, "data/weights"));
  const Place state{"data/weights/",
                    ".pt",
                    {"_weights_config.json", "_model_param_config.json"},
                    {"serialized_state_dict.pt", "serialized_state_dict.json"}};
  const Place constants{"data/constants/",
                        ".pt",
                        {"_constants_config.json", "_model_constants_config.json"},
                        {"serialized_constants.pt", "serialized_constants.json"}};
  RLDB_TRY_VOID(open_kind(state, state_));
  return open_kind(constants, constants_);
}

ir::Result<support::Unit> Weights::open_kind(const Place& place, Tensors& to) {
  const std::string folder = prefix_ + std::string(place.folder);
  for (const std::string_view ending : place.config_endings) {
    const std::string name = folder + model_ + std::string(ending);
    const auto member = archive_.find(name);
    if (!member) continue;
    std::string buffer;
    RLDB_TRY(const std::string_view text, read_text(archive_, *member, buffer));
    return open_table(name, text, folder, to);
  }
  for (const std::string& name : {folder + model_ + std::string(place.member), prefix_ + std::string(place.legacy[0]),
                                  prefix_ + std::string(place.legacy[1])})
    if (const auto member = archive_.find(name)) return open_saved(*member, nullptr, to);
  return support::Unit();
}

ir::Result<support::Unit> Weights::open_table(std::string_view name, std::string_view text, const std::string& folder,
                                              Tensors& to) {
  RLDB_TRY(const support::JsonDocument document, parse_json(text, name));
  RLDB_TRY(const Field config, Field(*document, std::string(name)).at("config"));
  if (!config.value().is_object()) return config.bad("is not an object");
  for (const auto& [key, value] : config.value().items()) {
    support::poll();
    const Field entry(value, config.path() + "." + key);
    RLDB_TRY(const Field path, entry.at("path_name"));
    RLDB_TRY(const std::string file, path.text());
    const auto member = archive_.find(folder + file);
    if (!member) return path.bad(fmt::format("names `{}`, which the archive does not have", file));
    bool pickled = false;
    if (entry.has("use_pickle")) {
      RLDB_TRY(const Field use, entry.at("use_pickle"));
      RLDB_TRY(pickled, use.truth());
    }
    if (pickled && !entry.has("tensor_meta")) continue;  // an object that is no tensor: whoever uses it is refused
    if (pickled) {
      RLDB_TRY_VOID(open_saved(*member, &key, to));
      continue;
    }
    RLDB_TRY(const Field meta, entry.at("tensor_meta"));
    RLDB_TRY(StoredTensor t, stored_of(meta));
    t.storage = storage(folder + file, &archive_, *member);
    to.emplace(key, std::move(t));
  }
  return support::Unit();
}

ir::Result<const Weights::Saved*> Weights::saved_of(std::size_t member) {
  const auto [found, is_new] = saved_.try_emplace(member);
  Saved& saved = found->second;
  if (!is_new) return &saved;
  const std::string& name = archive_.members()[member].name;
  RLDB_TRY(const std::string_view bytes, with_message(archive_.read(member, saved.buffer)));
  if (bytes.empty()) return &saved;
  RLDB_TRY(auto inner, with_message(runtime::ZipArchive::open(support::RandomAccess::of_memory(bytes), name,
                                                              "file of torch.save")));
  saved.archive.emplace(std::move(inner));
  std::optional<std::size_t> pickle;
  for (std::size_t i = 0; i < saved.archive->members().size() && !pickle; ++i) {
    const std::string& inside = saved.archive->members()[i].name;
    if (inside != "data.pkl" && !inside.ends_with("/data.pkl")) continue;
    pickle = i;
    saved.folder = inside.substr(0, inside.size() - std::string_view("data.pkl").size());
  }
  if (!pickle) return ops::refuse(fmt::format("`{}` has no `data.pkl`", name));
  RLDB_TRY_VOID(check_byte_order(*saved.archive, saved.folder, name));
  std::string text;
  RLDB_TRY(const std::string_view pickled, read_text(*saved.archive, *pickle, text));
  RLDB_TRY(saved.tensors, read_pickle(pickled));
  return &saved;
}

ir::Result<support::Unit> Weights::open_saved(std::size_t member, const std::string* only, Tensors& to) {
  RLDB_TRY(const Saved* saved, saved_of(member));
  const std::string& name = archive_.members()[member].name;
  for (const auto& [key, t] : saved->tensors) {
    const auto type = onnx_type_of_storage(t.type);
    if (!type) return no_tensor(only ? *only : key, fmt::format("its storage is a `{}`", t.type));
    const auto data = saved->archive->find(saved->folder + "data/" + t.storage);
    if (!data) return no_tensor(only ? *only : key, fmt::format("its storage `{}` is not in the archive", t.storage));
    const std::size_t at = storage(name + ":" + t.storage, &*saved->archive, *data);
    to.emplace(only ? *only : key, StoredTensor{at, *type, t.offset, t.sizes, t.strides});
  }
  return support::Unit();
}

std::size_t Weights::storage(std::string name, const runtime::ZipArchive* archive, std::size_t member) {
  const auto [found, is_new] = storage_of_.try_emplace({archive, member}, storages_.size());
  if (is_new) storages_.push_back({std::move(name), archive, member, false, {}, {}});
  return found->second;
}

// ---- tensors ----

ir::Result<std::string_view> Weights::bytes_of(std::size_t storage) {
  Bytes& b = storages_[storage];
  if (!b.is_read) {
    RLDB_TRY(b.view, with_message(b.archive->read(b.member, b.buffer)));
    b.is_read = true;
    stored_ += b.view.size();
  }
  return b.view;
}

ir::Result<runtime::Value> Weights::tensor(const Tensors& all, const std::string& name) {
  const auto found = all.find(name);
  if (found == all.end()) return no_tensor(name, "the archive does not have it");
  const StoredTensor& t = found->second;
  const Key key(t.storage, t.type, t.offset, t.sizes, t.strides);
  if (const auto same = values_.find(key); same != values_.end()) return same->second;
  RLDB_TRY(runtime::Value value, made(t, name));
  values_.emplace(key, value);
  return value;
}

ir::Result<runtime::Value> Weights::made(const StoredTensor& t, const std::string& name) {
  const auto bytes = bytes_of(t.storage);
  if (!bytes.ok()) return no_tensor(name, bytes.error().text);
  const auto dtype = dtype_of(t.type);
  const auto extent = extent_of(t);
  if (!dtype || !extent) return no_tensor(name, "its dims or strides are negative or too large");
  const std::size_t size = dtype->bytes();
  const auto elements = std::int64_t(bytes->size() / size);
  // A program that was saved without its weights has storages without bytes.
  if (extent->count > 0 && bytes->empty()) return no_tensor(name, "the archive was saved without its elements");
  if (extent->count > 0 && extent->last >= elements)
    return no_tensor(name, fmt::format("its last element is number {} of a storage of {}", extent->last, elements));
  given_ += std::uint64_t(extent->count) * size;
  if (given_ > kMostViews * stored_ + kFreeViews)
    return no_tensor(name, "the tensors of the archive have many times the elements of its storages");
  auto tensor = runtime::Tensor::empty(t.sizes, *dtype);
  if (!tensor.ok()) return no_tensor(name, tensor.error().message);
  std::byte* to = (*tensor)->data();
  if (extent->count == 0) return runtime::Value(*tensor);
  if (extent->is_compact)
    std::memcpy(to, bytes->data() + std::size_t(t.offset) * size, std::size_t(extent->count) * size);
  else
    copy_strided(t, bytes->data(), size, extent->count, to);
  // Any byte but 0 is true.
  if (dtype->is_bool())
    for (std::int64_t i = 0; i < extent->count; ++i) to[i] = std::byte(to[i] != std::byte(0));
  return runtime::Value(*tensor);
}

}  // namespace rldb::onnx
