abs(n), abs(x), sign(n), ceil(x), floor(x), round(x), round(2.5), round(n), round(-2.5), round(x::numeric,2), round(1234.567,1), trunc(x), trunc(2.56,1), trunc(-2.56,1), mod(n,3), power(n,2), sqrt(abs(n)), cbrt(27), exp(1), ln(2), log(100), log(2,8), log10(100), pi(), degrees(1), radians(180), sin(1), cos(1), tan(1), cot(1), acos(0.5), asin(0.5), atan(1), atan2(1,2), div(7,2), div(n,2), gcd(12,18), lcm(4,6), factorial(5)
select n / 2, n / 2.0, x / 2, 7 / 2, -7 / 2, n % 3, -7 % 3, (date '2020-03-01' - date '2020-01-01') / 7, n * 1.0 / 3, count(*) / 2 from v group by id, n, x order by id
n & 3, n | 4, n # 1, ~n, 1 << 3, 16 >> 2, n ^ 2, 2 ^ 0.5
ascii(name), ascii(''), bit_length(name), char_length(name), length(name), octet_length(name), octet_length('é'), chr(65), concat(name,'-',n,null), concat(x,day), concat_ws('-',name,null,n), lower(name), upper(name), left(name,2), left(name,-1), right(name,2), right(name,-1), reverse(name), repeat('ab',2), repeat('a',-1), replace(name,'n','m'), replace('abc','','x'), md5('a'), to_hex(255), translate('12345','143','ax')
lpad('hi',5), lpad('hi',5,'xy'), lpad('hello',2), rpad('hi',5,'xy'), rpad('hi',4), rpad('hi',5,''), lpad('hi',-1,'x'), ltrim('  a '), rtrim(' a  '), trim('  a  '), btrim('xxaxx','x'), trim(both 'x' from 'xxax'), trim(leading 'xy' from 'yxa'), trim(trailing 'x' from 'axx'), ltrim('xya','xy')
starts_with(name,'A'), name like 'A%', name like 'a%', name ilike 'a%', name not like 'A%', note like 'a\%b\_c', note like 'a!%b%' escape '!', name ~ '^A', name ~* '^a', name !~ '^A', note similar to '%(hello|abc)%', note similar to 'a\%b_c', note similar to '[0-9]+%', name not similar to 'A%', note similar to '12.bc'
coalesce(name,'x'), nullif(n,7), greatest(n,2), least(n,null,3), greatest(null,n), num_nulls(n,name), num_nonnulls(n,name), case when n > 5 then 'a' else 'b' end
n > 5, n is null, n is distinct from 7, n = any(array[7,10]), n in (7,10), n between 1 and 8, not n > 5, (n > 5)::int, true, (n > 5) is true, n > 5 and x > 1
cast(x as int), x::int, 2.5::int, 3.5::int, '12'::int, n::text, x::text, day::text, ts::text, (n > 5)::text, ts::date, day::timestamp, '2020-01-31'::date, 1000::float8::text, x::numeric(10,1), 7::numeric / 2, 't'::boolean, n::bigint, n::float / 2, 0.285::numeric(5,2)
to_char(day,'YYYY-MM-DD'), to_char(ts,'HH24:MI:SS'), to_char(ts,'HH12:MI AM'), to_char(day,'Mon DD, YYYY'), to_char(day,'Day'), to_char(day,'FMDay, FMDD FMMonth YYYY'), to_char(day,'Q'), to_char(day,'DY'), to_char(day,'Month'), to_char(day,'MON'), to_char(day,'IYYY-IW'), to_char(day,'DDD'), to_char(day,'D'), to_char(day,'WW'), to_char(day,'W'), to_char(day,'ID'), to_char(day,'YY'), to_char(day,'yyyy-mm'), to_char(day,'"Q"Q'), to_char(ts,'MS'), to_char(ts,'YYYY-MM-DD"T"HH24:MI:SS'), to_char(day,'CC'), to_char(day,'YYYYMMDD'), to_char(day,'FMMM/FMDD/YY'), to_char(day,'DDth'), to_char(ts,'hh24:mi'), to_char(ts,'am')
to_char(day,'YYYY"年"MM'), to_char(day,'DD.MM.YYYY'), to_char(day,'YYYY Q'), to_char(ts,'US')
to_date('2020-01-31','YYYY-MM-DD'), to_date('31/01/2020','DD/MM/YYYY'), to_date('Jan 5, 2020','Mon DD, YYYY'), to_timestamp('2020-01-31 10:20:30','YYYY-MM-DD HH24:MI:SS')::timestamp, to_date('20200131','YYYYMMDD')
date_part('year',day), date_part('month',ts), date_part('dow',day), date_part('isodow',day), date_part('doy',day), date_part('week',day), date_part('quarter',day), date_part('hour',ts), date_part('epoch',ts), extract(year from day), extract(dow from day), extract(isodow from day), extract(week from day), extract(epoch from ts), extract(second from ts), extract(day from ts), extract(century from day), extract(decade from day), extract(isoyear from day), extract(day from ts - timestamp '2020-01-01'), extract(hour from ts - timestamp '2020-01-01 05:00:00'), extract(epoch from interval '1 day'), extract(milliseconds from ts), date_part('day', ts - timestamp '2019-01-01')
date_trunc('month',day)::date, date_trunc('week',day)::date, date_trunc('quarter',ts), date_trunc('hour',ts), date_trunc('year',day)::date, date_trunc('day',ts), date_trunc('decade',ts), date_trunc('month', ts)
day - date '2020-01-01', day + 1, day - 1, day + interval '1 month', ts + interval '1 hour', ts - interval '1 day', day - interval '1 month', date '2020-01-31' + interval '1 month', (ts - timestamp '2020-01-01')::text is not null, ts::date - day, (day + interval '1 year')::date, day + n, interval '1 day' + day, (day - day) / 2.0, now() > ts, current_date > day
age(ts, timestamp '2019-01-01') > interval '1 year', extract(year from age(ts, timestamp '2000-03-15')), date_part('month', age(timestamp '2020-03-01', timestamp '2020-01-31')), date_part('day', age(timestamp '2020-03-01', timestamp '2020-01-31')), extract(year from age(day, date '2000-05-05'))
select id % 2 k, count(*), sum(n), avg(n)::numeric(10,2), sum(n) / count(*) from v group by k order by k
select id, sum(n) over (partition by id % 2 order by id), lag(n) over (order by id), lead(n,1,0) over (order by id), rank() over (order by n desc nulls last), ntile(2) over (order by id), first_value(n) over (order by id), avg(n) over (order by id rows between 1 preceding and current row) from v order by id
select id, n from v order by n, id
select id, n from v order by n desc, id
select id, n from v order by n desc nulls last, id
select distinct on (id % 2) id, n from v order by id % 2, id
select g from generate_series(1,3) g
select g::date from generate_series(timestamp '2020-01-01', timestamp '2020-01-03', interval '1 day') g
select generate_series(1,3)
select unnest(array[1,2,3])
select * from unnest(array[1,2]) as t(a)
select 'a' || null, 'a' || 1, 'a' || 'b', 1 || 'a'
select id from v where name = 'ANN' order by id
select count(*) from v a join v b on a.n > b.n
select id from v where day >= '2020-01-01' and day < '2021-01-01' order by id
select extract(year from day) y, count(*) from v group by y order by y
select to_char(day,'YYYY-MM') m, count(*) from v group by 1 order by 1
with recursive r(n) as (select 1 union all select n+1 from r where n<5) select sum(n) from r
select id, n from v order by id limit 2 offset 1
select id, n from v order by id fetch first 2 rows only
select row_number() over () from v limit 1
select 1/3, 1.0/3, 10/4, 10/4.0, 5 % 3, 2^10, 7::float/2, 10 / 3 * 3, round(10/3.0, 2), round(100.0 * 1 / 3, 1), 100 * 2 / 3
select sum(n)::float / count(*), sum(n) * 100 / count(*), sum(n) * 100.0 / count(*) > 1, round(avg(n),2), round(sum(n)::numeric / count(*), 3) from v
select case when 1 = 1 then 1 else 2 end, coalesce(null, 'x'), nullif('a','b'), 5 between 1 and 10
select date '2020-01-31' - date '2020-01-01', timestamp '2020-01-31 10:00' - timestamp '2020-01-31 09:00' = interval '1 hour', date_part('day', timestamp '2020-01-31' - timestamp '2020-01-01')
select (select max(n) from v), exists(select 1 from v where n > 11)
select id % 2, count(*), grouping(id % 2) from v group by rollup(id % 2) order by 1, 2
select lag(day) over (order by id), day - lag(day) over (order by id) from v order by id
select d / 2 from (select day - date '2020-01-01' as d, id from v) q order by id
select max(day) - min(day), (max(day) - min(day)) / 365 from v
position('b' in 'abc')
strpos('abc','c')
strpos('abc','z')
split_part('a,b,c',',',2)
split_part('a,b',',',5)
split_part('a,b,c',',',-1)
substr(name,2)
substr(name,2,2)
substr('abc',0,2)
substr('abc',-1,3)
substring(name from 2 for 2)
substring(name from 2)
substring('abc',1,2)
regexp_replace(name,'[aeiou]','*')
regexp_replace(name,'[aeiou]','*','g')
regexp_replace('abc','(b)','<\1>')
regexp_replace(name,'N','x','gi')
make_date(2020,1,31)
