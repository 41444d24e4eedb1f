// SPDX-License-Identifier: Apache-2.0
// Here: what is inside an HDF5 file. Not here: reading its elements (h5.cpp). Include only where TESSERA_HAVE_HDF5.
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "io/bytes.hpp"
#include "io/container.hpp"
#include "io/h5_library.hpp"
#include "tessera/rows.hpp"

namespace tessera::io {

/// An element type that rows may have.
struct H5Type {
  DType dtype = DType::f32;
  std::endian order = std::endian::little;
};

/// One data set, opened.
struct H5Dataset {
  H5Id id;
  H5Id type;  // as stored
  std::optional<H5Type> element;
  std::vector<std::uint64_t> shape;
};

/// Opens a file image, read-only and without a copy; `bytes` must outlive the result.
/// throws   Error{malformed_input} with libhdf5's reason.
H5Id open_h5_image(Bytes bytes, const std::string& name);

/// Opens the data set at a path such as "train" or "group/emb"; nothing when there is none. Links out of the file are
/// not followed.
std::optional<H5Dataset> open_h5_dataset(const H5Id& file, const std::string& path);

/// The data sets of a file, groups included, as paths. At most a thousand: enough to choose one.
std::vector<ArrayEntry> list_h5_datasets(const H5Id& file);

}  // namespace tessera::io
