# SQLite: a table, an index, joins, a window, a rollback, an integrity check.
#@ needs sqlite3
#@ broken-by realloc_drops
exec sqlite3 data.db <<'END'
create table t(id integer primary key, word text, n real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 30000)
insert into t select i, printf('w%d', i * 7919 % 4099), i * 0.5 from c;
create index by_word on t(word);
select word, count(*), sum(n), group_concat(id) from t group by word order by 2 desc, 1 limit 30;
begin; delete from t where id % 3 = 0; rollback;
select count(*), sum(a.n * b.n) from t a join t b on a.word = b.word and a.id < b.id where a.id < 6000;
select id, sum(n) over (order by id rows 3 preceding) from t where id % 1000 = 0;
pragma integrity_check;
END
