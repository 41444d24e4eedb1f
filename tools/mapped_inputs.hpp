// SPDX-License-Identifier: Apache-2.0
// Here: opening a command's input files, and what happens when one of them shrinks while it is mapped. Not here: formats
// (tessera/io.hpp).
#pragma once

#include <string>

#include "tessera/io.hpp"

namespace tessera::cli {

/// RowFile::open(), and from then on a bus error ends the process with one line that names the file that was cut short.
///
/// The system raises SIGBUS when a mapped page has left its file (truncated, or a network file system that is gone). No
/// code can go on from there, and catching it is the process's business, not the library's. The output under way has no
/// name yet (TempFile), so nothing is left behind.
RowFile open_rows(const std::string& path, const ReadOptions& options = {});

}  // namespace tessera::cli
