// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "io/convert_row.hpp"

namespace tessera::io::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
RowSet rows_of(const std::vector<T>& values, Index cols, DType dtype) {
  return dense(values.data(), dtype, static_cast<Index>(values.size()) / cols, cols);
}

/// Writes and reads back.
class WriteRows : public ::testing::Test {
 protected:
  RowFile round_trip(const RowSet& rows, const std::string& name, RowWriteOptions options = {}) {
    options.overwrite = true;
    written_ = write_rows(folder_.path(name), rows, options);
    return RowFile::open(folder_.path(name));
  }

  std::string refusal(const RowSet& rows, const std::string& name, const RowWriteOptions& options = {}) {
    const std::string message =
        error_of(ErrorCode::malformed_input, [&] { write_rows(folder_.path(name), rows, options); });
    EXPECT_EQ(folder_.count(), 0U) << "something is left behind";
    return message;
  }

  std::string misuse(const RowSet& rows, const std::string& name, const RowWriteOptions& options = {}) {
    return error_of(ErrorCode::invalid_argument, [&] { write_rows(folder_.path(name), rows, options); });
  }

  TempFolder folder_;
  RowsWritten written_;
};

TEST_F(WriteRows, KeepsTheValuesInEveryFormatThatHoldsThem) {
  const std::vector<float> small = {0, 1, 2, 3, 100, 127};
  for (const std::string suffix :
       {"npy", "fbin", "u8bin", "i8bin", "f16bin", "hbin", "ibin", "u64bin", "fvecs", "ivecs", "bvecs", "csv", "txt"}) {
    const RowFile file = round_trip(rows_of(small, 3, DType::f32), "a." + suffix);
    ASSERT_EQ(file.rows().rows, 2) << suffix;
    ASSERT_EQ(file.rows().cols, 3) << suffix;
    const RowFile back = round_trip(file.rows(), "b.npy", {.dtype = DType::f64});
    EXPECT_EQ(elements<double>(back.rows()), (std::vector<double>{0, 1, 2, 3, 100, 127})) << suffix;
  }
}

TEST_F(WriteRows, KeepsTheTypeInNpyUnlessAsked) {
  const std::vector<std::uint64_t> words = {0, 1, 1ULL << 63, ~0ULL};
  EXPECT_EQ(elements<std::uint64_t>(round_trip(rows_of(words, 2, DType::u64), "a.npy").rows()), words);
  EXPECT_EQ(written_.dtype, DType::u64);
  EXPECT_EQ(written_.format, "npy");
  const std::vector<std::int16_t> shorts = {-1, 7};
  const RowFile wide = round_trip(rows_of(shorts, 2, DType::i16), "a.npy", {.dtype = DType::f32});
  EXPECT_EQ(elements<float>(wide.rows()), (std::vector<float>{-1, 7}));
}

TEST_F(WriteRows, WidensBfloat16WhichNumpyLacks) {
  const std::vector<std::uint16_t> bits = {0x3f80, 0xff80, 0x0001};
  const RowFile file = round_trip(rows_of(bits, 3, DType::bf16), "a.npy");
  EXPECT_EQ(elements<float>(file.rows()), (std::vector<float>{1, -static_cast<float>(kInf), 0x1p-133F}));
  EXPECT_CONTAINS(misuse(rows_of(bits, 3, DType::bf16), "b.npy", {.dtype = DType::bf16}), "no bfloat16");
}

