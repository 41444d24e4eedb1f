// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "io/bytes.hpp"
#include "tessera/io.hpp"

namespace tessera::io {

/// RowFile::open() over bytes that are already in memory: for fuzzing and tests.
///
/// bytes    the file's content; must outlive the result.
/// format   a format's name, "npz:NAME" for a member; "" tells by the content. Wins over options.format.
RowFile open_bytes(Bytes bytes, std::string_view format, const ReadOptions& options = {});

}  // namespace tessera::io
