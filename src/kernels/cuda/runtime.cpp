// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime.hpp"

#include <algorithm>

#include "kernels/cuda/status.hpp"
#include "kernels/cuda/table.hpp"

namespace tessera::cuda {
namespace {

// Dynamic shared memory that a kernel gets without asking (CUDA C++ Programming Guide, compute capabilities).
constexpr std::size_t kSharedUnasked = 48 * 1024;

/// Device numbers are a thread's own setting, and workers come and go: every call names its device first.
void use(int ordinal) { check(cudaSetDevice(ordinal), "choosing device {}", ordinal); }

class RuntimeStream final : public Stream {
 public:
  explicit RuntimeStream(int ordinal) : ordinal_(ordinal) {
    use(ordinal_);
    // Non-blocking: no order with the default stream, which other code of the host program may use.
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  RuntimeStream(const RuntimeStream&) = delete;
  RuntimeStream& operator=(const RuntimeStream&) = delete;
  ~RuntimeStream() override {
    // Copies under way may read host memory that the caller frees next.
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void copy_in(void* device, const void* host, std::size_t bytes) override {
    use(ordinal_);
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "copying {} bytes to the device", bytes);
  }
  void copy_out(void* host, const void* device, std::size_t bytes) override {
    use(ordinal_);
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "copying {} bytes from the device", bytes);
  }
  void fill(void* device, int byte, std::size_t bytes) override {
    use(ordinal_);
    check(cudaMemsetAsync(device, byte, bytes, stream_), "filling {} bytes", bytes);
  }
  void launch(KernelId kernel, const LaunchShape& shape, const void* params) override {
    use(ordinal_);
    const KernelEntry& entry = kernel_entry(kernel);
    if (shape.shared_bytes > kSharedUnasked) {
      check(cudaFuncSetAttribute(entry.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)),
            "asking for {} bytes of shared memory for {}", shape.shared_bytes, entry.name);
    }
    void* arguments[] = {const_cast<void*>(params)};  // read, never written
    check(cudaLaunchKernel(entry.function, dim3(shape.grid_x, shape.grid_y), dim3(shape.block_x), arguments, shape.shared_bytes, stream_),
          "launching {} in {} x {} blocks of {} threads", entry.name, shape.grid_x, shape.grid_y, shape.block_x);
  }
  void wait() override {
    use(ordinal_);
    check(cudaStreamSynchronize(stream_), "waiting for the device");
  }

 private:
  int ordinal_;
  cudaStream_t stream_ = nullptr;
};

DeviceProperties properties_of(int ordinal) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, ordinal), "asking device {} what it is", ordinal);
  return {.ordinal = ordinal,
          .name = p.name,
          .arch = p.major * 10 + p.minor,
          .multiprocessors = p.multiProcessorCount,
          .memory_total = p.totalGlobalMem,
          .memory_free = 0,
          .l2_bytes = static_cast<std::uint64_t>(p.l2CacheSize),
          .shared_per_block = p.sharedMemPerBlockOptin};
}

class RuntimeDevice final : public Device {
 public:
  explicit RuntimeDevice(const DeviceProperties& properties) : properties_(properties) {}

  DeviceProperties properties() const override {
    DeviceProperties now = properties_;
    use(now.ordinal);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    now.memory_free = free;
    return now;
  }
  void* allocate(std::size_t bytes) override {
    use(properties_.ordinal);
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "allocating {} bytes on {}", bytes, properties_.name);
    return memory;
  }
  void release(void* memory) noexcept override {
    cudaSetDevice(properties_.ordinal);
    cudaFree(memory);
  }
  void* allocate_pinned(std::size_t bytes) override {
    use(properties_.ordinal);
    void* memory = nullptr;
    // Portable: pinned for every device, for several may share one base.
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "pinning {} bytes of host memory", bytes);
    return memory;
  }
  void release_pinned(void* memory) noexcept override {
    cudaSetDevice(properties_.ordinal);
    cudaFreeHost(memory);
  }
  std::unique_ptr<Stream> stream() override { return std::make_unique<RuntimeStream>(properties_.ordinal); }

 private:
  DeviceProperties properties_;
};

std::string version_text(int version) { return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

bool runs_kernels(const DeviceProperties& device) { return device.arch >= kOldestArch; }

std::string why_none(const Offer& offer, cudaError_t status) {
  if (offer.driver.empty()) return "no NVIDIA driver is installed, or this container does not get it";
  if (status == cudaErrorInsufficientDriver) {
    return fmt::format("the NVIDIA driver serves CUDA {} and this build is made with {}: update the driver, or build with an older toolkit", offer.driver, offer.toolkit);
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && offer.devices.empty())) {
    return "the NVIDIA driver offers no device: look at nvidia-smi, and at CUDA_VISIBLE_DEVICES if it is set";
  }
  if (status != cudaSuccess) return fmt::format("the NVIDIA driver cannot be asked for devices: {} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
  return fmt::format("no device has compute capability {}.{} or newer; the first is {} with {}.{}", kOldestArch / 10, kOldestArch % 10, offer.devices.front().name,
                     offer.devices.front().arch / 10, offer.devices.front().arch % 10);
}

}  // namespace

Offer look_for_devices() {
  Offer offer;
  int version = 0;
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) offer.toolkit = version_text(version);
  version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess) offer.driver = version_text(version);  // success and 0 without a driver
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) count = 0;
  for (int i = 0; i < count; ++i) offer.devices.push_back(properties_of(i));
  if (std::none_of(offer.devices.begin(), offer.devices.end(), runs_kernels)) offer.unavailable = why_none(offer, status);
  return offer;
}

std::shared_ptr<Device> open_device() {
  const Offer offer = look_for_devices();
  if (!offer.unavailable.empty()) {
    support::fail(ErrorCode::unsupported, "the cuda backend cannot run: {}; the cpu backend gives the same answer", offer.unavailable);
  }
  return std::make_shared<RuntimeDevice>(*std::find_if(offer.devices.begin(), offer.devices.end(), runs_kernels));
}

}  // namespace tessera::cuda
