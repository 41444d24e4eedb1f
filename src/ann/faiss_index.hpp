// SPDX-License-Identifier: Apache-2.0
// Here: FAISS indices behind values of our own. Not here: exact search, recall, files of rows.
#pragma once

#include <faiss/Index.h>
#include <faiss/impl/FaissException.h>

#include <memory>
#include <new>
#include <string>

#include "support/fail.hpp"
#include "tessera/ann.hpp"

namespace tessera {

struct AnnIndex::Impl {
  std::unique_ptr<faiss::Index> index;
  Metric metric = Metric::l2;
  AnnBuildReport report;
};

namespace ann {

/// FAISS's message without the function and line it was thrown from.
std::string reason_of(const faiss::FaissException& error);

/// Calls FAISS; what it throws becomes an Error of this code: "what: reason".
template <class Call>
auto guarded(ErrorCode code, const std::string& what, Call call) {
  try {
    return call();
  } catch (const faiss::FaissException& error) {
    support::fail(code, "{}: {}", what, reason_of(error));
  } catch (const std::logic_error&) {  // std::stoi's, of numbers in a factory string
    support::fail(code, "{}: a number in it is too large", what);
  } catch (const std::bad_alloc&) {
    support::fail(ErrorCode::out_of_memory, "{}: out of memory", what);
  }
}

faiss::MetricType faiss_metric(Metric metric);

/// Sets one search setting. false: the index has none of that name.
bool apply_setting(faiss::Index& index, const AnnSetting& setting);
std::vector<AnnSettings> default_settings(const faiss::Index& index, Index k);

}  // namespace ann
}  // namespace tessera
