// SPDX-License-Identifier: Apache-2.0
// Built with libhdf5 only. Files are made through its C API, so that no reader of this project judges itself.
#include <unistd.h>

#include <hdf5.h>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

const std::vector<double> kSix = {1, 2, 3, 4, 5, 6};

/// An HDF5 file being made.
class Maker {
 public:
  explicit Maker(std::string path, hsize_t user_block = 0) : path_(std::move(path)) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block);
    file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Pclose(creation);
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  ~Maker() { close(); }

  /// A data set whose elements libhdf5 converts from doubles; chunk 0: contiguous.
  Maker& add(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, const std::vector<double>& values,
             hsize_t chunk = 0, unsigned deflate = 0) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk > 0) {
      std::vector<hsize_t> chunks;
      for (const hsize_t count : shape) chunks.push_back(count > 0 ? std::min(chunk, count) : chunk);
      H5Pset_chunk(creation, static_cast<int>(shape.size()), chunks.data());
      if (deflate > 0) H5Pset_deflate(creation, deflate);
    }
    const hid_t set = H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    EXPECT_GE(set, 0) << name;
    if (!values.empty()) H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Pclose(creation);
    H5Sclose(space);
    return *this;
  }

  Maker& group(const std::string& name) {
    H5Gclose(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    return *this;
  }

  hid_t file() const { return file_; }
  const std::string& close() {
    if (file_ >= 0) H5Fclose(std::exchange(file_, -1));
    return path_;
  }

 private:
  std::string path_;
  hid_t file_ = -1;
};

/// An IEEE-like float type from its parts.
hid_t float_type(std::size_t size, std::size_t mantissa, std::size_t exponent, std::size_t bias, H5T_order_t order) {
  const hid_t type = H5Tcopy(size == 2 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE);
  H5Tset_fields(type, 8 * size - 1, mantissa, exponent, 0, mantissa);
  H5Tset_size(type, size);
  H5Tset_ebias(type, bias);
  H5Tset_order(type, order);
  return type;
}

TEST(H5, ViewsAContiguousDatasetWhereItLies) {
  const TempFolder folder;
  const std::string path = Maker(folder.path("a.h5")).add("train", H5T_IEEE_F32LE, {3, 2}, kSix).close();
  const RowFile file = RowFile::open(path);
  EXPECT_TRUE(file.mapped());
  EXPECT_EQ(file.format(), "h5");
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(elements<float>(RowFile::open(path, range(1, 2)).rows()), (std::vector<float>{3, 4}));
}

TEST(H5, FindsTheDataBehindAUserBlock) {
  const TempFolder folder;
  const std::string path = Maker(folder.path("a.h5"), 2048).add("train", H5T_IEEE_F32LE, {3, 2}, kSix).close();
  EXPECT_EQ(elements<float>(RowFile::open(path).rows()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const std::string bytes = read_all(path);
  EXPECT_EQ(open_bytes(as_bytes(bytes), "").format(), "h5");
}

TEST(H5, ReadsEveryNumericTypeInBothByteOrders) {
  const std::pair<hid_t, DType> types[] = {
      {H5T_STD_I8LE, DType::i8},     {H5T_STD_U8LE, DType::u8},     {H5T_STD_I16LE, DType::i16},
      {H5T_STD_I16BE, DType::i16},   {H5T_STD_U16LE, DType::u16},   {H5T_STD_U16BE, DType::u16},
      {H5T_STD_I32LE, DType::i32},   {H5T_STD_I32BE, DType::i32},   {H5T_STD_U32LE, DType::u32},
      {H5T_STD_U32BE, DType::u32},   {H5T_STD_I64LE, DType::i64},   {H5T_STD_I64BE, DType::i64},
      {H5T_STD_U64LE, DType::u64},   {H5T_STD_U64BE, DType::u64},   {H5T_IEEE_F32LE, DType::f32},
      {H5T_IEEE_F32BE, DType::f32},  {H5T_IEEE_F64LE, DType::f64},  {H5T_IEEE_F64BE, DType::f64},
      {float_type(2, 10, 5, 15, H5T_ORDER_LE), DType::f16},
      {float_type(2, 10, 5, 15, H5T_ORDER_BE), DType::f16},
      {float_type(2, 7, 8, 127, H5T_ORDER_LE), DType::bf16},
      {float_type(2, 7, 8, 127, H5T_ORDER_BE), DType::bf16},
  };
  const TempFolder folder;
  int number = 0;
  for (const auto& [type, dtype] : types) {
    for (const hsize_t chunk : {hsize_t{0}, hsize_t{2}}) {
      const std::string path =
          Maker(folder.path(std::to_string(number++) + ".h5")).add("x", type, {3, 2}, kSix, chunk).close();
      const RowFile file = RowFile::open(path);
      ASSERT_EQ(file.rows().dtype, dtype) << number;
      EXPECT_EQ(file.mapped(), chunk == 0) << number;
      if (dtype == DType::i16) {
        EXPECT_EQ(elements<std::int16_t>(file.rows()), (std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}));
      }
      if (dtype == DType::f64) {
        EXPECT_EQ(elements<double>(file.rows()), kSix);
      }
      if (dtype == DType::f16) {
        EXPECT_EQ(element<std::uint16_t>(file.rows(), 0, 0), 0x3c00);
      }
      if (dtype == DType::bf16) {
        EXPECT_EQ(element<std::uint16_t>(file.rows(), 0, 0), 0x3f80);
      }
    }
  }
}

TEST(H5, ReadsTheRowsAskedForOfACompressedDataset) {
  const TempFolder folder;
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const std::string path = Maker(folder.path("a.h5")).add("train", H5T_STD_I32BE, {250, 4}, values, 16, 6).close();
  const RowFile file = RowFile::open(path, range(100, 102));
  EXPECT_FALSE(file.mapped());
  EXPECT_EQ(file.file_rows(), 250);
  EXPECT_EQ(file.rows().first_id, 100);
  EXPECT_EQ(elements<std::int32_t>(file.rows()), (std::vector<std::int32_t>{400, 401, 402, 403, 404, 405, 406, 407}));
  EXPECT_EQ(RowFile::open(path, range(250)).rows().rows, 0);
  error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path, range(0, 251)); });
}

