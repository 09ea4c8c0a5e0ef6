-- The views that queries read. Before this file, the caller makes three views:
--   file_rows   the rows of all files, with the column `path`
--   left_out    `path` and `recording` of what is not to be counted; see files.sql and problems.sql
--   parameters  one row: service, before, after, top, confidence
create or replace temporary view samples as
select r.*
from file_rows r cross join parameters p
where r.schema = 1
  and (p.service = '' or r.service = p.service)
  and not exists (select 1 from left_out l where l.path = r.path and l.recording = r.recording);

-- One row for each recording, with the facts that all of its rows repeat.
create or replace temporary view recordings as
select recording, min(service) as service, min(version) as version, min(host) as host,
  min(started) as started, max(length) as length, max(program_cpu_time) as program_cpu_time, count(*) as row_count
from samples
group by recording;

create or replace temporary view hosts as
select service, version, host, count(*) as recordings, sum(length) as length, sum(program_cpu_time) as program_cpu_time,
  sum(row_count) as row_count
from recordings
group by service, version, host;

-- How far each host is from the others of its release, in robust standard deviations of its cost per second. Such a
-- deviation is 1.4826 medians of the distances from the median, as with a normal distribution.
create or replace temporary view host_deviations as
with
host_cost as (
  select service, version, source, host, sum(cost) as cost from samples group by service, version, source, host
),
rated as (
  select c.service, c.version, c.source, c.host, c.cost * 1e3 / h.length as ms_per_s
  from host_cost c join hosts h on c.service = h.service and c.version = h.version and c.host = h.host
  where h.length > 0
),
middle as (
  select service, version, source, median(ms_per_s) as median_ms_per_s, count(*) as hosts
  from rated group by service, version, source having count(*) >= 5
),
distances as (
  select r.*, m.median_ms_per_s, m.hosts, abs(r.ms_per_s - m.median_ms_per_s) as distance
  from rated r join middle m on r.service = m.service and r.version = m.version and r.source = m.source
),
deviation as (
  select service, version, source, 1.4826e0 * median(distance) as deviation
  from distances group by service, version, source
)
select d.*, (d.ms_per_s - d.median_ms_per_s) / nullif(v.deviation, 0) as deviations
from distances d join deviation v on d.service = v.service and d.version = v.version and d.source = v.source;
