// SPDX-License-Identifier: Apache-2.0
// Here: how a dump looks in HDF5. Include only where TESSERA_HAVE_HDF5.
#pragma once

#include "io/h5_library.hpp"
#include "tessera/rows.hpp"

namespace tessera::dump {

inline constexpr const char* kH5Name = "distances";

/// The type in the file; `half` owns it where libhdf5 has none of its own.
inline hid_t h5_stored_type(DType dtype, io::H5Id& half) {
  if (dtype == DType::f64) return H5T_IEEE_F64LE;
  if (dtype == DType::f32) return H5T_IEEE_F32LE;
  // IEEE binary16, as h5py writes it.
  half = io::H5Id(H5Tcopy(H5T_IEEE_F32LE));
  H5Tset_fields(half.get(), 15, 10, 5, 0, 10);
  H5Tset_size(half.get(), 2);
  H5Tset_ebias(half.get(), 15);
  return half.get();
}

}  // namespace tessera::dump