TEST_F(WriteRows, FollowsStridesAndByteOrder) {
  const std::string big = bytes_of<float>({1, 2, 3, 4}, std::endian::big);
  RowSet rows = dense(big.data(), DType::f32, 2, 2);
  rows.byte_swapped = std::endian::native == std::endian::little;
  std::swap(rows.row_stride, rows.col_stride);  // transposed
  EXPECT_EQ(elements<float>(round_trip(rows, "a.fbin").rows()), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(elements<double>(round_trip(rows, "a.csv").rows()), (std::vector<double>{1, 3, 2, 4}));
}

TEST_F(WriteRows, CopiesTheBitsOfNaNs) {
  const std::vector<std::uint32_t> bits = {0x7fc12345, 0xffc00001, 0x80000000};
  EXPECT_EQ(elements<std::uint32_t>(round_trip(rows_of(bits, 3, DType::f32), "a.fbin").rows()), bits);
}

TEST_F(WriteRows, NamesRowColumnValueAndATypeThatHoldsIt) {
  const std::vector<double> values = {1, 2, 3, 0.5};
  RowSet rows = rows_of(values, 2, DType::f64);
  rows.first_id = 10;
  EXPECT_CONTAINS(refusal(rows, "a.u8bin"), "row 11, column 1: 0.5 does not survive as uint8; float32 holds it");
  EXPECT_FALSE(contains(refusal(rows, "a.u8bin", {.lossy = true}), "rounded"));
}

TEST_F(WriteRows, RefusesEveryKindOfLoss) {
  const auto message = [&](const auto& values, DType from, const std::string& name,
                           const RowWriteOptions& options = {}) {
    return refusal(rows_of(values, 1, from), name, options);
  };
  EXPECT_CONTAINS(message(std::vector<double>{256}, DType::f64, "a.u8bin"), "uint16 holds it");
  EXPECT_CONTAINS(message(std::vector<double>{-1}, DType::f64, "a.u8bin"), "int8 holds it");
  EXPECT_CONTAINS(message(std::vector<double>{128}, DType::f64, "a.i8bin"), "uint8 holds it");
  EXPECT_CONTAINS(message(std::vector<double>{0x1p63}, DType::f64, "a.npy", {.dtype = DType::i64}), "uint64 holds it");
  EXPECT_CONTAINS(message(std::vector<double>{0x1p64}, DType::f64, "a.u64bin"), "float32 holds it");
  EXPECT_CONTAINS(message(std::vector<double>{NAN}, DType::f64, "a.ibin"), "nan does not survive");
  EXPECT_CONTAINS(message(std::vector<double>{-kInf}, DType::f64, "a.ibin"), "-inf does not survive");
  EXPECT_CONTAINS(message(std::vector<double>{0.1}, DType::f64, "a.fbin"), "float64 holds it, or let it be rounded");
  EXPECT_CONTAINS(message(std::vector<float>{65520}, DType::f32, "a.f16bin"), "float32 holds it");
  EXPECT_CONTAINS(message(std::vector<float>{65520}, DType::f32, "a.f16bin", {.lossy = true}), "does not survive");
  EXPECT_CONTAINS(message(std::vector<double>{1e39}, DType::f64, "a.fbin", {.lossy = true}), "float64 holds it");
  EXPECT_CONTAINS(message(std::vector<std::int32_t>{16'777'217}, DType::i32, "a.fbin"), "float64 holds it");
  const std::vector<std::int64_t> odd = {(1LL << 53) + 1};
  EXPECT_CONTAINS(message(odd, DType::i64, "a.csv"), "uint64 holds it");
  EXPECT_CONTAINS(message(std::vector<std::int64_t>{-1}, DType::i64, "a.u64bin"), "int8 holds it");
  EXPECT_CONTAINS(message(std::vector<std::int64_t>{INT64_MIN + 1}, DType::i64, "a.fbin"), "int64 holds it");
  EXPECT_CONTAINS(message(std::vector<std::uint64_t>{UINT64_MAX}, DType::u64, "a.fbin"), "uint64 holds it");
}

TEST_F(WriteRows, KeepsTheEdgesOfEveryType) {
  const std::vector<double> halves = {65504, -65504, 0x1p-24, -0.0, kInf, -kInf};
  const RowFile half = round_trip(rows_of(halves, 6, DType::f64), "a.f16bin");
  EXPECT_EQ(elements<std::uint16_t>(half.rows()),
            (std::vector<std::uint16_t>{0x7bff, 0xfbff, 1, 0x8000, 0x7c00, 0xfc00}));
  const std::vector<double> longs = {-0x1p63, 0x1p63 - 1024, 0};
  EXPECT_EQ(elements<std::int64_t>(
                round_trip(rows_of(longs, 3, DType::f64), "a.npy", {.dtype = DType::i64}).rows()),
            (std::vector<std::int64_t>{INT64_MIN, INT64_MAX - 1023, 0}));
  const std::vector<std::int64_t> exact = {INT64_MIN, 1LL << 62, -3};
  EXPECT_EQ(elements<float>(round_trip(rows_of(exact, 3, DType::i64), "a.fbin").rows()),
            (std::vector<float>{-0x1p63F, 0x1p62F, -3}));
}

TEST_F(WriteRows, RoundsFloatsAndCountsThemWhenAllowed) {
  const std::vector<double> values = {0.1, 0.5, 1e-60, NAN};
  const RowFile file = round_trip(rows_of(values, 2, DType::f64), "a.fbin", {.lossy = true});
  EXPECT_EQ(element<float>(file.rows(), 0, 0), 0.1F);
  EXPECT_EQ(element<float>(file.rows(), 1, 0), 0.0F);
  EXPECT_EQ(written_.rounded, 2);
}

TEST_F(WriteRows, NormalizesInDouble) {
  const std::vector<float> values = {3, 4, 0, 0, 1e-30F, 0, 3e38F, 3e38F};
  const RowFile file = round_trip(rows_of(values, 2, DType::f32), "a.npy", {.dtype = DType::f64, .normalize = true});
  const double half = std::sqrt(0.5);
  const std::vector<double> wanted = {0.6, 0.8, 0, 0, 1, 0, half, half};
  const std::vector<double> seen = elements<double>(file.rows());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(seen[i], wanted[i], 1e-15);
  EXPECT_EQ(written_.zero_rows, 1);
  EXPECT_EQ(written_.rounded, 0);
  EXPECT_EQ(round_trip(rows_of(values, 2, DType::f32), "a.npy", {.normalize = true}).rows().dtype, DType::f32);
  const std::vector<std::int8_t> bytes = {3, 4};
  EXPECT_EQ(elements<float>(round_trip(rows_of(bytes, 2, DType::i8), "a.fbin", {.normalize = true}).rows()),
            (std::vector<float>{0.6F, 0.8F}));
}

TEST_F(WriteRows, RefusesToNormalizeWhatHasNoDirectionOrNoPlace) {
  const std::vector<float> values = {1, NAN};
  EXPECT_CONTAINS(refusal(rows_of(values, 2, DType::f32), "a.fbin", {.normalize = true}), "row 0, column 1 is nan");
  EXPECT_CONTAINS(misuse(rows_of(values, 2, DType::f32), "a.u8bin", {.normalize = true}), "choose a float type");
  EXPECT_CONTAINS(misuse(rows_of(values, 2, DType::f32), "a.npy", {.dtype = DType::i8, .normalize = true}),
                  "choose a float type");
}

TEST_F(WriteRows, WritesTextThatReadsBackEqual) {
  const std::vector<float> values = {0.1F, -0.0F, 1e-45F, 3.4e38F, -static_cast<float>(kInf), 16777216};
  const RowFile file = round_trip(rows_of(values, 3, DType::f32), "a.csv");
  EXPECT_EQ(elements<double>(file.rows()), std::vector<double>(values.begin(), values.end()));
  const std::vector<double> wide = {0.1, 0.2};
  const RowFile narrow = round_trip(rows_of(wide, 2, DType::f64), "a.csv", {.dtype = DType::f32, .lossy = true});
  EXPECT_EQ(element<double>(narrow.rows(), 0, 0), static_cast<double>(0.1F));
}

TEST_F(WriteRows, RefusesTypesAndShapesThatAFormatHasNoPlaceFor) {
  const std::vector<float> values = {1, 2};
  EXPECT_CONTAINS(misuse(rows_of(values, 2, DType::f32), "a.fbin", {.dtype = DType::f16}), "holds float32 only");
  EXPECT_CONTAINS(misuse(rows_of(values, 2, DType::f32), "a.png"), ".u8bin");
  EXPECT_CONTAINS(misuse(rows_of(values, 2, DType::f32), "a.npy", {.format = "png"}), "'png'");
  for (const std::string name : {"a.fvecs", "a.csv"}) {
    EXPECT_CONTAINS(misuse(dense(values.data(), 0, 2), name), "without rows");
  }
  EXPECT_CONTAINS(misuse(dense(values.data(), 1, 0), "a.npy"), "at least 1 column");
  RowSet many = dense(values.data(), Index{1} << 32, 1);
  EXPECT_CONTAINS(misuse(many, "a.fbin"), "counts up to 4294967295 rows");
  EXPECT_EQ(round_trip(dense(values.data(), 0, 2), "a.fbin").rows().rows, 0);
  EXPECT_EQ(round_trip(dense(values.data(), 0, 2), "a.npy").rows().cols, 2);
}

TEST_F(WriteRows, KeepsAnExistingFileUnlessToldToOverwrite) {
  const std::vector<float> values = {1, 2};
  folder_.write("a.fbin", "precious");
  EXPECT_CONTAINS(misuse(rows_of(values, 2, DType::f32), "a.fbin"), "exists");
  EXPECT_EQ(read_all(folder_.path("a.fbin")), "precious");
}

TEST_F(WriteRows, StopsWhenAskedAndLeavesNothing) {
  const std::vector<float> values(1000);
  std::stop_source source;
  source.request_stop();
  error_of(ErrorCode::cancelled, [&] {
    write_rows(folder_.path("a.fbin"), rows_of(values, 1, DType::f32), {.stop = source.get_token()});
  });
  EXPECT_EQ(folder_.count(), 0U);
}

TEST(RowConverter, CountsPastTwoToTheThirtyTwoElements) {
  const std::vector<std::uint8_t> row(1 << 16, 7);
  RowSet rows = dense(row.data(), Index{1} << 40, 1 << 16);
  rows.row_stride = 0;  // the same row again and again
  RowConverter converter(rows, {.dtype = DType::u16}, "x");
  std::vector<std::byte> out(converter.row_bytes());
  converter.convert((Index{1} << 40) - 1, out);
  EXPECT_EQ(load_le<std::uint16_t>(out.data() + out.size() - 2), 7);
}

}  // namespace
}  // namespace tessera::io::test
