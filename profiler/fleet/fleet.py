"""`tarn fleet` runs this script: SQL over the Parquet files of `tarn export`, by DuckDB or by Apache Spark.

The SQL is in the files beside this one, the same for both. Here are only the views that differ (file_rows), the
command's parameters, and the table that is printed."""

import argparse
import json
import pathlib
import re
import sys
import time

FOLDER = pathlib.Path(__file__).parent
NO_QUERIES = {"views", "files", "problems", "distribution"}
FACTS = {"schema": "bigint", "recording": "string", "host": "string", "container": "string", "program": "string",
         "process": "bigint", "started": "bigint", "length": "bigint"}
USAGE, WRONG, MISSING = 2, 3, 5  # exit codes, as in profiler/base/failure.hpp


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def say(message):
    print(f"tarn: {message}", file=sys.stderr)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class DuckDB:
    def __init__(self, memory):
        try:
            import duckdb
        except ImportError:
            raise Failure(MISSING, "DuckDB is needed: pip install duckdb, for the python3 in PATH; or --spark MASTER, "
                          "with pyspark") from None
        self.errors = duckdb.Error
        self.connection = duckdb.connect()
        if memory:
            try:
                self.connection.execute(f"set memory_limit = {quoted(memory)}")
            except duckdb.Error as error:
                raise Failure(USAGE, f"--memory {memory}: {' '.join(str(error).split())[:500]}") from None

    def remote_files(self, folder):
        return [path for path, in self.rows(f"select file from glob({quoted(folder + '/**/*.parquet')})")]

    def open(self, paths, _):
        files = ", ".join(map(quoted, paths))
        self.run(f"create or replace temporary view file_rows as select * from "
                 f"read_parquet([{files}], union_by_name = true, hive_partitioning = false, filename = 'path')")

    def run(self, statement):
        self.connection.execute(statement)

    def rows(self, query):
        return self.connection.execute(query).fetchall()

    def table(self, query):
        rows = self.rows(query)
        return [column[0] for column in self.connection.description], rows

    def keep(self, name, query):
        self.run(f"create or replace temporary table {name} as {query}")


class Spark:
    def __init__(self, master, memory):
        try:
            import pyspark.errors
            from pyspark.sql import SparkSession
        except ImportError:
            raise Failure(MISSING, "PySpark is needed for --spark: pip install pyspark, and a JDK") from None
        self.errors = pyspark.errors.PySparkException
        builder = SparkSession.builder.master(master).appName("tarn fleet").config("spark.ui.enabled", "false")
        builder = builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false")
        if master.startswith("local"):  # where the default, 200 tasks, takes minutes
            builder = builder.config("spark.sql.shuffle.partitions", "4")
        if memory:
            builder = builder.config("spark.driver.memory", memory).config("spark.executor.memory", memory)
        self.session = builder.getOrCreate()

    def remote_files(self, folder):
        frame = self.session.read.format("binaryFile").option("pathGlobFilter", "*.parquet") \
            .option("recursiveFileLookup", "true").load(folder)
        return [row.path for row in frame.select("path").collect()]

    def open(self, paths, columns):
        if columns is None:  # those of the first file: all have the same schema now
            columns = ", ".join(f"{field.name} {field.dataType.simpleString()}"
                                for field in self.session.read.parquet(paths[0]).schema.fields)
        frame = self.session.read.schema(columns).parquet(*paths)
        frame.selectExpr("*", "_metadata.file_path as uri").createOrReplaceTempView("uri_rows")
        local = "url_decode(replace(replace(uri, 'file://', ''), '+', '%2B'))"
        self.run(f"create or replace temporary view file_rows as select *, "
                 f"case when uri like 'file:%' then {local} else uri end as path from uri_rows")

    def run(self, statement):
        self.session.sql(statement)

    def rows(self, query):
        return [tuple(row) for row in self.session.sql(query).collect()]

    def table(self, query):
        frame = self.session.sql(query)
        return frame.columns, [tuple(row) for row in frame.collect()]

    def keep(self, name, query):
        frame = self.session.sql(query)
        self.session.createDataFrame(frame.collect(), frame.schema).createOrReplaceTempView(name)