TEST(H5, PrefersTrainForTheBaseAndTestForQueriesAndPicksByNameAlsoInGroups) {
  const TempFolder folder;
  const std::string path = Maker(folder.path("a.h5"))
                               .add("train", H5T_IEEE_F32LE, {3, 2}, kSix)
                               .add("test", H5T_IEEE_F64LE, {2, 3}, kSix)
                               .group("more")
                               .add("more/labels", H5T_STD_I32LE, {6}, kSix)
                               .close();
  EXPECT_EQ(RowFile::open(path).rows().rows, 3);
  EXPECT_EQ(RowFile::open(path, {.role = RowRole::queries}).rows().rows, 2);
  EXPECT_EQ(RowFile::open(path + ":test").rows().rows, 2);
  EXPECT_EQ(RowFile::open(path + ":/more/labels").rows().rows, 6);
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path + ":emb"); }),
                  "more/labels int32 (6,), test float64 (2, 3), train float32 (3, 2)");
}

TEST(H5, TakesTheOnlyTwoDimensionalDatasetElseListsThem) {
  const TempFolder folder;
  Maker maker(folder.path("a.h5"));
  maker.add("emb", H5T_IEEE_F32LE, {3, 2}, kSix).add("labels", H5T_STD_I32LE, {6}, kSix);
  EXPECT_EQ(RowFile::open(maker.close()).rows().cols, 2);
  const std::string path = Maker(folder.path("b.h5"))
                               .add("a", H5T_IEEE_F32LE, {3, 2}, kSix)
                               .add("b", H5T_IEEE_F32LE, {3, 2}, kSix)
                               .close();
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path); }), "2 2-D arrays");
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(Maker(folder.path("c.h5")).close()); }),
                  "no arrays");
}

TEST(H5, ReadsFillValuesOfADatasetNeverWritten) {
  const TempFolder folder;
  const std::string path = Maker(folder.path("a.h5")).add("train", H5T_IEEE_F32LE, {3, 2}, {}).close();
  EXPECT_EQ(elements<float>(RowFile::open(path).rows()), std::vector<float>(6, 0));
}

TEST(H5, RefusesDatasetsThatNoFileOfThisSizeHolds) {
  const TempFolder folder;
  const std::string path =
      Maker(folder.path("a.h5")).add("train", H5T_IEEE_F32LE, {1ULL << 40, 1000}, {}, 10).close();
  EXPECT_CONTAINS(error_of(ErrorCode::malformed_input, [&] { RowFile::open(path); }), "cannot come from a file of");
  EXPECT_EQ(RowFile::open(path, range(0, 1)).rows().rows, 1);
}

