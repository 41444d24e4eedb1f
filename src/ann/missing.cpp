// SPDX-License-Identifier: Apache-2.0
// What tessera/ann.hpp is in a build without FAISS.
#include "support/fail.hpp"
#include "tessera/ann.hpp"

namespace tessera {

struct AnnIndex::Impl {
  AnnBuildReport report;
};

namespace {

[[noreturn]] void fail_missing() {
  support::fail(ErrorCode::unsupported, "this build has no FAISS: install libfaiss-dev (and a BLAS) and configure with -DTESSERA_FAISS=ON");
}

}  // namespace

bool has_ann() noexcept { return false; }
std::string faiss_version() { return ""; }

AnnIndex::AnnIndex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AnnIndex::AnnIndex(AnnIndex&&) noexcept = default;
AnnIndex& AnnIndex::operator=(AnnIndex&&) noexcept = default;
AnnIndex::~AnnIndex() = default;
AnnIndex AnnIndex::build(const RowSet&, const std::string&, const AnnBuildOptions&) { fail_missing(); }
AnnIndex AnnIndex::load(const std::string&, std::optional<Metric>) { fail_missing(); }
void AnnIndex::save(const std::string&, bool) const { fail_missing(); }
Neighbours AnnIndex::search(const RowSet&, Index, const AnnSettings&, int) { fail_missing(); }
std::vector<AnnSettings> AnnIndex::default_settings(Index) const { fail_missing(); }
bool AnnIndex::set(const AnnSetting&) { fail_missing(); }
Index AnnIndex::rows() const noexcept { return 0; }
Index AnnIndex::cols() const noexcept { return 0; }
Metric AnnIndex::metric() const noexcept { return Metric::l2; }
std::uint64_t AnnIndex::bytes() const { fail_missing(); }
const AnnBuildReport& AnnIndex::report() const noexcept { return impl_->report; }

}  // namespace tessera