def files_in(engine, folder):
    """The Parquet files below a folder; those that are none are named and left out."""
    if "://" in folder:
        paths = sorted(engine.remote_files(folder))
    else:
        if not pathlib.Path(folder).is_dir():
            raise Failure(WRONG, f"{folder}: no such folder")
        paths = []
        for path in sorted(pathlib.Path(folder).absolute().rglob("*.parquet")):
            with path.open("rb") as file:
                start = file.read(4)
                file.seek(-min(path.stat().st_size, 4), 2)
                end = file.read(4)
            if start == end == b"PAR1":
                paths.append(str(path))
            else:
                say(f"{path}: not a Parquet file, or only a part of one; the file is left out")
    if not paths:
        raise Failure(WRONG, f"{folder}: there is no Parquet file; tarn export --format parquet writes them")
    return paths


def statements(name):
    return [text for text in (FOLDER / f"{name}.sql").read_text().split(";\n") if text.strip()]


def load(engine, options):
    """Makes the views over what is to be counted; says what is not."""
    paths = files_in(engine, options.folder)
    values = {"service": quoted(options.service), "before": quoted(options.before), "after": quoted(options.after),
              "top": options.top, "confidence": f"{options.confidence}e0", "today": int(time.time())}
    columns = ", ".join(f"{value} as {name}" for name, value in values.items())
    engine.run(f"create or replace temporary view parameters as select {columns}")
    engine.open(paths, ", ".join(f"{name} {kind}" for name, kind in FACTS.items()))
    engine.keep("files", statements("files")[0])
    engine.keep("problems", statements("problems")[0])
    for line, in engine.rows("select line from problems order by line"):
        say(line)
    unknown = {path for path, in engine.rows("select distinct path from files where schema is null or schema <> 1")}
    paths = [path for path in paths if path not in unknown]
    if not paths:
        raise Failure(WRONG, f"{options.folder}: no file has schema 1")
    engine.keep("left_out", "select path, recording from problems where is_left_out")
    engine.open(paths, None)
    for statement in statements("views"):
        head, _, query = statement.partition(" as\n")
        name = head.split()[-1]
        if name == "samples":
            engine.run(statement)
        else:  # a table: several parts of a query read it, and it is small
            engine.keep(name, query)


