week(day,6)
date_add(day, interval '1:30' hour_minute)
date_add(day, interval 1.5 day)
day - ts
day + 1
select sum(n), avg(n), count(*), count(n), count(distinct n), min(n), max(n), std(n), stddev(n), stddev_pop(n), stddev_samp(n), variance(n), var_pop(n), var_samp(n), group_concat(n), group_concat(n order by n desc separator '|'), group_concat(distinct n order by n), sum(x), sum(n > 2), avg(n > 2), bit_and(n), bit_or(n), bit_xor(n), sum(distinct n), max(day), min(ts) from v
oct(8)
crc32('a')
regexp_substr(note,'[0-9]+')
sec_to_time(3661)
year(20200506)
time(ts)
timediff(ts,ts)
addtime(ts,'1:0:0')
rand()
uuid()
