// SPDX-License-Identifier: Apache-2.0
// Here: a cuda::Device on the host: its memory, its streams and the kernels of kernels.def, run by the shim. Work on a stream is put off
// until somebody waits, so that a result taken too early is seen to be missing.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/device.hpp"

namespace tessera::simt_shim {

struct DeviceSettings {
  std::uint64_t memory = std::uint64_t{4} << 30;
};

std::shared_ptr<cuda::Device> make_shim_device(const DeviceSettings& settings = {});

}  // namespace tessera::simt_shim
