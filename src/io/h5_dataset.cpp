// SPDX-License-Identifier: Apache-2.0
#include "io/h5_dataset.hpp"

#include "support/fail.hpp"

namespace tessera::io {

namespace {

// Chosen: deeper or fuller files are for their own tools; bounds the work on a crafted file.
constexpr int kMostDepth = 8;
constexpr std::size_t kMostLinks = 1000;

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) noexcept { return -1; }

/// Access rules for every path that is opened: a link into another file fails instead of opening that file.
H5Id links_stay_inside() {
  H5Id access(H5Pcreate(H5P_LINK_ACCESS));
  H5Pset_elink_cb(access.get(), refuse_link, nullptr);
  return access;
}

std::optional<DType> integer_of(std::size_t size, bool is_signed) noexcept {
  switch (size) {
    case 1: return is_signed ? DType::i8 : DType::u8;
    case 2: return is_signed ? DType::i16 : DType::u16;
    case 4: return is_signed ? DType::i32 : DType::u32;
    case 8: return is_signed ? DType::i64 : DType::u64;
    default: return std::nullopt;
  }
}

struct FloatRow {
  DType dtype;
  std::size_t size;       // bytes
  std::size_t exponent;   // bits
  std::size_t mantissa;   // bits
  std::size_t bias;
};

// IEEE 754 and bfloat16: sign, exponent, mantissa, from the top.
constexpr FloatRow kFloats[] = {
    {DType::f16, 2, 5, 10, 15},
    {DType::bf16, 2, 8, 7, 127},
    {DType::f32, 4, 8, 23, 127},
    {DType::f64, 8, 11, 52, 1023},
};

std::optional<DType> float_of(hid_t type) {
  std::size_t sign_at = 0;
  std::size_t exponent_at = 0;
  std::size_t exponent = 0;
  std::size_t mantissa_at = 0;
  std::size_t mantissa = 0;
  if (H5Tget_fields(type, &sign_at, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) return std::nullopt;
  for (const FloatRow& row : kFloats) {
    const bool same = H5Tget_size(type) == row.size && sign_at == 8 * row.size - 1 && exponent_at == row.mantissa &&
                      exponent == row.exponent && mantissa_at == 0 && mantissa == row.mantissa &&
                      H5Tget_ebias(type) == row.bias && H5Tget_norm(type) == H5T_NORM_IMPLIED;
    if (same) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_of(hid_t type) {
  // Padded numbers (a 12-bit integer in two bytes) would need unpacking.
  if (H5Tget_offset(type) != 0 || H5Tget_precision(type) != 8 * H5Tget_size(type)) return std::nullopt;
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return integer_of(H5Tget_size(type), H5Tget_sign(type) == H5T_SGN_2);
    case H5T_FLOAT: return float_of(type);
    default: return std::nullopt;
  }
}

std::optional<H5Type> element_of(hid_t type) {
  if (H5Tget_class(type) == H5T_ENUM) {  // h5py's bool: an enumeration over int8
    const H5Id base(H5Tget_super(type));
    return base ? element_of(base.get()) : std::nullopt;
  }
  const auto dtype = dtype_of(type);
  if (!dtype) return std::nullopt;
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;
  return H5Type{*dtype, order == H5T_ORDER_BE ? std::endian::big : std::endian::little};
}

std::string type_text(const H5Dataset& dataset) {
  if (dataset.element) {
    const std::string name(name_of(dataset.element->dtype));
    return dataset.element->order == std::endian::big && size_of(dataset.element->dtype) > 1 ? name + " (big-endian)"
                                                                                               : name;
  }
  switch (H5Tget_class(dataset.type.get())) {
    case H5T_STRING: return "strings";
    case H5T_COMPOUND: return "records";
    case H5T_VLEN: return "ragged lists";
    case H5T_REFERENCE: return "references";
    case H5T_FLOAT: return "unusual floats";
    default: return "another type";
  }
}

std::vector<std::uint64_t> shape_of(hid_t dataset) {
  const H5Id space(H5Dget_space(dataset));
  const int ndim = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (ndim <= 0) return {};
  std::vector<hsize_t> dims(static_cast<std::size_t>(ndim));
  if (H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) < 0) return {};
  return {dims.begin(), dims.end()};
}

std::string link_name(hid_t group, hsize_t at) {
  const ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, at, nullptr, 0, H5P_DEFAULT);
  if (length <= 0) return {};
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, at, name.data(), name.size(), H5P_DEFAULT) < 0) {
    return {};
  }
  name.pop_back();
  return name;
}

