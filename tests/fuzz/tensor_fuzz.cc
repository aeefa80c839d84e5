// Fuzz target: tensor files. The first bytes determine the format of an input.
#include "fuzz/mutate.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/memory.h"

namespace rldb::fuzz {

using namespace runtime;

const std::vector<std::string> kSeedEndings{".npy", ".npz", ".safetensors"};

namespace {

// A value that was read can be shown, written and read again unchanged.
std::string check(const Value& v) {
  (void)format_value(v);
  const std::string bytes = write_npy(v.as_tensor());
  auto again = read_npy(bytes, "again");
  if (!again.ok()) return "what was written cannot be read: " + again.error().message;
  return {};
}

std::string check(const Result<NamedTensors>& read) {
  if (!read.ok()) return {};
  for (const auto& [name, value] : *read)
    if (std::string wrong = check(value); !wrong.empty()) return name + ": " + wrong;
  return {};
}

// Our own seeds, if there are no files.
std::string made(Rng& rng) {
  auto tensor = random_tensor({std::int64_t(below(rng, 4)), std::int64_t(below(rng, 5))},
                              below(rng, 2) ? DType::Float(32) : DType::Int(8), rng());
  if (!tensor.ok()) return {};
  if (below(rng, 2)) return write_npy(tensor->as_tensor());
  return write_npz({{"a", *tensor}, {"b", *tensor}});
}

}  // namespace

std::string run_one(const std::string& input) {
  support::set_memory_limit(support::memory_in_use() + (std::size_t(64) << 20));
  try {
    if (auto npy = read_npy(input, "fuzz"); npy.ok()) return check(*npy);
    if (std::string wrong = check(read_npz(input, "fuzz")); !wrong.empty()) return wrong;
    return check(read_safetensors(input, "fuzz"));
  } catch (const std::bad_alloc&) {
    return {};  // a file may request more memory than allowed
  }
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  return mutate_bytes(input.empty() || below(rng, 16) == 0 ? made(rng) : input, pool, rng);
}

}  // namespace rldb::fuzz
