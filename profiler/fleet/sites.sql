-- the dearest sites of all hosts, with their distribution over the hosts
with
total as (
  select service, sum(program_cpu_time) as program_cpu_time, count(distinct host) as hosts
  from hosts group by service
),
host_length as (
  select service, host, sum(length) as length from hosts group by service, host
),
host_site as (
  select service, source, category, operation, function_id, host, min(function) as function, min(file) as file,
    sum(cost) as cost
  from samples
  group by service, source, category, operation, function_id, host
),
rated as (
  select s.*, s.cost * 1e3 / nullif(h.length, 0) as rate
  from host_site s join host_length h on s.service = h.service and s.host = h.host
),
site as (
  select r.service, r.source, r.category, r.operation, r.function_id, min(r.function) as function,
    min(r.file) as file, sum(r.cost) / 1e9 as seconds, sum(r.cost) / nullif(max(t.program_cpu_time) * 1e0, 0) as cpu_share,
    count(*) as hosts, max(t.hosts) as all_hosts, median(r.rate) as median_ms_per_s, max(r.rate) as max_ms_per_s,
    max_by(r.host, r.rate) as dearest_host
  from rated r join total t on r.service = t.service
  group by r.service, r.source, r.category, r.operation, r.function_id
),
ranked as (
  select *, row_number() over (order by seconds desc, function_id, category, operation) as place from site
)
select r.place, r.service, r.source, r.category, r.operation, r.function_id, r.function, r.file, r.seconds, r.cpu_share,
  r.hosts, r.all_hosts, r.median_ms_per_s, r.max_ms_per_s, r.dearest_host
from ranked r cross join parameters p
where r.place <= p.top
order by r.place