TEST(H5, AllowsNoRowsAndRefusesNoColumns) {
  const TempFolder folder;
  for (const hsize_t chunk : {hsize_t{0}, hsize_t{1}}) {
    const std::string path = Maker(folder.path("a.h5"))
                                 .add("rows", H5T_IEEE_F32LE, {0, 7}, {}, chunk)
                                 .add("cols", H5T_IEEE_F32LE, {7, 0}, {}, chunk)
                                 .close();
    EXPECT_EQ(RowFile::open(path + ":rows").rows().cols, 7);
    EXPECT_CONTAINS(error_of(ErrorCode::malformed_input, [&] { RowFile::open(path + ":cols"); }), "dimension 0");
  }
}

TEST(H5, RefusesOtherTypesAndShapesWithTheReason) {
  const TempFolder folder;
  const hid_t twelve_bits = H5Tcopy(H5T_STD_U16LE);
  H5Tset_precision(twelve_bits, 12);
  const std::string path = Maker(folder.path("a.h5"))
                               .add("deep", H5T_IEEE_F32LE, {1, 2, 3}, kSix)
                               .add("text", H5T_C_S1, {3}, {})
                               .add("packed", twelve_bits, {3, 2}, kSix)
                               .close();
  EXPECT_CONTAINS(error_of(ErrorCode::unsupported, [&] { RowFile::open(path + ":deep"); }), "(1, 2, 3)");
  EXPECT_CONTAINS(error_of(ErrorCode::unsupported, [&] { RowFile::open(path + ":text"); }), "no plain numbers");
  EXPECT_CONTAINS(error_of(ErrorCode::unsupported, [&] { RowFile::open(path + ":packed"); }), "no plain numbers");
}

TEST(H5, NeverLeavesItsFile) {
  const TempFolder folder;
  const std::string other = Maker(folder.path("other.h5")).add("train", H5T_IEEE_F32LE, {3, 2}, kSix).close();
  Maker maker(folder.path("a.h5"));
  H5Lcreate_external(other.c_str(), "train", maker.file(), "away", H5P_DEFAULT, H5P_DEFAULT);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(creation, folder.path("raw.bin").c_str(), 0, 24);
  const hsize_t shape[2] = {3, 2};
  const hid_t space = H5Screate_simple(2, shape, nullptr);
  H5Dclose(H5Dcreate2(maker.file(), "raw", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(creation);
  const std::string path = maker.close();
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path + ":away"); }), "no array named");
  EXPECT_CONTAINS(error_of(ErrorCode::unsupported, [&] { RowFile::open(path + ":raw"); }), "in other files");
}

TEST(H5, ListsGroupsThatLinkToThemselvesAndEnds) {
  const TempFolder folder;
  Maker maker(folder.path("a.h5"));
  maker.group("g").add("g/x", H5T_IEEE_F32LE, {3}, {1, 2, 3});
  for (int i = 0; i < 20; ++i) {
    H5Lcreate_hard(maker.file(), "g", maker.file(), ("g/again" + std::to_string(i)).c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  const std::string path = maker.close();
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument, [&] { RowFile::open(path + ":none"); }), "more");
}

TEST(H5, SaysThatATruncatedFileIsTruncated) {
  const TempFolder folder;
  const std::string bytes =
      read_all(Maker(folder.path("a.h5")).add("train", H5T_IEEE_F32LE, {3, 2}, kSix).close());
  EXPECT_CONTAINS(open_error(ErrorCode::malformed_input, bytes.substr(0, bytes.size() - 4), "h5"), "truncated");
  open_error(ErrorCode::malformed_input, bytes.substr(0, 10), "h5");
  open_error(ErrorCode::malformed_input, "no HDF5 file at all", "h5");
}

TEST(H5, CountsPastTwoToTheThirtyTwoBytes) {
  const TempFolder folder;
  const std::string path = folder.path("big.h5");
  constexpr hsize_t kRows = (1ULL << 31) + 3;
  {
    Maker maker(path);
    const hsize_t shape[2] = {kRows, 2};
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Dclose(H5Dcreate2(maker.file(), "train", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(creation);
  }
  const RowFile file = RowFile::open(path, range(static_cast<Index>(kRows) - 1));
  EXPECT_TRUE(file.mapped());
  EXPECT_EQ(file.file_rows(), static_cast<Index>(kRows));
  EXPECT_EQ(elements<std::uint8_t>(file.rows()), (std::vector<std::uint8_t>{0, 0}));
}

}  // namespace
}  // namespace tessera::io::test