def check_versions(engine, options):
    """Refuses a comparison without two releases, and names services with too few hosts."""
    releases = engine.rows("select service, version, count(*) from hosts group by service, version order by 1, 2")
    release_text = "; ".join(f"{service} {version} ({count} hosts)" for service, version, count in releases) or "none"
    for option, version in ("--before", options.before), ("--after", options.after):
        if version not in {release[1] for release in releases}:
            raise Failure(USAGE, f"{option} {version or 'VERSION'} is not in {options.folder}; the releases there: "
                          f"{release_text}")
    for service in sorted({release[0] for release in releases}):
        counts = {version: count for name, version, count in releases if name == service}
        shortages = [f"{counts.get(version, 0)} hosts with {version}" for version in (options.before, options.after)
                     if counts.get(version, 0) < 5]
        if shortages:
            say(f"service {service}: {' and '.join(shortages)}; a comparison needs 5 of each release")
    for host, version in engine.rows(f"""select distinct host, version from host_deviations
                                         where abs(deviations) > 5 and version in ({quoted(options.before)},
                                         {quoted(options.after)}) order by host, version"""):
        say(f"host {host} with {version} differs too much from the others, and is left out; see tarn fleet outliers")


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def print_table(names, rows):
    columns = [column for column, name in enumerate(names) if not name.endswith("_id")]
    names, rows = [names[column] for column in columns], [[row[column] for column in columns] for row in rows]
    cells = [names, *([cell(value) for value in row] for row in rows)]
    widths = [min(48, max(len(row[column]) for row in cells)) for column in range(len(names))]
    for number, row in enumerate(cells):
        parts = []
        for column, (text, width) in enumerate(zip(row, widths)):
            text = text if len(text) <= width else text[:width - 1] + "…"
            is_number = rows and isinstance(rows[0][column], (int, float))
            parts.append(text.rjust(width) if is_number else text.ljust(width))
        print("  ".join(parts).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def query_of(name):
    names = sorted(path.stem for path in FOLDER.glob("*.sql") if path.stem not in NO_QUERIES)
    if name in names:
        return statements(name)[0]
    if name.endswith(".sql") and pathlib.Path(name).is_file():
        try:
            query = pathlib.Path(name).read_text(encoding="utf-8").strip().rstrip(";")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(WRONG, f"{name}: {error}") from None
        if not re.sub(r"--[^\n]*|/\*.*?\*/|;", "", query, flags=re.DOTALL).strip():
            raise Failure(WRONG, f"{name}: the file has no query; it must have one, such as: select * from hosts")
        return query
    raise Failure(USAGE, f"there is no query '{name}'; there are {', '.join(names)}, or a file FILE.sql of your own")


def plain(value):
    return value if value is None or isinstance(value, (str, int, float)) else float(value)


def answer_of(engine, options, query):
    """The rows of a query, by the names of the columns."""
    if query == "regressions":
        check_versions(engine, options)
    names, rows = engine.table(query_of(query))
    return [dict(zip(names, map(plain, row))) for row in rows], list(names)


def releases_of(engine):
    """How the cost of each site is distributed over the hosts of each release, by the place of the site."""
    max_values, max_dearest = 101, 3
    rates = {}
    for site, version, host, rate in engine.rows(statements("distribution")[0]):
        rates.setdefault(site, {}).setdefault(version, []).append((host, plain(rate)))
    releases = {}
    for site, versions in rates.items():
        releases[site] = []
        for version, hosts in versions.items():
            values = [rate for _, rate in hosts]
            if len(values) > max_values:
                values = [values[round(part * (len(values) - 1) / (max_values - 1))] for part in range(max_values)]
            releases[site].append({"version": version, "hosts": len(hosts), "values": values,
                                    "dearest": hosts[:-max_dearest - 1:-1]})
    return releases


def page(engine, options):
    """All answers, as web/src/recording.ts describes them."""
    engine.keep("dearest", query_of("sites"))
    releases = releases_of(engine)
    answers = {query: answer_of(engine, options, query)[0] for query in ("sites", "versions", "remedies", "outliers")}
    for site in answers["sites"]:
        site["releases"] = releases.get(site["place"], [])
    compares = options.before or options.after
    return {"kind": "fleet", "fleet": {
        "folder": options.folder, "before": options.before, "after": options.after, **answers,
        "regressions": answer_of(engine, options, "regressions")[0] if compares else None}}


def check_values(options):
    """Refuses what an engine would refuse in words of its own, or take for something else."""
    memory = re.fullmatch(r"(\d+(?:\.\d+)?)\s*[KMGT](?:i?B)?", options.memory, flags=re.IGNORECASE)
    if options.memory and not (memory and float(memory[1]) > 0):
        raise Failure(USAGE, f"--memory {options.memory}: a positive number with a unit is needed, KB, MB, GB or TB, "
                      "such as 4GB")
    if not 0 < options.confidence < 1:  # nan is neither
        raise Failure(USAGE, f"--confidence {options.confidence}: a probability from 0.5 to 0.999999 is needed")


def answer(options):
    check_values(options)
    if not options.page:
        query_of(options.query)
    engine = Spark(options.spark, options.memory) if options.spark else DuckDB(options.memory)
    try:
        load(engine, options)
        if options.page:
            print(json.dumps(page(engine, options)))
            return
        rows, names = answer_of(engine, options, options.query)
    except engine.errors as error:
        raise Failure(WRONG, f"{options.folder}: {' '.join(str(error).split())[:500]}") from None
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print_table(names, [tuple(row.values()) for row in rows])


def main():
    parser = argparse.ArgumentParser(prog="tarn fleet")
    parser.add_argument("folder")
    parser.add_argument("query", nargs="?")
    for name in "service", "before", "after", "spark", "memory":
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", action="store_true")
    try:
        answer(parser.parse_args())
    except Failure as failure:
        say(failure)
        return failure.code
    except BrokenPipeError:
        sys.stdout = None
    return 0


if __name__ == "__main__":
    sys.exit(main())
