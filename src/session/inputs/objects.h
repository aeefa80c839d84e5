// Values for parameters whose types do not tell them: effects and objects (R.Any), caches of keys and values,
// functions. A value follows from what the function does with its parameter, or comes from a function of the module
// that makes such values. Room-private.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::session {

class ObjectInputs {
 public:
  using Dims = std::unordered_map<const ir::Var*, std::int64_t>;
  // Runs a function of the module on generated values; nullopt: it cannot be run.
  using Make = std::function<std::optional<runtime::Value>(const std::string& function)>;

  // `given`: by parameter of `function`. The dims have their values already.
  ObjectInputs(const ir::Module* module, std::string_view function, Dims dims, std::vector<bool> given,
               const runtime::PackedRegistry& registry, std::uint64_t seed, Make make);

  // For a leaf of the parameter that is an object; nullopt: it cannot be made.
  std::optional<runtime::Value> object_for(std::size_t parameter);
  // For a leaf that is a function: results follow from the arguments and the seed, and have the declared type.
  std::optional<runtime::Value> function_of(const ir::FuncType* type, std::uint64_t salt) const;

 private:
  struct Maker {
    std::string function;
    std::vector<runtime::Value> objects;  // the leaves of its result that are objects, in order
    std::vector<std::string> names;       // of these
  };
  std::optional<runtime::Value> cache_for(const ir::Var* parameter) const;
  std::optional<runtime::Value> from_makers(const ir::Var* parameter, std::size_t place);
  void find_makers();
  void prepare_sequences(const ir::Var* parameter, const runtime::Value& cache) const;
  std::optional<std::int64_t> dim(const ir::Expr* e) const;
  std::optional<runtime::Value> call(std::string_view name, std::vector<runtime::Value> args) const;

  const ir::Module* module_;
  const ir::Function* f_;
  std::string name_;
  Dims dims_;
  std::vector<bool> given_;
  const runtime::PackedRegistry& registry_;
  std::uint64_t seed_;
  Make make_;
  std::optional<std::vector<Maker>> makers_;
  std::size_t objects_ = 0;  // leaves of all parameters to be made
  std::size_t next_ = 0;     // of these
};

}  // namespace rldb::session