H5Dataset describe(H5Id object) {
  H5Dataset dataset;
  dataset.type = H5Id(H5Dget_type(object.get()));
  if (dataset.type) dataset.element = element_of(dataset.type.get());
  dataset.shape = shape_of(object.get());
  dataset.id = std::move(object);
  return dataset;
}

/// A walk over groups. Links are counted, not objects: groups may link to each other in circles.
struct Walk {
  H5Id access = links_stay_inside();
  std::size_t links = 0;
  std::vector<ArrayEntry> found;
};

void list_group(Walk& walk, hid_t group, const std::string& prefix, int depth) {
  H5G_info_t info{};
  if (H5Gget_info(group, &info) < 0) return;
  for (hsize_t i = 0; i < info.nlinks && walk.links < kMostLinks; ++i, ++walk.links) {
    const std::string name = link_name(group, i);
    H5Id object(H5Oopen(group, name.c_str(), walk.access.get()));
    if (!object) continue;
    const H5I_type_t kind = H5Iget_type(object.get());
    if (kind == H5I_DATASET) {
      const H5Dataset dataset = describe(std::move(object));
      walk.found.push_back({.name = prefix + name, .type = type_text(dataset), .shape = dataset.shape});
    } else if (kind == H5I_GROUP && depth < kMostDepth) {
      list_group(walk, object.get(), prefix + name + "/", depth + 1);
    }
  }
}

// What libhdf5 asks of a file image, answered without a copy: every "allocation" is the image itself, which is the user
// data, and nothing is released. (H5LTopen_file_image does the same, but leaks when the image is broken.)
void* image_allocate(std::size_t, H5FD_file_image_op_t, void* image) noexcept { return image; }
void* image_copy(void* to, const void*, std::size_t, H5FD_file_image_op_t, void*) noexcept { return to; }
void* image_grow(void*, std::size_t, H5FD_file_image_op_t, void*) noexcept { return nullptr; }  // read-only: never needed
herr_t image_release(void*, H5FD_file_image_op_t, void*) noexcept { return 0; }
void* image_share(void* image) noexcept { return image; }
herr_t image_unshare(void*) noexcept { return 0; }

/// File access over bytes in memory.
H5Id image_access(Bytes bytes) {
  constexpr std::size_t kIncrement = 1 << 16;  // of a growing file; must not be 0
  void* image = const_cast<std::byte*>(bytes.data());  // opened read-only: nothing writes to it
  H5FD_file_image_callbacks_t callbacks{image_allocate, image_copy,  image_grow, image_release,
                                        image_share,    image_unshare, image};
  H5Id access(H5Pcreate(H5P_FILE_ACCESS));
  const bool fine = H5Pset_fapl_core(access.get(), kIncrement, false) >= 0 &&
                    H5Pset_file_image_callbacks(access.get(), &callbacks) >= 0 &&
                    H5Pset_file_image(access.get(), image, bytes.size()) >= 0 &&
                    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) >= 0;
  return fine ? std::move(access) : H5Id();
}

}  // namespace

H5Id open_h5_image(Bytes bytes, const std::string& name) {
  const H5Id access = image_access(bytes);
  // No file of this name exists. It must differ from other images': libhdf5 takes equal names for one file.
  const std::string image = fmt::format("tessera-image-{}", static_cast<const void*>(bytes.data()));
  H5Id file(access ? H5Fopen(image.c_str(), H5F_ACC_RDONLY, access.get()) : H5I_INVALID_HID);
  if (!file) {
    support::fail(ErrorCode::malformed_input, "'{}': broken or truncated HDF5 file: {}; fetch or write it again", name,
                  h5_reason());
  }
  return file;
}

std::optional<H5Dataset> open_h5_dataset(const H5Id& file, const std::string& path) {
  const H5Id access = links_stay_inside();
  H5Id object(H5Oopen(file.get(), path.c_str(), access.get()));
  if (!object || H5Iget_type(object.get()) != H5I_DATASET) return std::nullopt;
  return describe(std::move(object));
}

std::vector<ArrayEntry> list_h5_datasets(const H5Id& file) {
  Walk walk;
  const H5Id root(H5Gopen2(file.get(), "/", H5P_DEFAULT));
  if (root) list_group(walk, root.get(), "", 0);
  return std::move(walk.found);
}

}  // namespace tessera::io
