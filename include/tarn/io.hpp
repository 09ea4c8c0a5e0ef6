// Includes all of tarn::io that needs no other library (io/format.hpp needs {fmt}).
#pragma once

#include <tarn/io/batch.hpp>
#include <tarn/io/error.hpp>
#include <tarn/io/file.hpp>
#include <tarn/io/journal.hpp>
#include <tarn/io/journal_reader.hpp>
#include <tarn/io/lines.hpp>
#include <tarn/io/mapped_file.hpp>
#include <tarn/io/memo.hpp>
#include <tarn/io/reader.hpp>
#include <tarn/io/scan.hpp>
#include <tarn/io/writer.hpp>
