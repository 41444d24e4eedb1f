// SPDX-License-Identifier: Apache-2.0
// Search settings: FAISS's ParameterSpace sets most; NSG's search_L it does not know. Which values are tried is chosen here,
// because ParameterSpace's own ranges stop nprobe at nlist / 2.
#include <faiss/AutoTune.h>
#include <faiss/IVFlib.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIDMap.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexNSG.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/IndexRefine.h>

#include <fmt/format.h>

#include <algorithm>

#include "ann/faiss_index.hpp"

namespace tessera::ann {
namespace {

/// The index that searches, under transforms, id maps and refinement.
template <class T>
const T* find(const faiss::Index* index) {
  if (const auto* found = dynamic_cast<const T*>(index)) return found;
  if (const auto* outer = dynamic_cast<const faiss::IndexPreTransform*>(index)) return find<T>(outer->index);
  if (const auto* outer = dynamic_cast<const faiss::IndexIDMap*>(index)) return find<T>(outer->index);
  if (const auto* outer = dynamic_cast<const faiss::IndexRefine*>(index)) return find<T>(outer->base_index);
  return nullptr;
}

AnnSettings ivf_setting(const faiss::IndexIVF& ivf, std::size_t nprobe) {
  AnnSettings settings = {{"nprobe", static_cast<double>(nprobe)}};
  // A quantizer that is itself approximate must look further than the lists it is asked for.
  if (find<faiss::IndexHNSW>(ivf.quantizer) != nullptr) {
    settings.push_back({"quantizer_efSearch", static_cast<double>(std::max<std::size_t>(32, 2 * nprobe))});
  }
  return settings;
}

/// Powers of two from the smallest that can hold k answers to 512.
std::vector<double> beam_widths(Index k) {
  std::vector<double> widths;
  for (double width = 16; width <= 512 || widths.empty(); width *= 2) {
    if (width >= static_cast<double>(k)) widths.push_back(width);
  }
  return widths;
}

}  // namespace

bool apply_setting(faiss::Index& index, const AnnSetting& setting) {
  if (setting.name == "search_L") {
    const auto* nsg = find<faiss::IndexNSG>(&index);
    if (nsg == nullptr) return false;
    const_cast<faiss::IndexNSG*>(nsg)->nsg.search_L = static_cast<int>(setting.value);  // found in an index that is ours to change
    return true;
  }
  try {
    faiss::ParameterSpace().set_index_parameter(&index, setting.name, setting.value);
    return true;
  } catch (const faiss::FaissException&) {
    return false;
  }
}

std::vector<AnnSettings> default_settings(const faiss::Index& index, Index k) {
  std::vector<AnnSettings> out;
  if (const auto* ivf = find<faiss::IndexIVF>(&index)) {
    for (std::size_t nprobe = 1; nprobe < ivf->nlist; nprobe *= 2) out.push_back(ivf_setting(*ivf, nprobe));
    out.push_back(ivf_setting(*ivf, ivf->nlist));
  } else if (find<faiss::IndexHNSW>(&index) != nullptr) {
    for (const double width : beam_widths(k)) out.push_back({{"efSearch", width}});
  } else if (find<faiss::IndexNSG>(&index) != nullptr) {
    for (const double width : beam_widths(k)) out.push_back({{"search_L", width}});
  } else {
    out.push_back({});
  }
  if (dynamic_cast<const faiss::IndexRefine*>(&index) == nullptr) return out;
  std::vector<AnnSettings> refined;
  for (const AnnSettings& settings : out) {
    for (const double factor : {1.0, 4.0, 16.0}) {
      refined.push_back(settings);
      refined.back().push_back({"k_factor_rf", factor});
    }
  }
  return refined;
}

}  // namespace tessera::ann
