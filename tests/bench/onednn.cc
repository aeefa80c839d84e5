#include "bench/onednn.h"

#ifndef RLDB_HAVE_ONEDNN

namespace rldb::bench {
std::function<void()> onednn_call(std::string_view) { return {}; }
}  // namespace rldb::bench

#else

#include <algorithm>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rldb::bench {

namespace {

using dnnl::memory;
using Dims = memory::dims;
using DataType = memory::data_type;

// A primitive with its memories; `run` waits for it.
struct Call {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;

  memory::desc plain(const Dims& dims, DataType type = DataType::f32) {
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    return memory::desc(dims, type, strides);
  }
  void bind(int argument, const memory::desc& desc) {
    memory made(desc, engine);
    std::fill_n(static_cast<unsigned char*>(made.get_data_handle()), desc.get_size(), static_cast<unsigned char>(0x3c));
    arguments.emplace(argument, std::move(made));
  }
  void run() {
    primitive.execute(stream, arguments);
    stream.wait();
  }
};

std::function<void()> runs(const std::shared_ptr<Call>& call) {
  return [call] { call->run(); };
}

std::function<void()> elementwise(dnnl::algorithm algorithm, float alpha = 0) {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1024, 1024});
  const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm, x, alpha, 0);
  c->primitive = dnnl::eltwise_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_DST, x);
  return runs(c);
}

std::function<void()> softmax() {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1024, 1024});
  const dnnl::softmax_forward::desc desc(dnnl::prop_kind::forward_inference, x, 1);
  c->primitive = dnnl::softmax_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_DST, x);
  return runs(c);
}

std::function<void()> layer_norm() {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1024, 1024});
  using Flags = dnnl::normalization_flags;
  const dnnl::layer_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, x, 1e-5f,
                                                     Flags::use_scale | Flags::use_shift);
  c->primitive = dnnl::layer_normalization_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_DST, x);
  c->bind(DNNL_ARG_SCALE, c->plain({1024}));
  c->bind(DNNL_ARG_SHIFT, c->plain({1024}));
  return runs(c);
}

std::function<void()> add_row() {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1024, 1024}), y = c->plain({1, 1024});
  const dnnl::binary::desc desc(dnnl::algorithm::binary_add, x, y, x);
  c->primitive = dnnl::binary({desc, c->engine});
  c->bind(DNNL_ARG_SRC_0, x);
  c->bind(DNNL_ARG_SRC_1, y);
  c->bind(DNNL_ARG_DST, x);
  return runs(c);
}

std::function<void()> reduction(dnnl::algorithm algorithm) {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1024, 1024}), y = c->plain({1024, 1});
  const dnnl::reduction::desc desc(algorithm, x, y, 0, 0);
  c->primitive = dnnl::reduction({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_DST, y);
  return runs(c);
}

std::function<void()> transpose() {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1024, 1024});
  const memory::desc y({1024, 1024}, DataType::f32, Dims{1, 1024});
  c->primitive = dnnl::reorder({c->engine, x, c->engine, y});
  c->bind(DNNL_ARG_FROM, x);
  c->bind(DNNL_ARG_TO, y);
  return runs(c);
}

std::function<void()> product(const Dims& a, const Dims& b, const Dims& out, DataType type = DataType::f32) {
  auto c = std::make_shared<Call>();
  const auto x = c->plain(a, type), y = c->plain(b, type);
  const auto z = c->plain(out, type == DataType::s8 ? DataType::s32 : type);
  const dnnl::matmul::desc desc(x, y, z);
  c->primitive = dnnl::matmul({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_WEIGHTS, y);
  c->bind(DNNL_ARG_DST, z);
  return runs(c);
}

std::function<void()> convolution(const Dims& in, const Dims& weights, const Dims& out, std::int64_t stride,
                                  std::int64_t pad) {
  auto c = std::make_shared<Call>();
  const auto x = c->plain(in), w = c->plain(weights), y = c->plain(out);
  const Dims strides{stride, stride}, pads{pad, pad};
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x,
                                             w, y, strides, pads, pads);
  c->primitive = dnnl::convolution_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_WEIGHTS, w);
  c->bind(DNNL_ARG_DST, y);
  return runs(c);
}

std::function<void()> max_pool() {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1, 64, 112, 112}), y = c->plain({1, 64, 56, 56});
  const dnnl::pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max, x, y,
                                            {2, 2}, {3, 3}, {0, 0}, {1, 1}, {1, 1});
  c->primitive = dnnl::pooling_v2_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_DST, y);
  return runs(c);
}

std::function<void()> make(std::string_view name) {
  using Algorithm = dnnl::algorithm;
  if (name == "softmax") return softmax();
  if (name == "layer_norm") return layer_norm();
  if (name == "gelu") return elementwise(Algorithm::eltwise_gelu_erf);
  if (name == "silu") return elementwise(Algorithm::eltwise_swish, 1);
  if (name == "exp") return elementwise(Algorithm::eltwise_exp);
  if (name == "tanh") return elementwise(Algorithm::eltwise_tanh);
  if (name == "add_row") return add_row();
  if (name == "sum_rows") return reduction(Algorithm::reduction_sum);
  if (name == "max_rows") return reduction(Algorithm::reduction_max);
  if (name == "transpose") return transpose();
  if (name == "product_512") return product({512, 512}, {512, 512}, {512, 512});
  if (name == "product_128_768_3072") return product({128, 768}, {768, 3072}, {128, 3072});
  if (name == "product_vector") return product({1, 2048}, {2048, 2048}, {1, 2048});
  if (name == "product_batch") return product({12, 128, 64}, {12, 64, 128}, {12, 128, 128});
  if (name == "product_int8") return product({512, 512}, {512, 512}, {512, 512}, DataType::s8);
  if (name == "conv_3x3") return convolution({1, 64, 56, 56}, {64, 64, 3, 3}, {1, 64, 56, 56}, 1, 1);
  if (name == "conv_1x1") return convolution({1, 256, 14, 14}, {1024, 256, 1, 1}, {1, 1024, 14, 14}, 1, 0);
  if (name == "conv_7x7") return convolution({1, 3, 224, 224}, {64, 3, 7, 7}, {1, 64, 112, 112}, 2, 3);
  if (name == "conv_depthwise") return convolution({1, 64, 56, 56}, {64, 1, 1, 3, 3}, {1, 64, 56, 56}, 1, 1);
  if (name == "max_pool") return max_pool();
  return {};
}

}  // namespace

std::function<void()> onednn_call(std::string_view name) {
  try {
    return make(name);
  } catch (const dnnl::error&) {
    return {};  // not on this CPU
  }
}

}  // namespace rldb::bench

#endif
