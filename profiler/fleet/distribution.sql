-- what each of the dearest sites costs on each host, for the page
-- It reads `dearest`, the answer of sites.sql. A host without the site has the rate 0.
with
host_site as (
  select service, version, source, category, operation, function_id, host, sum(cost) as cost
  from samples
  group by service, version, source, category, operation, function_id, host
)
select d.place, h.version, h.host, coalesce(s.cost, 0) * 1e3 / h.length as ms_per_s
from dearest d
join hosts h on h.service = d.service and h.length > 0
left join host_site s on s.service = d.service and s.version = h.version and s.host = h.host and s.source = d.source
  and s.category = d.category and s.operation = d.operation and s.function_id = d.function_id
order by d.place, h.version, ms_per_s, h.host
