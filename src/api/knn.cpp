// SPDX-License-Identifier: Apache-2.0
#include "tessera/knn.hpp"

#include "api/guarded.hpp"
#include "api/validate.hpp"
#include "engine/all_images.hpp"
#include "engine/session.hpp"
#include "support/fail.hpp"

namespace tessera {

using api::guarded;

Neighbours knn(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options) {
  api::validate_base(base, options);
  api::validate_search(queries, base, k, options);
  if (options.images == Images::all) return guarded([&] { return engine::search_all_images(queries, base, k, options); });
  return guarded([&] { return engine::search_streaming(queries, base, k, options); });
}

struct PreparedBase::Impl {
  Impl(const RowSet& base, const KnnOptions& o) : options(o), prepared(base, o) {}
  KnnOptions options;
  engine::WholeBase prepared;
};

PreparedBase::PreparedBase(const RowSet& base, const KnnOptions& options) {
  api::validate_base(base, options);
  impl_ = guarded([&] { return std::make_unique<Impl>(base, options); });
}
PreparedBase::PreparedBase(PreparedBase&&) noexcept = default;
PreparedBase& PreparedBase::operator=(PreparedBase&&) noexcept = default;
PreparedBase::~PreparedBase() = default;

Neighbours PreparedBase::search(const RowSet& queries, Index k) const { return search(queries, k, impl_->options); }

Neighbours PreparedBase::search(const RowSet& queries, Index k, const KnnOptions& options) const {
  api::validate_search(queries, impl_->prepared.base(), k, options);
  api::validate_same_preparation(impl_->options, options);
  if (options.images == Images::all) return guarded([&] { return engine::search_all_images(queries, impl_->prepared.base(), k, options); });
  return guarded([&] { return impl_->prepared.search(queries, k, options); });
}

Index PreparedBase::rows() const noexcept { return impl_->prepared.base().rows; }
Index PreparedBase::cols() const noexcept { return impl_->prepared.base().cols; }
double PreparedBase::seconds() const noexcept { return impl_->prepared.seconds_prepare(); }

}  // namespace tessera
