-- which releases run on how many hosts, and how long they were recorded
select service, version, count(*) as hosts, sum(recordings) as recordings, sum(row_count) as row_count,
  sum(length) / 3.6e12 as hours, sum(program_cpu_time) / 3.6e12 as processor_hours
from hosts
group by service, version
order by service, version
