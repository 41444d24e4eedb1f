// SPDX-License-Identifier: Apache-2.0
#include "simt/tensor_model.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <fstream>
#include <random>

#include "support/float16.hpp"

namespace tessera::testing {
namespace {

std::vector<std::uint16_t> repeated(double value, std::size_t count) { return std::vector<std::uint16_t>(count, support::bfloat16_of(value)); }

/// Relative to the sum of sizes. Products of bf16 and their sums over a few hundred are exact in long double while exponents stay close.
double error_of(const cuda::TensorArch& arch, const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
  long double exact = 0, sizes = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const long double product = static_cast<long double>(support::double_of_bfloat16(a[t])) * support::double_of_bfloat16(b[t]);
    exact += product;
    sizes += std::abs(product);
  }
  return static_cast<double>(std::abs(tensor_sum(arch, 0, a, b) - exact) / sizes);
}

TEST(TensorModel, AgreesWithTheVectorsThatExactFractionsMade) {
  const auto vectors = nlohmann::json::parse(std::ifstream(TESSERA_TEST_DATA "/tensor_vectors.json"));
  ASSERT_GT(vectors.size(), 100U);
  for (const cuda::TensorArch& arch : cuda::kTensorArchs) {
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      const auto& v = vectors[i];
      const float sum = tensor_sum(arch, std::bit_cast<float>(v["c"].get<std::uint32_t>()), v["a"].get<std::vector<std::uint16_t>>(), v["b"].get<std::vector<std::uint16_t>>());
      ASSERT_EQ(std::bit_cast<std::uint32_t>(sum), v["sums"].at(std::to_string(arch.arch)).get<std::uint32_t>()) << "sm_" << arch.arch << ", vector " << i;
    }
  }
}

TEST(TensorModel, VectorsTellArchitecturesApart) {
  const auto vectors = nlohmann::json::parse(std::ifstream(TESSERA_TEST_DATA "/tensor_vectors.json"));
  int apart = 0;
  for (const auto& v : vectors) apart += v["sums"]["80"] != v["sums"]["90"] ? 1 : 0;
  EXPECT_GT(apart, 20);
}

TEST(TensorModel, StaysWithinItsGamma) {
  constexpr std::uint64_t kSeed = 17;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  std::normal_distribution<double> normal;
  for (const cuda::TensorArch& arch : cuda::kTensorArchs) {
    for (const Index d : {16, 32, 128, 768}) {
      const double gamma = cuda::tensor_model_gamma(arch, d);
      for (int round = 0; round < 300; ++round) {
        std::vector<std::uint16_t> a, b;
        for (Index t = 0; t < d; ++t) {
          const double size = round % 2 == 0 ? 1 : std::ldexp(1.0, static_cast<int>(random() % 25) - 12);
          a.push_back(support::bfloat16_of(normal(random) * size));
          b.push_back(support::bfloat16_of(round % 3 == 0 ? std::abs(normal(random)) : normal(random)));
        }
        ASSERT_LE(error_of(arch, a, b), gamma) << "sm_" << arch.arch << ", d " << d;
      }
    }
  }
}

/// One product of 1, then products just below the last place that is kept beside it: each is lost whole.
TEST(TensorModel, AttainsItsGammaOnSmallProductsBesideALargeOne) {
  for (const cuda::TensorArch& arch : cuda::kTensorArchs) {
    for (const Index d : {128, 768}) {
      const double lost = 0x1p-23 / (1 << arch.extra_bits) * (1 - 0x1p-7);  // two bf16: 2^-k and (2 - 2^-7) / 2
      auto a = repeated(lost * 0x1p12, static_cast<std::size_t>(d));
      auto b = repeated(0x1p-12, static_cast<std::size_t>(d));
      a[0] = b[0] = support::bfloat16_of(1);
      const double error = error_of(arch, a, b);
      const double gamma = cuda::tensor_model_gamma(arch, d);
      fmt::print("sm_{}, d {}: {:.3f} of gamma\n", arch.arch, d, error / gamma);
      EXPECT_LE(error, gamma);
      EXPECT_GT(error, 0.5 * gamma) << "half of gamma would go unnoticed";
    }
  }
}

TEST(TensorModel, KeepsNanAndInfinity) {
  const auto nan = repeated(std::nan(""), 16);
  const auto ones = repeated(1, 16);
  EXPECT_TRUE(std::isnan(tensor_sum(cuda::kTensorArchs[0], 0, nan, ones)));
  EXPECT_TRUE(std::isnan(tensor_sum(cuda::kTensorArchs[1], std::nanf(""), ones, ones)));
}

TEST(TensorArchs, AreKnownOrNot) {
  EXPECT_EQ(cuda::find_tensor_arch(90)->products, 16);
  EXPECT_EQ(cuda::find_tensor_arch(80)->products, 8);
  EXPECT_EQ(cuda::find_tensor_arch(89), nullptr);
  EXPECT_EQ(cuda::find_tensor_arch(100), nullptr);
}

}  // namespace
}  // namespace tessera::testing
