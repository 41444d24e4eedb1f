// SPDX-License-Identifier: Apache-2.0
// What runtime.hpp is in a build without CUDA.
#include "kernels/cuda/runtime.hpp"
#include "support/fail.hpp"

namespace tessera::cuda {

Offer look_for_devices() {
  Offer offer;
  offer.unavailable = "this build has no CUDA: configure with -DTESSERA_CUDA=ON where NVIDIA's CUDA Toolkit (12.4 or newer) is installed";
  return offer;
}

std::shared_ptr<Device> open_device() {
  support::fail(ErrorCode::unsupported, "the cuda backend cannot run: {}; the cpu backend gives the same answer", look_for_devices().unavailable);
}

}  // namespace tessera::cuda
