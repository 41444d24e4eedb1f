// SPDX-License-Identifier: Apache-2.0
#include "io/output_path.hpp"
#include "io/temp_file.hpp"
#include "tessera/io.hpp"

namespace tessera {

void write_text(const std::string& path, std::string_view text, bool overwrite) {
  io::check_output_path(path, overwrite);
  io::TempFile out(path);
  out.append(io::as_bytes(text));
  out.commit(overwrite);
}

}  // namespace tessera
