-- hosts that differ from the others of their release by more than five robust standard deviations
with
ranked as (
  select *, row_number() over (order by abs(deviations) desc, host, source) as place
  from host_deviations where abs(deviations) > 5
)
select r.place, r.service, r.version, r.host, r.source, r.ms_per_s, r.median_ms_per_s, r.deviations, r.hosts
from ranked r cross join parameters p
where r.place <= p.top
order by r.place
