// SPDX-License-Identifier: Apache-2.0
// Here: which NVIDIA devices this build and this machine offer, and opening one. runtime.cpp answers with the CUDA runtime,
// missing.cpp in a build without CUDA.
// Not here: what is done with a device (device.hpp), which backend a call takes (engine/registry).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/device.hpp"

namespace tessera::cuda {

/// Oldest architecture that kernels are built for: the first with bf16 and 8-bit tensor cores and cp.async.
inline constexpr int kOldestArch = 80;

struct Offer {
  std::string toolkit;                    // CUDA version the build was made with, "13.0"; empty: built without
  std::string driver;                     // newest CUDA version the driver serves; empty: no driver
  std::vector<DeviceProperties> devices;  // all that the driver offers, too old ones included; memory_free is not asked for
  std::string unavailable;                // why open_device() would fail, and what to do; empty: it would not
};

/// Never throws for what is missing: that is what `unavailable` says. Makes no context on any device.
Offer look_for_devices();

/// The first device that kernels run on. CUDA_VISIBLE_DEVICES chooses and orders, as for every CUDA program.
/// throws   Error{unsupported} with what is missing and what to do.
std::shared_ptr<Device> open_device();

}  // namespace tessera::cuda
