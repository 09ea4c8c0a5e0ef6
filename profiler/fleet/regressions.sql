-- what costs more or less in the release --after than in --before, with intervals for the difference
-- A host is one observation: its cost per second of recording. The interval is Welch's. It is widened so that all
-- intervals together contain the true differences with the given confidence (Bonferroni). Hosts that outliers.sql shows
-- are left out, because one of them can hide every difference.
with
observed as (
  select h.service, h.version, h.host, h.length from hosts h cross join parameters p
  where h.version in (p.before, p.after) and h.length > 0
    and not exists (select 1 from host_deviations d where d.service = h.service and d.version = h.version
                      and d.host = h.host and abs(d.deviations) > 5)
),
sizes as (
  select service, version, count(*) as n from observed group by service, version
),
compared as (
  select s.service, max(case when s.version = p.before then s.n end) as before_hosts,
    max(case when s.version = p.after then s.n end) as after_hosts
  from sizes s cross join parameters p group by s.service having min(s.n) >= 5 and count(*) = 2
),
host_site as (
  select s.service, s.version, s.source, s.operation, s.function_id, s.host, min(s.function) as function,
    sum(s.cost) as cost
  from samples s cross join parameters p
  where s.version in (p.before, p.after)
  group by s.service, s.version, s.source, s.operation, s.function_id, s.host
),
rated as (
  select s.service, s.version, s.source, s.operation, s.function_id, s.function, z.n,
    s.cost * 1e3 / o.length as rate
  from host_site s
  join observed o on s.service = o.service and s.version = o.version and s.host = o.host
  join sizes z on s.service = z.service and s.version = z.version
),
-- A host without the site has the rate 0.
means as (
  select *, sum(rate) over (partition by service, version, source, operation, function_id) / n as mean from rated
),
spread as (
  select service, version, source, operation, function_id, min(function) as function, max(mean) as mean,
    (sum((rate - mean) * (rate - mean)) + (max(n) - count(*)) * max(mean) * max(mean)) / (max(n) - 1) / max(n)
      as variance
  from means where n > 1
  group by service, version, source, operation, function_id
),
pairs as (
  select s.service, s.source, s.operation, s.function_id, min(s.function) as function,
    max(c.before_hosts) as before_hosts, max(c.after_hosts) as after_hosts,
    sum(case when s.version = p.before then s.mean else 0e0 end) as before_ms_per_s,
    sum(case when s.version = p.after then s.mean else 0e0 end) as after_ms_per_s,
    sum(case when s.version = p.before then s.variance else 0e0 end) as before_variance,
    sum(case when s.version = p.after then s.variance else 0e0 end) as after_variance,
    max(p.confidence) as confidence
  from spread s join compared c on s.service = c.service cross join parameters p
  group by s.service, s.source, s.operation, s.function_id
),
-- The quantile of the normal distribution: Abramowitz and Stegun, 26.2.23. Then Student's: 26.7.5.
tails as (
  select *, sqrt(-2e0 * ln((1e0 - confidence) / 2e0 / count(*) over ())) as u,
    (before_variance + after_variance) * (before_variance + after_variance)
      / nullif(before_variance * before_variance / (before_hosts - 1) + after_variance * after_variance / (after_hosts - 1), 0)
      as v
  from pairs
),
normal as (
  select *, u - (2.515517e0 + 0.802853e0 * u + 0.010328e0 * u * u)
    / (1e0 + 1.432788e0 * u + 0.189269e0 * u * u + 0.001308e0 * u * u * u) as z
  from tails
),
student as (
  select *, coalesce(sqrt(before_variance + after_variance) * (z + (power(z, 3) + z) / (4e0 * v)
    + (5e0 * power(z, 5) + 16e0 * power(z, 3) + 3e0 * z) / (96e0 * v * v)
    + (3e0 * power(z, 7) + 19e0 * power(z, 5) + 17e0 * power(z, 3) - 15e0 * z) / (384e0 * v * v * v)), 0e0) as error
  from normal
),
judged as (
  select *, after_ms_per_s - before_ms_per_s - error as more_low, after_ms_per_s - before_ms_per_s + error as more_high
  from student
),
ranked as (
  select *, row_number() over (order by case when more_low > 0 then 0 else 1 end,
    case when more_low > 0 then -more_low else more_high end, function_id, operation) as place
  from judged where more_low > 0 or more_high < 0
)
select r.place, case when r.more_low > 0 then 'worse' else 'better' end as verdict, r.service, r.source, r.operation,
  r.function, r.before_ms_per_s, r.after_ms_per_s, r.more_low, r.more_high, r.before_hosts, r.after_hosts
from ranked r cross join parameters p
where r.place <= p.top
order by r.place
