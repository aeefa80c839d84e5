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

std::function<void()> softmax(const Dims& dims) {
  auto c = std::make_shared<Call>();
  const auto x = c->plain(dims);
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

std::function<void()> reduction(dnnl::algorithm algorithm, const Dims& out) {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1024, 1024}), y = c->plain(out);
  const dnnl::reduction::desc desc(algorithm, x, y, 0, 0);
  c->primitive = dnnl::reduction({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_DST, y);
  return runs(c);
}

std::function<void()> copy(const std::shared_ptr<Call>& c, const memory::desc& from, const memory::desc& to) {
  c->primitive = dnnl::reorder({c->engine, from, c->engine, to});
  c->bind(DNNL_ARG_FROM, from);
  c->bind(DNNL_ARG_TO, to);
  return runs(c);
}

std::function<void()> transpose() {
  auto c = std::make_shared<Call>();
  return copy(c, c->plain({1024, 1024}), memory::desc({1024, 1024}, DataType::f32, Dims{1, 1024}));
}
std::function<void()> transpose_heads() {
  auto c = std::make_shared<Call>();
  return copy(c, c->plain({1, 128, 12, 64}), memory::desc({1, 128, 12, 64}, DataType::f32, Dims{98304, 64, 8192, 1}));
}
std::function<void()> slice() {
  auto c = std::make_shared<Call>();
  return copy(c, memory::desc({1024, 1024}, DataType::f32, Dims{2048, 1}), c->plain({1024, 1024}));
}

std::function<void()> concat() {
  auto c = std::make_shared<Call>();
  const std::vector<memory::desc> parts{c->plain({1024, 256}), c->plain({1024, 768})};
  const auto out = c->plain({1024, 1024});
  c->primitive = dnnl::concat({out, 1, parts, c->engine});
  c->bind(DNNL_ARG_MULTIPLE_SRC, parts[0]);
  c->bind(DNNL_ARG_MULTIPLE_SRC + 1, parts[1]);
  c->bind(DNNL_ARG_DST, out);
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

std::function<void()> convolve(const std::shared_ptr<Call>& c, const memory::desc& x, const memory::desc& w,
                               const memory::desc& y, std::int64_t stride, std::int64_t pad) {
  const Dims strides(x.dims().size() - 2, stride), pads(x.dims().size() - 2, pad);
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x,
                                             w, y, strides, pads, pads);
  c->primitive = dnnl::convolution_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_WEIGHTS, w);
  c->bind(DNNL_ARG_DST, y);
  return runs(c);
}
std::function<void()> convolution(const Dims& in, const Dims& weights, const Dims& out, std::int64_t stride,
                                  std::int64_t pad) {
  auto c = std::make_shared<Call>();
  return convolve(c, c->plain(in), c->plain(weights), c->plain(out), stride, pad);
}
std::function<void()> convolution_nhwc() {
  using Tag = memory::format_tag;
  const memory::desc x({1, 64, 56, 56}, DataType::f32, Tag::nhwc), w({64, 64, 3, 3}, DataType::f32, Tag::hwio);
  return convolve(std::make_shared<Call>(), x, w, x, 1, 1);
}
std::function<void()> transposed_convolution() {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1, 64, 28, 28}), y = c->plain({1, 32, 56, 56});
  const memory::desc w({32, 64, 4, 4}, DataType::f32, memory::format_tag::iohw);
  const dnnl::deconvolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                               dnnl::algorithm::deconvolution_direct, x, w, y, {2, 2}, {1, 1}, {1, 1});
  c->primitive = dnnl::deconvolution_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_WEIGHTS, w);
  c->bind(DNNL_ARG_DST, y);
  return runs(c);
}

std::function<void()> pool(dnnl::algorithm algorithm) {
  auto c = std::make_shared<Call>();
  const auto x = c->plain({1, 64, 112, 112}), y = c->plain({1, 64, 56, 56});
  const dnnl::pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm, x, y, {2, 2}, {3, 3}, {0, 0},
                                            {1, 1}, {1, 1});
  c->primitive = dnnl::pooling_v2_forward({desc, c->engine});
  c->bind(DNNL_ARG_SRC, x);
  c->bind(DNNL_ARG_DST, y);
  return runs(c);
}

std::function<void()> make(std::string_view name) {
  using Algorithm = dnnl::algorithm;
  if (name == "softmax") return softmax({1024, 1024});
  if (name == "softmax_odd") return softmax({333, 1001});
  if (name == "softmax_symbolic") return softmax({1024, 1024});
  if (name == "layer_norm") return layer_norm();
  if (name == "gelu") return elementwise(Algorithm::eltwise_gelu_erf);
  if (name == "silu") return elementwise(Algorithm::eltwise_swish, 1);
  if (name == "exp") return elementwise(Algorithm::eltwise_exp);
  if (name == "tanh") return elementwise(Algorithm::eltwise_tanh);
  if (name == "add_row" || name == "add_row_symbolic") return add_row();
  if (name == "sum_rows") return reduction(Algorithm::reduction_sum, {1024, 1});
  if (name == "sum_columns") return reduction(Algorithm::reduction_sum, {1, 1024});
  if (name == "max_rows") return reduction(Algorithm::reduction_max, {1024, 1});
  if (name == "transpose") return transpose();
  if (name == "transpose_heads") return transpose_heads();
  if (name == "slice") return slice();
  if (name == "concat") return concat();
  if (name == "product_odd") return product({333, 517}, {517, 251}, {333, 251});
  if (name == "product_symbolic") return product({1024, 768}, {768, 768}, {1024, 768});
  if (name == "product_512") return product({512, 512}, {512, 512}, {512, 512});
  if (name == "product_128_768_3072") return product({128, 768}, {768, 3072}, {128, 3072});
  if (name == "product_vector") return product({1, 2048}, {2048, 2048}, {1, 2048});
  if (name == "product_batch") return product({12, 128, 64}, {12, 64, 128}, {12, 128, 128});
  if (name == "product_int8") return product({512, 512}, {512, 512}, {512, 512}, DataType::s8);
  if (name == "conv_3x3") return convolution({1, 64, 56, 56}, {64, 64, 3, 3}, {1, 64, 56, 56}, 1, 1);
  if (name == "conv_1x1") return convolution({1, 256, 14, 14}, {1024, 256, 1, 1}, {1, 1024, 14, 14}, 1, 0);
  if (name == "conv_7x7") return convolution({1, 3, 224, 224}, {64, 3, 7, 7}, {1, 64, 112, 112}, 2, 3);
  if (name == "conv_depthwise") return convolution({1, 64, 56, 56}, {64, 1, 1, 3, 3}, {1, 64, 56, 56}, 1, 1);
  if (name == "conv_batch_3") return convolution({3, 48, 35, 35}, {48, 48, 3, 3}, {3, 48, 35, 35}, 1, 1);
  if (name == "conv_nhwc") return convolution_nhwc();
  if (name == "conv_1d") return convolution({1, 80, 1500}, {384, 80, 3}, {1, 384, 1500}, 1, 1);
  if (name == "conv_3d") return convolution({1, 16, 16, 28, 28}, {16, 16, 3, 3, 3}, {1, 16, 16, 28, 28}, 1, 1);
  if (name == "conv_transpose") return transposed_convolution();
  if (name == "max_pool") return pool(Algorithm::pooling_max);
  if (name == "avg_pool") return pool(Algorithm::pooling_avg_exclude_padding);
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
