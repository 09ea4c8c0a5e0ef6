-- What is wrong with files, a line each. It reads `files`, the answer of files.sql, and `parameters.today`.
with
known as (
  select * from files where schema = 1
),
-- A host that sends twice: of the same recording the longest export counts.
ranked as (
  select *,
    first_value(path) over (partition by recording order by length desc, path) as kept,
    row_number() over (partition by recording order by length desc, path) as place
  from known
),
-- Files of one process follow each other.
ordered as (
  select *,
    lag(path) over (partition by host, container, program, process order by started, path) as previous,
    lag(started * 1e0 + length / 1e9) over (partition by host, container, program, process order by started, path)
      as previous_end
  from ranked
  where place = 1
)
select path, recording, true as is_left_out,
  concat(path, ': ', case when schema is null then 'no schema' else concat('schema ', cast(schema as string)) end,
    ' instead of 1; the file is left out, export the recording again with this tarn') as line
from (select path, min(recording) as recording, max(schema) as schema from files
      where schema is null or schema <> 1 group by path) others
union all
select path, recording, true,
  concat(path, ': recording ', recording, ' of host ', host, ' is also in ', kept, '; it counts once')
from ranked where place > 1
union all
select o.path, o.recording, false,
  concat(o.path, ': starts ', cast(cast(o.previous_end - o.started as bigint) as string), ' s before the end of ',
    o.previous, ': the clock of host ', o.host, ' jumped; both count, by their lengths')
from ordered o where o.previous_end > o.started + 5
union all
select o.path, o.recording, false,
  concat(o.path, ': starts ', cast(o.started as string), ' s after 1970, which is ',
    case when o.started > p.today then 'in the future' else 'before 2020' end, ': the clock of host ', o.host,
    ' is wrong; it counts, by its length')
from ordered o cross join parameters p where o.started < 1577836800 or o.started > p.today + 86400
