// Kernels for primitives of the Relay VM. Room-private.
#pragma once

#include <map>
#include <memory>

#include "rldb/relay/codegen/compile.h"
#include "rldb/relay/vm/machine.h"
#include "rldb/session/session.h"

namespace rldb::session {

using relay_vm::Primitive;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;

class KernelMaker : public std::enable_shared_from_this<KernelMaker>, public relay::Evaluator {
 public:
  KernelMaker(relay::Context& ctx, const Options& options, runtime::Output* output)
      : ctx_(ctx), session_(on_host(options), output) {}

  Primitive primitive(const relay::Kernel& kernel);
  // Reads a function stored in a file; null: it is not a function over tensors of known types.
  const relay::Function* read_function(const std::string& text);
  Result<Value> evaluate(const relay::Function* f) override;
  // A primitive recognised by its name; empty: the name is not recognised.
  Primitive primitive_by_name(std::string_view name);
  // Of the machine code of those that have run, by primitive and, where there are several, dims.
  std::vector<Session::KernelState> states() const;

 private:
  // A kernel computes where its tensors are; a program of several has its memory on the host.
  static Options on_host(Options options) {
    options.devices.clear();
    return options;
  }
  // A primitive function for operands of known dims.
  struct Specialised {
    const relay::Function* function = nullptr;
    const relay::Type* result = nullptr;
    std::shared_ptr<const Build> build;  // null: not compiled yet
    Value callable;
    runtime::Kernel* kernel = nullptr;         // if the function is one kernel: called without a machine
    std::vector<Session::KernelState> states;  // of its kernels, after the first run
  };
  using Shapes = std::vector<std::vector<std::int64_t>>;
  using Key = std::pair<const relay::Function*, Shapes>;

  // The last call of a primitive, which is mostly like the next one.
  struct Last {
    Shapes shapes;
    Specialised* specialised = nullptr;
  };

  Result<Specialised*> compiled(const relay::Function* f, PackedArgs inputs, Last& last);
  Result<Value> evaluate(const Specialised& s, PackedArgs inputs);
  Result<Specialised*> specialise(const relay::Function* f, const Shapes& shapes);
  Result<support::Unit> compile(Specialised& s);
  void note_states(Specialised& s) const;
  Result<support::Unit> compute(const relay::Function* f, PackedArgs inputs, PackedArgs outputs, Last& last);
  Result<support::Unit> shape(const relay::Function* f, PackedArgs shapes, PackedArgs outputs);
  Result<support::Unit> shape_from_data(const relay::Function* f, PackedArgs inputs, PackedArgs outputs, Last& last);

  struct NamedChain {
    std::vector<const relay::OpInfo*> operators;
    bool is_shape = false;
  };
  std::optional<NamedChain> read_name(std::string_view name) const;
  Result<const relay::Function*> chain_function(const NamedChain& chain, const std::vector<runtime::DType>& dtypes,
                                                const Shapes& shapes);

  relay::Context& ctx_;
  Session session_;
  std::map<const relay::Function*, std::string> names_;  // of primitives
  std::map<Key, Specialised> specialised_;
  std::map<std::pair<std::string, Shapes>, const relay::Function*> by_name_;
  int count_ = 0;
};

}  // namespace rldb::session
