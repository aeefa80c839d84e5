/* A CUDA driver without a device behind it: it keeps memory, and writes down what it is asked to do, one line for each
   call, into the file of FAKE_CUDA_LOG. Kernels are not executed. FAKE_CUDA_FAIL=NAME makes that function fail,
   with FAKE_CUDA_FAIL_BYTES=N only for so many bytes, and as long as there is no file `mended`. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int call(const char* name, const char* about) {
  const char* path = getenv("FAKE_CUDA_LOG");
  const char* fails = getenv("FAKE_CUDA_FAIL");
  FILE* log = path ? fopen(path, "a") : NULL;
  if (log) {
    fprintf(log, "%s%s%s\n", name, *about ? " " : "", about);
    fclose(log);
  }
  return fails && strcmp(fails, name) == 0 ? 2 : 0;
}
static int sized(const char* name, size_t bytes) {
  char about[64];
  snprintf(about, sizeof about, "%zu", bytes);
  const int code = call(name, about);
  const char* only = getenv("FAKE_CUDA_FAIL_BYTES");
  return only && (strcmp(only, about) != 0 || access("mended", F_OK) == 0) ? 0 : code;
}

int cuInit(unsigned flags) { return (void)flags, call("cuInit", ""); }
int cuGetErrorName(int code, const char** name) {
  return *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR", 0;
}
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int number) { return *device = number, 0; }
int cuDeviceGetName(char* name, int size, int device) {
  return (void)device, snprintf(name, (size_t)size, "no device"), 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 1 ? 1024 : attribute == 8 ? 49152 : attribute == 75 ? 7 : 0;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) { return (void)device, *bytes = (size_t)1 << 30, 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return (void)device, *context = (void*)1, 0; }
int cuCtxSetCurrent(void* context) { return context != (void*)1; }
int cuStreamCreate(void** stream, unsigned flags) { return (void)flags, *stream = (void*)2, 0; }
int cuStreamQuery(void* stream) { return stream != (void*)2; }
int cuStreamSynchronize(void* stream) { return stream != (void*)2; }
int cuModuleLoadData(void** module, const void* text) {
  const char* target = strstr(text, ".target");
  char about[64] = "";
  if (target) snprintf(about, sizeof about, "%.*s", (int)strcspn(target, "\n"), target);
  *module = (void*)3;
  return call("cuModuleLoadData", about);
}
int cuModuleUnload(void* module) { return module != (void*)3; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module;
  *function = (void*)strdup(name);
  return call("cuModuleGetFunction", name);
}
int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  *memory = (uint64_t)(uintptr_t)malloc(bytes);
  return sized("cuMemAlloc", bytes);
}
int cuMemFree_v2(uint64_t memory) { return free((void*)(uintptr_t)memory), 0; }
int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) { return (void)flags, *memory = calloc(1, bytes), 0; }
int cuMemHostGetDevicePointer_v2(uint64_t* device, void* host, unsigned flags) {
  return (void)flags, *device = (uint64_t)(uintptr_t)host, 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  (void)stream;
  memcpy((void*)(uintptr_t)to, from, bytes);
  return sized("cuMemcpyHtoDAsync", bytes);
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  (void)stream;
  const int code = sized("cuMemcpyDtoHAsync", bytes);
  if (code == 0) memcpy(to, (void*)(uintptr_t)from, bytes);
  return code;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  (void)stream;
  memcpy((void*)(uintptr_t)to, (void*)(uintptr_t)from, bytes);
  return sized("cuMemcpyDtoDAsync", bytes);
}
int cuMemsetD8Async(uint64_t memory, unsigned char value, size_t bytes, void* stream) {
  (void)stream;
  memset((void*)(uintptr_t)memory, value, bytes);
  return sized("cuMemsetD8Async", bytes);
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void** extra) {
  char about[256];
  (void)shared, (void)stream, (void)extra;
  snprintf(about, sizeof about, "%s grid %u %u %u block %u %u %u%s", (const char*)function, gx, gy, gz, bx, by, bz,
           parameters && parameters[0] ? "" : " without parameters");
  return call("cuLaunchKernel", about);
}
