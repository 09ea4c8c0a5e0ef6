-- One row for each recording in each file.
select path, recording, min(schema) as schema, min(host) as host, min(container) as container,
  min(program) as program, min(process) as process, min(started) as started, max(length) as length
from file_rows
group by path, recording;
