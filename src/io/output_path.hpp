// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::io {

/// Throws unless a file of this name can be created: its folder exists and may be written, and what is there already is
/// a regular file that may be overwritten.
void check_output_path(const std::string& path, bool overwrite);

}  // namespace tessera::io
