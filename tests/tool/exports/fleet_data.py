"""A synthetic fleet as Parquet files with the columns of `tarn export`, for tests and for bench/fleet.py: hosts that
run the releases 1.3 and 1.4 of one service. In 1.4 one function costs more, and one host is slow."""

import json
import pathlib
import sys

FUNCTIONS = 500  # of a program: a row of each thread at each function
WORSE, BETTER, GROWTH = 7, 11, 1.3  # functions; their costs in 1.4 are multiplied and divided by GROWTH
SLOW_HOST, SLOWNESS = "h003", 3
SECONDS = 60


def rows_of(number, rows, hosts, schema=1):
    """The query of one recording's rows. Its host and its release follow from its number, its values from hash()."""
    host = number % hosts
    version = "1.3" if host % 2 == 0 else "1.4"
    factor = (f"case when function_number = {WORSE} and '{version}' = '1.4' then {GROWTH} "
              f"when function_number = {BETTER} and '{version}' = '1.4' then {1 / GROWTH} else 1 end"
              f" * {SLOWNESS if f'h{host:03}' == SLOW_HOST else 1}")
    return f"""
with numbered as (
  select i, i % {FUNCTIONS} as function_number, i // {FUNCTIONS} as thread_number,
    hash({number}, i) % 1000 / 1000.0 as random, hash({host}) % 1000 / 1000.0 as host_random
  from range({rows}) as t(i)),
valued as (
  select *, ['heap', 'lock', 'call', 'cpu'][1 + function_number % 4] as source,
    cast(1e9 * {SECONDS} / {rows} / (1 + function_number % 10) * (0.8 + 0.2 * random + 0.2 * host_random) * {factor}
      as bigint) as cost from numbered)
select {schema}::bigint as schema, 1000::bigint + {number} as process, 1790000000::bigint + {number} as started,
  {SECONDS * 10**9}::bigint as length, {SECONDS * 10**9}::bigint as program_cpu_time, function_number::bigint as line,
  'recording{number:05}' as recording, 'h{host:03}' as host, 'shop' as service, '{version}' as version,
  '' as container, '' as labels, 'build{version}' as build, './shop' as program, 'Linux' as machine, source,
  ['same-thread', 'contended', 'small', 'running'][1 + function_number % 4] as category,
  ['', 'mutex', 'read', ''][1 + function_number % 4] as operation, 'worker ' || thread_number as thread,
  'worker ' || thread_number as freed_by, 'site' || function_number as site, 'id' || function_number as function_id,
  'shop::function' || function_number as function, '/src/shop.cpp' as file,
  'main;shop::serve;shop::function' || function_number as stack, cost,
  case when source = 'heap' and function_number % 8 = 0 then 'hoist' when source = 'heap' then 'pooled'
    when source = 'lock' then 'contended' else '' end as remedy,
  case when source = 'heap' then cost // 4 else 0 end as saving_low,
  case when source = 'heap' then cost // 2 else 0 end as saving_high,
  case when source = 'heap' then cost // 20 else 0 end as allocations,
  case when source = 'heap' then cost else 0 end as bytes,
  case when source = 'heap' then cost // 20 else 0 end as freed_by_same_thread, 0::bigint as remote_frees,
  0::bigint as in_use, 0::bigint as short_lived, 0::bigint as reallocs, 0::bigint as copied_bytes,
  case when source = 'lock' then cost // 100 else 0 end as lock_acquisitions,
  case when source = 'lock' then cost // 1000 else 0 end as lock_contended,
  case when source = 'lock' then cost else 0 end as lock_wait, 0::bigint as lock_held,
  case when source = 'call' then cost // 1000 else 0 end as calls, 0::bigint as call_errors, 0::bigint as call_bytes,
  case when source = 'call' then cost else 0 end as call_time,
  case when source = 'cpu' then cost else 0 end as cpu_time, 0::bigint as wait_time
from valued order by i"""


def write(connection, path, query):
    connection.execute(f"copy ({query}) to '{path}' (format parquet, compression zstd)")


def write_fleet(connection, folder, recordings, rows, hosts):
    """Writes a file for each recording, in a folder for each host."""
    for number in range(recordings):
        host_folder = pathlib.Path(folder, f"host={number % hosts}")
        host_folder.mkdir(parents=True, exist_ok=True)
        write(connection, host_folder / f"{number}.parquet", rows_of(number, rows, hosts))


def main():
    """fleet FOLDER RECORDINGS ROWS HOSTS, or write FILE QUERY, or ask QUERY."""
    import duckdb
    connection = duckdb.connect()
    task, *command = sys.argv[1:]
    if task == "fleet":
        write_fleet(connection, command[0], *map(int, command[1:]))
    elif task == "write":
        write(connection, *command)
    else:
        print(json.dumps(connection.execute(command[0]).fetchall(), default=float))


if __name__ == "__main__":
    main()
