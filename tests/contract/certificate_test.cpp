// SPDX-License-Identifier: Apache-2.0
// The certificate at work in the engine: with its bounds as they are, rows built to attain them get the right answer; with halved
// bounds each of them gets a wrong one. The second half is what makes the first one worth something.
#include "contract/certificate.hpp"

#include <gtest/gtest.h>

#include "support/isas.hpp"

namespace tessera::testing {
namespace {

class Certificate : public ::testing::TestWithParam<std::string> {
 protected:
  Certificate() : forced_(GetParam()) {}
  const Asked asked_{.tile = 48};  // a whole number of panels on every instruction set

 private:
  ForcedIsa forced_;
};

TEST_P(Certificate, OfDotSquaredIsFoundOutByNarrowing) { dot_squared_by_narrowing(asked_, kernels_of(GetParam())); }
TEST_P(Certificate, OfDotSquaredIsFoundOutByItsChain) { dot_squared_by_its_chain(asked_); }
TEST_P(Certificate, OfDotProductIsFoundOutByItsChain) { dot_product_by_its_chain(asked_); }
TEST_P(Certificate, OfDirectFormsIsFoundOutByNarrowing) { direct_forms_by_narrowing(asked_); }
TEST_P(Certificate, OfDirectRootIsFoundOutByItsChain) { direct_root_by_its_chain(asked_); }
TEST_P(Certificate, OfDirectLinearIsFoundOutByItsChain) { direct_linear_by_its_chain(asked_); }

TEST_P(Certificate, OfTheInt8ScreenIsFoundOutByNarrowing) { int8_by_narrowing(asked_); }

INSTANTIATE_TEST_SUITE_P(Isas, Certificate, ::testing::ValuesIn(isas()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace tessera::testing
