-- which remedy saves most over all hosts; for locks, how long threads wait where the remedy fits
with
total as (
  select service, sum(program_cpu_time) as program_cpu_time from hosts group by service
),
remedy as (
  select service, source, remedy, count(distinct host) as hosts, count(distinct function_id) as functions,
    sum(saving_low) / 1e9 as saves_low_s, sum(saving_high) / 1e9 as saves_high_s, sum(lock_wait) / 1e9 as waits_s
  from samples where remedy <> ''
  group by service, source, remedy
),
ranked as (
  select r.*, r.saves_low_s * 1e9 / nullif(t.program_cpu_time, 0) as low_share,
    r.saves_high_s * 1e9 / nullif(t.program_cpu_time, 0) as high_share,
    row_number() over (order by r.saves_low_s + r.saves_high_s + r.waits_s desc, r.service, r.source, r.remedy) as place
  from remedy r join total t on r.service = t.service
)
select r.place, r.service, r.source, r.remedy, r.saves_low_s, r.saves_high_s, r.low_share, r.high_share, r.waits_s,
  r.functions, r.hosts
from ranked r cross join parameters p
where r.place <= p.top
order by r.place
