// SPDX-License-Identifier: Apache-2.0
// mma.hpp on the host: a warp's fragments are exchanged as a warp exchanges anything, and summed by the model.
#include "simt/tensor_shim.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "kernels/cuda/mma.hpp"
#include "simt/tensor_model.hpp"

namespace tessera::testing {
namespace {

const cuda::TensorArch* modelled = cuda::find_tensor_arch(90);

}  // namespace

ModelledArch::ModelledArch(int arch) : before_(modelled) { modelled = cuda::find_tensor_arch(arch); }
ModelledArch::~ModelledArch() { modelled = before_; }

}  // namespace tessera::testing

namespace tessera::cuda::simt {
namespace {

std::uint64_t pair_of(unsigned low, unsigned high) noexcept { return static_cast<std::uint64_t>(high) << 32 | low; }

/// Rows of 32 bytes that this lane's four sums are made of.
struct Operands {
  std::array<std::array<unsigned, 8>, 2> a;  // rows g and g + 8, four bytes a word
  std::array<std::array<unsigned, 8>, 2> b;  // columns 2t and 2t + 1
};

Operands gather(const unsigned (&a)[4], const unsigned (&b)[2], Here here) {
  Operands all{};
  const unsigned group = lane() / 4;
  const unsigned pair = lane() % 4 * 2;
  for (unsigned half = 0; half < 2; ++half) {
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint64_t from_a = exchange(kAllLanes, pair_of(a[half], a[half + 2]), 4 * group + i, here);
      all.a[half][i] = static_cast<unsigned>(from_a);
      all.a[half][i + 4] = static_cast<unsigned>(from_a >> 32);
      const std::uint64_t from_b = exchange(kAllLanes, pair_of(b[0], b[1]), 4 * (pair + half) + i, here);
      all.b[half][i] = static_cast<unsigned>(from_b);
      all.b[half][i + 4] = static_cast<unsigned>(from_b >> 32);
    }
  }
  return all;
}

}  // namespace

void load_matrices(unsigned (&m)[4], const void* row, Here here) {
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint64_t at = exchange(kAllLanes, reinterpret_cast<std::uintptr_t>(row), 8 * i + lane() / 4, here);
    std::memcpy(&m[i], reinterpret_cast<const unsigned char*>(at) + 4 * (lane() % 4), 4);
  }
}

void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], Here here) {
  const Operands all = gather(a, b, here);
  for (unsigned i = 0; i < 4; ++i) {
    const auto x = std::bit_cast<std::array<std::uint16_t, 16>>(all.a[i / 2]);
    const auto y = std::bit_cast<std::array<std::uint16_t, 16>>(all.b[i % 2]);
    c[i] = testing::tensor_sum(*testing::modelled, c[i], x, y);
  }
}

void multiply(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], Here here) {
  const Operands all = gather(a, b, here);
  for (unsigned i = 0; i < 4; ++i) {
    const auto x = std::bit_cast<std::array<std::int8_t, 32>>(all.a[i / 2]);
    const auto y = std::bit_cast<std::array<std::int8_t, 32>>(all.b[i % 2]);
    for (unsigned t = 0; t < 32; ++t) c[i] += x[t] * y[t];
  }
}

}  // namespace tessera::cuda::simt
