// Devices, their memory, modules and launches.
#include "codegen/nvptx/api/device.h"

#include <fmt/format.h>

#include <atomic>

#include "rldb/codegen/gpu/program.h"
#include "rldb/source/diagnostic_nvptx.h"

namespace rldb::codegen {

using runtime::Result;
using support::Unit;

namespace {

constexpr int kLeastMajor = 7;  // kPtxProcessor

class CuCode : public GpuCode {
 public:
  explicit CuCode(const cu::Api& cu) : cu_(cu) {}
  ~CuCode() override {
    if (module) cu_.cuModuleUnload(module);
  }
  CuCode(const CuCode&) = delete;
  CuCode& operator=(const CuCode&) = delete;

  cu::ModuleId module = nullptr;
  std::vector<cu::FunctionId> functions;  // by launch

 private:
  const cu::Api& cu_;
};

CudaDevice described(const cu::Api& cu, cu::DeviceId id) {
  constexpr int kLongestName = 256;
  CudaDevice d;
  char name[kLongestName] = "?";
  cu.cuDeviceGetName(name, kLongestName, id);
  d.name = name;
  std::size_t memory = 0;
  int shared = 0, threads = 0;
  cu.cuDeviceTotalMem(&memory, id);
  cu.cuDeviceGetAttribute(&d.major, cu::kMajor, id);
  cu.cuDeviceGetAttribute(&d.minor, cu::kMinor, id);
  cu.cuDeviceGetAttribute(&shared, cu::kMaxShared, id);
  cu.cuDeviceGetAttribute(&threads, cu::kMaxThreads, id);
  d.memory = memory;
  d.shared_memory = std::uint64_t(shared);
  d.block_size = std::uint64_t(threads);
  return d;
}

support::Failure<source::Message> no_cuda(const std::string& why) {
  return support::Failure(source::message(diag::CudaAbsent, why));
}

// The driver, with its number of devices; the Message says why there is none.
ir::Result<int> count_devices(const cu::Api*& cu) {
  std::string why;
  cu = cu::api(why);
  if (!cu) return no_cuda(why);
  int count = 0;
  cu::Result code = cu->cuInit(0);
  if (code == cu::kSuccess) code = cu->cuDeviceGetCount(&count);
  if (code != cu::kSuccess) return no_cuda(cu::error_name(*cu, code));
  if (count == 0) return no_cuda("the driver has no device");
  return count;
}

}  // namespace

ir::Result<std::vector<CudaDevice>> cuda_devices() {
  const cu::Api* cu = nullptr;
  RLDB_TRY(const int count, count_devices(cu));
  std::vector<CudaDevice> all;
  for (int i = 0; i < count; ++i) {
    cu::DeviceId id = 0;
    if (cu->cuDeviceGet(&id, i) == cu::kSuccess) all.push_back(described(*cu, id));
  }
  return all;
}

ir::Result<CuDevice*> CuDevice::open() {
  const cu::Api* cu = nullptr;
  RLDB_TRY_VOID(count_devices(cu));
  cu::DeviceId id = 0;
  auto opened = std::make_unique<CuDevice>();
  opened->cu_ = cu;
  if (const cu::Result code = cu->cuDeviceGet(&id, 0); code != cu::kSuccess) return no_cuda(cu::error_name(*cu, code));
  const CudaDevice about = described(*cu, id);
  if (about.major < kLeastMajor)
    return no_cuda(fmt::format("`{}` has compute capability {}.{}, and {}.0 is needed", about.name, about.major,
                               about.minor, kLeastMajor));
  opened->api = "CUDA";
  opened->number = {2, 0};  // DLPack's number
  opened->name = about.name;
  opened->block_threads = about.block_size;
  opened->shared_bytes = about.shared_memory;
  opened->memory_bytes = about.memory;
  opened->float64 = true;
  opened->part_alignment = 16;  // of the widest access
  cu::Result code = cu->cuDevicePrimaryCtxRetain(&opened->context_, id);
  if (code == cu::kSuccess) code = cu->cuCtxSetCurrent(opened->context_);
  if (code == cu::kSuccess) code = cu->cuStreamCreate(&opened->stream_, cu::kNonBlocking);
  void* word = nullptr;
  if (code == cu::kSuccess) code = cu->cuMemHostAlloc(&word, sizeof(std::uint32_t), cu::kMapped);
  if (code == cu::kSuccess) code = cu->cuMemHostGetDevicePointer(&opened->stop_on_device_, word, 0);
  if (code != cu::kSuccess) return no_cuda(fmt::format("`{}`: {}", about.name, cu::error_name(*cu, code)));
  opened->stop_ = static_cast<std::uint32_t*>(word);
  opened->ask_to_stop(false);
  return opened.release();
}

ir::Result<CuDevice*> CuDevice::first() {
  static const ir::Result<CuDevice*> first = open();
  return first;
}

Result<Unit> CuDevice::checked(std::string_view doing, cu::Result code) const {
  if (code == cu::kSuccess) return Unit{};
  const auto kind = code == cu::kOutOfMemory ? runtime::ErrorKind::OutOfMemory : runtime::ErrorKind::Raised;
  return runtime::fail(kind, fmt::format("CUDA cannot {}: {}", doing, cu::error_name(*cu_, code)));
}

// Waits for the command.
Result<Unit> CuDevice::finished(std::string_view doing, cu::Result code) const {
  RLDB_TRY_VOID(checked(doing, code));
  return checked(doing, cu_->cuStreamSynchronize(stream_));
}

// The context belongs to a thread: tensors are fetched by whoever reads them.
Result<GpuAddress> CuDevice::allocate(std::size_t bytes) {
  cu::Address address = 0;
  cu_->cuCtxSetCurrent(context_);
  RLDB_TRY_VOID(checked("allocate memory", cu_->cuMemAlloc(&address, bytes)));
  return address;
}
void CuDevice::release(GpuAddress memory) {
  cu_->cuCtxSetCurrent(context_);
  cu_->cuMemFree(memory);
}
Result<GpuAddress> CuDevice::part(GpuAddress memory, std::size_t at, std::size_t) { return memory + at; }

Result<Unit> CuDevice::write(GpuAddress to, const void* from, std::size_t bytes) {
  cu_->cuCtxSetCurrent(context_);
  return finished("copy to the device", cu_->cuMemcpyHtoDAsync(to, from, bytes, stream_));
}
Result<Unit> CuDevice::read(GpuAddress from, void* to, std::size_t bytes) {
  cu_->cuCtxSetCurrent(context_);
  return finished("copy from the device", cu_->cuMemcpyDtoHAsync(to, from, bytes, stream_));
}
Result<Unit> CuDevice::copy(GpuAddress from, std::size_t from_at, GpuAddress to, std::size_t to_at, std::size_t bytes) {
  if (bytes == 0) return Unit{};
  cu_->cuCtxSetCurrent(context_);
  return checked("copy memory", cu_->cuMemcpyDtoDAsync(to + to_at, from + from_at, bytes, stream_));
}
Result<Unit> CuDevice::clear(GpuAddress memory, std::size_t at, std::size_t bytes) {
  cu_->cuCtxSetCurrent(context_);
  return checked("clear memory", cu_->cuMemsetD8Async(memory + at, 0, bytes, stream_));
}

ir::Result<std::unique_ptr<GpuCode>> CuDevice::build(const Program& program, std::string_view name, bool) {
  const auto refused = [&](cu::Result code) {
    return support::Failure(source::message(diag::CudaLoad, name, cu::error_name(*cu_, code)));
  };
  cu_->cuCtxSetCurrent(context_);
  auto built = std::make_unique<CuCode>(*cu_);
  if (program.launches.empty()) return std::unique_ptr<GpuCode>(std::move(built));  // nothing to run
  if (const cu::Result code = cu_->cuModuleLoadData(&built->module, program.text.c_str()); code != cu::kSuccess)
    return refused(code);
  for (const Launch& launch : program.launches) {
    cu::FunctionId function = nullptr;
    const cu::Result code = cu_->cuModuleGetFunction(&function, built->module, launch.function.c_str());
    if (code != cu::kSuccess) return refused(code);
    built->functions.push_back(function);
  }
  return std::unique_ptr<GpuCode>(std::move(built));
}

Result<Unit> CuDevice::launch(const GpuCode& code, std::size_t which, const GpuGrid& grid,
                              std::span<const GpuArgument> arguments) {
  std::vector<GpuArgument> values(arguments.begin(), arguments.end());
  std::vector<void*> pointers;
  for (GpuArgument& a : values) {
    if (a.kind == GpuArgument::Kind::Stop) a.memory = stop_on_device_;
    pointers.push_back(a.kind == GpuArgument::Kind::Bytes ? static_cast<void*>(a.bytes) : &a.memory);
  }
  cu_->cuCtxSetCurrent(context_);
  return checked(
      "launch a kernel",
      cu_->cuLaunchKernel(static_cast<const CuCode&>(code).functions[which], unsigned(grid.blocks[0]),
                          unsigned(grid.blocks[1]), unsigned(grid.blocks[2]), unsigned(grid.threads[0]),
                          unsigned(grid.threads[1]), unsigned(grid.threads[2]), 0, stream_, pointers.data(), nullptr));
}

Result<bool> CuDevice::has_ended() {
  const cu::Result code = cu_->cuStreamQuery(stream_);
  if (code == cu::kNotReady) return false;
  RLDB_TRY_VOID(checked("complete a kernel", code));
  return true;
}

void CuDevice::ask_to_stop(bool stop) { std::atomic_ref(*stop_).store(stop ? 1 : 0); }

}  // namespace rldb::codegen
