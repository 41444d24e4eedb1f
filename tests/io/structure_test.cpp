// SPDX-License-Identifier: Apache-2.0
// Files of atoms: xyz, gro, pdb, POSCAR, LAMMPS data. Positions, cells, frames, and what is said of broken ones.
#include <cmath>

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

using Values = std::vector<double>;

RowFile open_text(const std::string& format, const std::string& text, Index frame = 0) { return open_bytes(as_bytes(text), format, {.frame = frame}); }
Values points(const std::string& format, const std::string& text, Index frame = 0) { return elements<double>(open_text(format, text, frame).rows()); }

std::string complaint(const std::string& format, const std::string& text, Index frame = 0) {
  try {
    open_text(format, text, frame);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kXyz =
    "2\nLattice=\"5 0 0 1 6 0 0 0 7\" Properties=id:I:1:species:S:1:pos:R:3:forces:R:3 pbc=\"T F T\" energy=-1\n1 H 0.5 1 -2 0 0 0\n2 O 3 4 5 0 0 0\n"
    "1\nplain\nO 7 8 9\n";

TEST(Xyz, ReadsPositionsCellAndFrames) {
  EXPECT_EQ(points("xyz", kXyz), (Values{0.5, 1, -2, 3, 4, 5}));
  const auto cell = open_text("xyz", kXyz).cell();
  ASSERT_TRUE(cell);
  EXPECT_EQ(cell->rows[1], (std::array<double, 3>{1, 6, 0}));
  EXPECT_EQ(cell->pbc, (std::array<bool, 3>{true, false, true}));
  EXPECT_EQ(points("xyz", kXyz, 1), (Values{7, 8, 9}));
  EXPECT_FALSE(open_text("xyz", kXyz, 1).cell());
}

TEST(Xyz, NamesWhatIsWrong) {
  EXPECT_NE(complaint("xyz", kXyz, 2).find("has 2 frames"), std::string::npos);
  EXPECT_NE(complaint("xyz", "1\n\nH 0 0 0\n2\n\nH 0 0 0\n", 1).find("ends within its frame 1"), std::string::npos) << "not: has 1 frame";
  EXPECT_NE(complaint("xyz", "3\n\nH 0 0 0\n").find("ends within"), std::string::npos);
  EXPECT_NE(complaint("xyz", "1\n\nH 0 0 x\n").find("line 3"), std::string::npos);
  EXPECT_NE(complaint("xyz", "x\n").find("number of atoms"), std::string::npos);
  EXPECT_NE(complaint("xyz", "1\nLattice=\"1 2\"\nH 0 0 0\n").find("cell's 9"), std::string::npos);
  EXPECT_NE(complaint("xyz", "0\n\n").find("no atom"), std::string::npos);
  EXPECT_NE(complaint("xyz", "99999999999999\n\nH 0 0 0\n").find("ends within"), std::string::npos) << "no memory is taken on a header's word";
}

TEST(Gro, ReadsFixedColumnsOfAnyPrecision) {
  const std::string atoms = "title\n2\n    1SOL     OW    1   0.126   1.624   1.679\n    1SOL    HW1    2-100.190-100.661  -1.747\n";
  EXPECT_EQ(points("gro", atoms + "   1.8  1.9 2.0\n"), (Values{0.126, 1.624, 1.679, -100.19, -100.661, -1.747})) << "columns touch";
  EXPECT_EQ(points("gro", "t\n1\n    1SOL     OW    1   0.12640   1.62400   1.67900\n 1 1 1\n"), (Values{0.1264, 1.624, 1.679}));
  const auto cell = open_text("gro", atoms + "  5 6 7 0 0 0.5 0 0.25 0.125\n").cell();
  ASSERT_TRUE(cell);
  EXPECT_EQ(cell->rows[0], (std::array<double, 3>{5, 0, 0}));
  EXPECT_EQ(cell->rows[1], (std::array<double, 3>{0.5, 6, 0}));
  EXPECT_EQ(cell->rows[2], (std::array<double, 3>{0.25, 0.125, 7}));
  EXPECT_FALSE(open_text("gro", atoms + " 0 0 0\n").cell());
  EXPECT_EQ(points("gro", atoms + " 1 1 1\n" + "t\n1\n    1SOL     OW    1   9.000   8.000   7.000\n 1 1 1\n", 1), (Values{9, 8, 7}));
  EXPECT_NE(complaint("gro", atoms).find("ends within"), std::string::npos);
  EXPECT_NE(complaint("gro", atoms + "1 1\n").find("box"), std::string::npos);
}

TEST(Pdb, ReadsFixedColumnsAndModels) {
  const std::string cryst = "CRYST1   10.000   20.000   30.000  90.00  90.00 120.00 P 1           1\n";
  const std::string atom = "ATOM      1  N   ALA A   1    -966.000-100.000   6.000  1.00  0.00           N\n";
  const std::string het = "HETATM    2  O   HOH A   2       1.500   2.500   3.500\n";
  EXPECT_EQ(points("pdb", cryst + atom + het + "END\n"), (Values{-966, -100, 6, 1.5, 2.5, 3.5})) << "columns touch";
  const auto cell = open_text("pdb", cryst + atom).cell();
  ASSERT_TRUE(cell);
  EXPECT_NEAR(cell->rows[1][0], -10, 1e-12);
  EXPECT_NEAR(cell->rows[1][1], 10 * std::sqrt(3.0), 1e-12);
  EXPECT_FALSE(open_text("pdb", "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n" + atom).cell()) << "1 1 1 means no cell";
  const std::string models = "MODEL        1\n" + atom + "ENDMDL\nMODEL        2\n" + het + "ENDMDL\n";
  EXPECT_EQ(points("pdb", models), (Values{-966, -100, 6}));
  EXPECT_EQ(points("pdb", models, 1), (Values{1.5, 2.5, 3.5}));
  EXPECT_NE(complaint("pdb", models, 2).find("has 2 frames"), std::string::npos);
  EXPECT_NE(complaint("pdb", "ATOM      1  N   ALA A   1      x.000   2.500   3.500\n").find("columns 31 to 38"), std::string::npos);
  EXPECT_NE(complaint("pdb", "REMARK\n").find("no atom"), std::string::npos);
}

TEST(Poscar, ReadsDirectAndCartesian) {
  const std::string head = "comment\n2.0\n1 0 0\n0.5 1 0\n0 0 2\nSi O\n1 1\n";
  EXPECT_EQ(points("poscar", head + "Direct\n0.5 0.5 0.5\n0 0 0.25\n"), (Values{1.5, 1, 2, 0, 0, 1}));
  EXPECT_EQ(points("poscar", head + "Selective dynamics\nCartesian\n1 2 3 T T F\n4 5 6 T T T\n"), (Values{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(points("poscar", "old form, without species\n1\n1 0 0\n0 1 0\n0 0 1\n1\nD\n0.25 0 0\n"), (Values{0.25, 0, 0}));
  const auto cell = open_text("poscar", head + "D\n0 0 0\n0 0 0\n").cell();
  ASSERT_TRUE(cell);
  EXPECT_EQ(cell->rows[1], (std::array<double, 3>{1, 2, 0}));
  const auto volume = open_text("poscar", "c\n-8\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0 0\n").cell();
  EXPECT_NEAR(volume->rows[0][0], 2, 1e-15) << "a negative scale is the volume";
  EXPECT_NE(complaint("poscar", head + "Direct\n0 0 0\n").find("ends within"), std::string::npos);
  EXPECT_NE(complaint("poscar", head + "X\n0 0 0\n").find("Direct or Cartesian"), std::string::npos);
  EXPECT_NE(complaint("poscar", head + "D\n0 0 0\n0 0 0\n", 1).find("1 frame"), std::string::npos);
}

TEST(Lammps, ReadsStylesBoundsAndTilts) {
  const std::string head = "made by hand\n\n2 atoms\n1 atom types\n\n-1 4 xlo xhi\n0 6 ylo yhi\n0 7.0 zlo zhi\n1 0.5 0.25 xy xz yz\n\nMasses\n\n1 1.0\n\n";
  const auto full = open_text("lammps", head + "Atoms # full\n\n2 1 1 -0.8 1 2 3\n1 1 1 0.4 4 5 6 # near\n\nVelocities\n\n1 0 0 0\n");
  EXPECT_EQ(elements<double>(full.rows()), (Values{1, 2, 3, 4, 5, 6})) << "rows in the order of the file";
  ASSERT_TRUE(full.cell());
  EXPECT_EQ(full.cell()->rows[0], (std::array<double, 3>{5, 0, 0}));
  EXPECT_EQ(full.cell()->rows[1], (std::array<double, 3>{1, 6, 0}));
  EXPECT_EQ(full.cell()->rows[2], (std::array<double, 3>{0.5, 0.25, 7}));
  EXPECT_EQ(points("lammps", head + "Atoms\n\n1 1 1 2 3\n2 1 4 5 6\n"), (Values{1, 2, 3, 4, 5, 6})) << "atomic";
  EXPECT_EQ(points("lammps", head + "Atoms\n\n1 1 1 2 3 0 0 1\n2 1 4 5 6 0 0 0\n"), (Values{1, 2, 3, 4, 5, 6})) << "atomic, image flags";
  EXPECT_EQ(points("lammps", head + "Atoms  # charge\n\n1 1 0.5 1 2 3\n2 1 0.5 4 5 6\n"), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_NE(complaint("lammps", head + "Atoms # wavepacket\n\n1 1 1 2 3\n").find("wavepacket"), std::string::npos);
  EXPECT_NE(complaint("lammps", head + "Atoms\n\n1 1 1 2 3\n").find("ends within"), std::string::npos);
  EXPECT_NE(complaint("lammps", "c\nAtoms\n\n1 1 1 2 3\n").find("before the line"), std::string::npos);
}

TEST(Structures, TakeSlicesAndKeepRowNumbers) {
  const std::string text = "3\n\nH 0 0 0\nH 1 1 1\nH 2 2 2\n";
  const RowFile file = open_bytes(as_bytes(text), "xyz", {.first_row = 1, .last_row = 3});
  EXPECT_EQ(file.rows().first_id, 1);
  EXPECT_EQ(elements<double>(file.rows()), (Values{1, 1, 1, 2, 2, 2}));
}

}  // namespace
}  // namespace tessera::io::test
