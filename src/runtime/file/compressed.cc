#include "rldb/runtime/compressed.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "rldb/support/cancel.h"
#include "rldb/support/check.h"

namespace rldb::runtime {

namespace {

// Fast, and near the best for tensors, whose bytes hardly repeat.
constexpr int kLevel = 3;
constexpr std::size_t kChunk = std::size_t(1) << 20;

struct FreeStream {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
  void operator()(ZSTD_DCtx* d) const { ZSTD_freeDCtx(d); }
};

Result<std::string> bad_frame(std::string_view why) { return fail(ErrorKind::Unsupported, std::string(why)); }

}  // namespace

std::string compress(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, FreeStream> context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setPledgedSrcSize(context.get(), bytes.size());
  std::string out;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (std::size_t left = 1; left != 0;) {
    support::poll();
    const std::size_t begin = out.size();
    out.resize(begin + kChunk);
    ZSTD_outBuffer to{out.data() + begin, kChunk, 0};
    left = ZSTD_compressStream2(context.get(), &to, &in, ZSTD_e_end);
    RLDB_CHECK(!ZSTD_isError(left), "zstd cannot compress");
    out.resize(begin + to.pos);
  }
  return out;
}

Result<std::string> decompress(std::string_view frame, std::size_t limit) {
  const std::uint64_t says = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (says == ZSTD_CONTENTSIZE_ERROR || says == ZSTD_CONTENTSIZE_UNKNOWN) return bad_frame("its contents are damaged");
  if (says > limit)
    return bad_frame(fmt::format("its contents take {} bytes, and the limit on all memory is {}", says, limit));
  const std::unique_ptr<ZSTD_DCtx, FreeStream> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  std::string out;
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  for (std::size_t left = 1; left != 0;) {
    support::poll();
    const std::size_t begin = out.size();
    // One byte more than it says: a frame that has more is noticed.
    out.resize(std::min(begin + kChunk, std::size_t(says) + 1));
    ZSTD_outBuffer to{out.data() + begin, out.size() - begin, 0};
    const std::size_t read = in.pos;
    left = ZSTD_decompressStream(context.get(), &to, &in);
    if (ZSTD_isError(left)) return bad_frame("its contents are damaged");
    out.resize(begin + to.pos);
    if (out.size() > says) return bad_frame("its contents are larger than it says");
    if (left != 0 && in.pos == in.size && to.pos == 0 && read == in.pos) return bad_frame("it is cut off");
  }
  if (in.pos != in.size) return bad_frame("bytes follow its contents");
  if (out.size() != says) return bad_frame("its contents are smaller than it says");
  return out;
}

}  // namespace rldb::runtime
